"""The types of values of metadata, of JSON and of mappings: the only place for mappings of anything."""

from collections.abc import Mapping
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

Row = Mapping[str, Any]
"""A row, or an object of JSON in one: its query names the fields, and Postgres gives them their types."""

ValuesByName = dict[str, Any]
"""Values of parameters or fields by name: the function, form or model that takes them has their types."""

WireObject = dict[str, Any]
"""An object as a file, a request or an answer has it, in a format declared elsewhere; its reader checks it."""
