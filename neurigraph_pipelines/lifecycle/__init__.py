"""The states of a file at rest."""
