"""Vectors of memories, their models, and the indexes of large nodes."""
