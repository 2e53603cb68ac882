"""Flat metadata: texts, numbers, booleans and lists of them by name, as people attach them to sources and to facts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.scalars import MetadataValue, Scalar

MAX_METADATA_BYTES = 16_384
"""Longest metadata as JSON in UTF-8, with all digits of its numbers."""

MAX_METADATA_KEYS = 100
MAX_KEY_LENGTH = 100

_Value = TypeVar("_Value", Scalar, MetadataValue, Scalar | None)
_MOST_EXACT = 2**53
"""Up to here every reader of JSON reads integers exactly."""


def flat_metadata(
    metadata: Mapping[str, _Value], clean: Callable[[str], str], *, with_nulls: bool = False
) -> dict[str, _Value]:
    """Return metadata with its names and texts cleaned.

    Args:
        clean: Makes a text storable, and redacts it.
        with_nulls: Whether a value may be None.

    Raises:
        InvalidInputError: They are not flat, not finite, too many or too long; the text says which and why.
    """
    if len(metadata) > MAX_METADATA_KEYS:
        raise InvalidInputError(f"the metadata have {len(metadata):,} names and the limit is {MAX_METADATA_KEYS}")
    cleaned: dict[str, _Value] = {}
    for name, value in metadata.items():
        _require_name(name)
        for one in value if isinstance(value, list) else [value]:
            _require_scalar(name, one, with_nulls=with_nulls)
        key = clean(name)
        if key in cleaned:
            raise InvalidInputError(f"the metadata have the name {key[:50]!r} twice: rename one")
        cleaned[key] = _each(value, lambda one: clean(one) if isinstance(one, str) else one)
    # The database writes numbers with all their digits.
    shown = {key: _each(value, _digits) for key, value in cleaned.items()}
    size = len(json.dumps(shown, ensure_ascii=False).encode())
    if size > MAX_METADATA_BYTES:
        raise InvalidInputError(f"the metadata have {size:,} bytes and the limit is {MAX_METADATA_BYTES:,}: shorten it")
    return cleaned


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value, or a list of values, changed."""
    return [change(one) for one in value] if isinstance(value, list) else change(value)


def _digits(value: Any) -> Any:
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else value


def _require_name(name: Any) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_KEY_LENGTH:
        raise InvalidInputError(f"a name in the metadata has 1 to {MAX_KEY_LENGTH} characters")


def _require_scalar(name: str, value: Any, *, with_nulls: bool) -> None:
    if not isinstance(value, str | int | float | bool) and not (with_nulls and value is None):
        raise InvalidInputError(
            f"{name!r} in the metadata is neither a text, a number, a boolean nor a list of them: metadata are flat"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{name!r} in the metadata is not a finite number: leave it out")
    if isinstance(value, int) and abs(value) > _MOST_EXACT:
        raise InvalidInputError(f"{name!r} in the metadata is an integer beyond 2^53: send it as a text")
