"""The local embedder, MiniLM."""
