"""The course of files, memories and runs over time."""
