"""The report of each day."""
