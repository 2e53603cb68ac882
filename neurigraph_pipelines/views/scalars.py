"""The type of a value of metadata."""

Scalar = str | int | float | bool
