"""Retrieval: how long a search takes as memories grow. What it finds is for ``benchmarks.quality``."""
