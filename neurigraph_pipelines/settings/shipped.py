"""Where the files are that come with the program: SQL, Dagster's configuration, samples."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped(name: str) -> Path:
    """Return the path of a file or folder: in the installed package, or beside it in a checkout.

    Args:
        name: Such as ``sql`` or ``workspace.yaml``; ``hatch_build.py`` lists them.
    """
    installed = _PACKAGE / name
    return installed if installed.exists() else _PACKAGE.parent / name
