"""Where settings are read from: the environment, a file that the caller names, and the file in the home folder.

A file of the current folder is read only if the caller names it: a folder that somebody else made could redirect
memories.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsError

from neurigraph_pipelines.settings.group import variable_of

ENV_FILE = variable_of("env_file")
"""The variable that names a further file of settings."""

HOME_FILE = "settings.env"
"""The file of settings in the home folder."""

_OTHERS_WRITE = 0o022


def default_home() -> Path:
    """``$XDG_DATA_HOME/neurigraph``, or ``~/.local/share/neurigraph``."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "neurigraph"


class ByVariable(PydanticBaseSettingsSource):
    """Values by variable, whichever group the setting is in: pydantic-settings would look for groups in the names."""

    def __init__(self, settings_cls: type[BaseSettings], variables: Iterable[str], values: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        self._variables = list(variables)
        self._values = values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return nothing: values are read together."""
        return None, field_name, False

    def __call__(self) -> dict[str, str]:
        """Return the value of each variable that is set; the keys of the values are in lower case."""
        return given_of(self._variables, self._values)


class OfHome(ByVariable):
    """Values of the file in the home folder, which arguments, the environment or the named file choose."""

    def __init__(self, settings_cls: type[BaseSettings], variables: Iterable[str]) -> None:
        super().__init__(settings_cls, variables, {})

    def __call__(self) -> dict[str, str]:
        """Return the value of each variable in the file, except for the home folder itself."""
        chosen = self.current_state
        home = Path(chosen.get("home") or chosen.get(variable_of("home")) or default_home())
        found = given_of(self._variables, values_of_file(home.expanduser() / HOME_FILE, required=False))
        found.pop(variable_of("home"), None)
        return found


def given_of(variables: Iterable[str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of these variables; the keys of ``values`` are in lower case."""
    return {variable: values[variable.lower()] for variable in variables if variable.lower() in values}


def values_of_environment() -> dict[str, str]:
    """Return the environment by name in lower case."""
    return {name.lower(): value for name, value in os.environ.items()}


def named_file() -> Path | None:
    """Return the file of settings that the caller named, if any."""
    name = values_of_environment().get(ENV_FILE.lower())
    return Path(name).expanduser() if name else None


def values_of_file(path: Path | None, *, required: bool = True) -> dict[str, str]:
    """Return the values of a file by name in lower case; names in values are not replaced by what they stand for.

    Raises:
        SettingsError: Accounts other than the owner can write to the file, or it is missing though required.
    """
    if path is None:
        return {}
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if not required and isinstance(error, FileNotFoundError | NotADirectoryError):
            return {}
        raise SettingsError(f"{path} cannot be read ({error.strerror})") from error
    if mode & _OTHERS_WRITE:
        raise SettingsError(f"other accounts can write to {path}: run `chmod 600 {path}`")
    try:
        # Programs write JSON: dotenv cannot express every value.
        is_json = path.suffix == ".json"
        values = json.loads(path.read_bytes()) if is_json else dotenv_values(path, interpolate=False, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror})") from error
    return {name.lower(): value for name, value in values.items() if value is not None}
