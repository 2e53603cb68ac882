"""The command line. It translates between a terminal and the domain and decides nothing.

``entry`` starts here and ends every error; ``storing``, ``reading``, ``operating`` and ``stack`` hold the commands;
``session`` opens the installation; ``output`` and ``views`` say how things look. Whatever takes long to import is
imported inside the commands, so that ``neurigraph --help`` answers at once.
"""

from neurigraph_pipelines.cli.entry import main

__all__ = ["main"]
