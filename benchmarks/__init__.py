"""Benchmarks: one module each, with a function ``run`` that returns a section of ``RESULTS.md``.

Tests check correctness; nothing here fails because of a bad figure.
"""
