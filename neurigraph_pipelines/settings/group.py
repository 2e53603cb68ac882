"""How a group of settings names its environment variables."""

from __future__ import annotations

from pydantic import ConfigDict

PREFIX = "NEURIGRAPH_"


def group(prefix: str = "") -> ConfigDict:
    """Return the configuration of a group whose variables are ``NEURIGRAPH_``, ``prefix`` and the field's name.

    A field with a validation alias is read from the variable of that name instead. Since variables are the aliases of
    fields, validation errors name them.
    """
    return ConfigDict(
        alias_generator=lambda name: variable_of(prefix + name), populate_by_name=True, extra="forbid", frozen=True
    )


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name}".upper()
