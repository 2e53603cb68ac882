"""Neurigraph: long-term memory for AI assistants.

The package holds the domain (``ingestion``, ``graph``, ``lifecycle``, ``retrieval``, ``erasure``, ``portability``), the
Dagster definitions that run it (``defs``) and the faces (``cli``, ``api``). Adapters to the outside world are in
``resources``. ``docs/architecture.md`` describes the rooms.
"""

__version__ = "0.1.0"
