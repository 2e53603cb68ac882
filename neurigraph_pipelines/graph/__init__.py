"""The registry of nodes: how they are named, made, linked and walked."""
