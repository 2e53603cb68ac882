"""From a storage trigger to a committed record."""
