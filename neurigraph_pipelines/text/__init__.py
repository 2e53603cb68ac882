"""Ground vocabulary of text: lexemes, calendar words, hygiene, transcripts and vector shapes."""
