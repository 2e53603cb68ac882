"""The files of the client's wheel: its package, with the server's views in it as ``neurigraph_client.views``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "neurigraph_client"
SERVER = "neurigraph_pipelines"
_NO_FILES = shutil.ignore_patterns("__pycache__", "*.pyc")


class CustomBuildHook(BuildHookInterface[Any]):
    """Put the files together in a temporary folder, which becomes the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Copy client and views, and write the views' name as it is in the wheel.

        Raises:
            ValueError: A module needs something else of the server.
        """
        self._folder = tempfile.TemporaryDirectory()
        package = Path(self._folder.name)
        shutil.copytree(Path(self.root, PACKAGE), package, ignore=_NO_FILES, dirs_exist_ok=True)
        shutil.copytree(Path(self.root, "..", "..", SERVER, "views"), package / "views", ignore=_NO_FILES)
        for module in sorted(package.rglob("*.py")):
            text = module.read_text("utf-8").replace(f"{SERVER}.views", f"{PACKAGE}.views")
            if SERVER in text:
                raise ValueError(f"{module.name} names {SERVER}: a client has the views only")
            module.write_text(text, "utf-8")
        build_data["force_include"][str(package)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        self._folder.cleanup()
