"""The files of the wheel: all of them lie below ``neurigraph_pipelines``, and take no name from other projects.

In a checkout, adapters, SQL and sample data stand beside the package. An installation holds them in it, and this hook
names ``resources`` accordingly in import statements (docs/adr/0001-rooms-in-one-order.md).
"""

from __future__ import annotations

import ast
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "neurigraph_pipelines"
ADAPTERS = "resources"
BESIDE = (
    ADAPTERS,
    "sql",
    "dagster_home/dagster.yaml",
    "workspace.yaml",
    "dg.toml",
    "samples",
    "training/model-card.md",
)
"""What an installation holds in the package, and a checkout beside it."""

_IMPORT = re.compile(rf"^(?P<start>\s*from ){ADAPTERS}(?=[. ])", re.MULTILINE)
_NO_FILES = shutil.ignore_patterns("__pycache__", "*.pyc")


class CustomBuildHook(BuildHookInterface[Any]):
    """Put the files of a wheel together in a temporary folder, which becomes the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folder as the package of the wheel. An editable installation is the checkout, as it is.

        Raises:
            ValueError: A module names the adapters where the hook cannot rewrite it.
        """
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        package = Path(self._folder.name) / PACKAGE
        shutil.copytree(Path(self.root, PACKAGE), package, ignore=_NO_FILES)
        for name in BESIDE:
            source, target = Path(self.root, name), package / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=_NO_FILES)
            else:
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(source, target)
        for module in sorted(package.rglob("*.py")):
            module.write_text(_in_package(module.read_text("utf-8"), module), "utf-8")
        build_data["force_include"][str(package)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if version != "editable":
            self._folder.cleanup()


def _in_package(text: str, module: Path) -> str:
    """Return a module with ``from resources`` written as ``from neurigraph_pipelines.resources``."""
    text = _IMPORT.sub(rf"\g<start>{PACKAGE}.{ADAPTERS}", text)
    for node in ast.walk(ast.parse(text)):
        named = [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            named = [node.module or ""]
        if wrong := [name for name in named if re.fullmatch(rf"{ADAPTERS}(\.\w*)*", name)]:
            raise ValueError(
                f"{module.name}, line {node.lineno}: {wrong[0]!r} exists in a checkout only: write "
                f"`from {ADAPTERS}… import …`, or derive the name from `__name__`"
            )
    return text
