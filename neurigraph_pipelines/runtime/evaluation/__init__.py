"""Evaluation: how well a graph answers questions whose answers or sources are known.

Questions, the ways to answer them, figures and reports belong here; how a graph is searched belongs in ``retrieval``.
"""
