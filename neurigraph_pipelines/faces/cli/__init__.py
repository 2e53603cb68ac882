"""The command line. It decides nothing about memories.

- ``entry`` assembles the commands and maps errors to exit codes.
- ``session`` opens the installation and resolves users, nodes, records and files. ``output`` prints results, progress
  and messages, and ``views`` lays results out for a terminal.
- Commands stand in the module of their subject; ``groups`` says which module belongs to which group, and ``operations``
  makes the commands of declared operations.

Daily commands, which ``entry`` names, import slow modules inside their functions, so that ``neurigraph --help`` answers
at once.
"""

from neurigraph_pipelines.faces.cli.entry import main

__all__ = ["main"]
