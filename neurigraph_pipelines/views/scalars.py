"""The type of what metadata hold under a name."""

Scalar = str | int | float | bool
