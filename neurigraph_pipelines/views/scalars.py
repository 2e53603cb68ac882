"""The types of values that users state."""

from typing import Any

Scalar = str | int | float | bool
"""A value of metadata."""

UserJson = dict[str, Any]
"""A JSON object whose names and values its writer chose, such as metadata and calls of tools."""
