"""Neurigraph: long-term memory for AI assistants.

The package holds the domain (``ingestion``, ``graph``, ``lifecycle``, ``retrieval``), the Dagster definitions
that run it (``defs``) and the faces that show it (``cli``, ``api``). Adapters to the outside world live beside
it, in ``resources``.
"""

__version__ = "0.1.0"
