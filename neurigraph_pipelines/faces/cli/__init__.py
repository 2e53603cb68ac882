"""The command line. It decides nothing about memories.

- ``entry`` assembles the commands and maps errors to exit codes.
- ``session`` opens the installation and resolves users, nodes, records and files. ``output`` prints results, progress
  and messages, and ``views`` lays results out for a terminal.
- Commands, by subject: ``storing`` and ``uploading`` (import, ingest, uploads), ``privacy``, ``reading`` (search, ask,
  open, tree, node), ``memories``, ``graph_changes``, ``sharing``, ``lifecycle``, ``forgetting``, ``failures``,
  ``backfills``, ``exporting``, ``upgrading`` (migrate, upgrade), ``operating`` (keys, serve, stats), ``reporting``,
  ``agents`` (mcp) and ``stack`` (up, demo, ui, daemon, code-server, worker).

Commands import slow modules inside their functions, so that ``neurigraph --help`` answers at once.
"""

from neurigraph_pipelines.faces.cli.entry import main

__all__ = ["main"]
