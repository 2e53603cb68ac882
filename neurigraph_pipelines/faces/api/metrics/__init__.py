"""Metrics for Prometheus: of this process, of its search caches, and of the whole installation."""
