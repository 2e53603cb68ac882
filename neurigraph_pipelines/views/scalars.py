"""The types of values of metadata and of JSON."""

from typing import Any, TypeAlias

Scalar = str | int | float | bool
"""A single value of metadata."""

MetadataValue = Scalar | list[Scalar]
"""A value of the metadata of a source."""

Json: TypeAlias = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
"""A value as a parser of JSON returns it."""

JsonObject: TypeAlias = dict[str, Json]
"""An object whose fields are as another program, or a user, names them."""

UserJson = dict[str, Any]
"""Such an object as a field of a view: its writer chose names and values, as in metadata and calls of tools."""
