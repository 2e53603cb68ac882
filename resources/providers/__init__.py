"""Model providers reached over HTTP."""
