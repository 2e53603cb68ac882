"""Neurigraph: long-term memory for AI assistants.

A message goes from a face to ``inbox`` and through ``ingestion`` into a node; a question goes from a face to
``retrieval``. ``defs`` runs the pipeline in Dagster. ``docs/architecture.md`` follows both paths file by file and lists
the rooms.
"""

__version__ = "0.1.0"
