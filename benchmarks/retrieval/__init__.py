"""Retrieval: what a search finds of real evidence, and how long it takes as memories grow."""
