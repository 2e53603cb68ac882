"""What becomes of files, memories and runs over time."""
