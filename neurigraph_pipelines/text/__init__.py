"""Text basics that every room uses: lexemes, calendar words, hygiene, transcripts and vector shapes."""
