"""The path of a question, from its text to its hits."""
