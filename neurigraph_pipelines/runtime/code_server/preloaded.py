"""What every run imports, imported once: runs are forks of a process that loads this module.

Nothing here may open a file or a connection, because all runs would share it.
"""

from __future__ import annotations

import importlib

from dagster._grpc import impl

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.runtime.code_server.termination import start_termination_thread
from resources.storage import local  # noqa: F401 - only loaded

_MODULES = (
    "dagster._daemon",
    "neurigraph_pipelines.runtime.code_server.__main__",
    "neurigraph_pipelines.defs.storage",
    "neurigraph_pipelines.ingestion.batch",
    "neurigraph_pipelines.wiring.installation",
)

for _name in _MODULES:
    importlib.import_module(_name)
defs.get_repository_def()  # the definitions keep it, and a run need not build it again
vars(impl)["start_termination_thread"] = start_termination_thread
