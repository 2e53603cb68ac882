"""The stream that carries all data of a user: exports to open file formats, restores, and moves between databases."""
