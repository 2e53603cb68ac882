"""The life of a file: where its bytes lie at rest and while it is active."""
