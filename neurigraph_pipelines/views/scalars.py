"""The types of values of metadata and of JSON."""

from typing import TypeAlias

Scalar = str | int | float | bool

Json: TypeAlias = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
"""A value as a parser of JSON returns it."""

JsonObject: TypeAlias = dict[str, Json]
"""An object whose fields are as another program, or a user, names them."""
