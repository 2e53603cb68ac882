"""JSON without silent changes: a value that a parser would round, drop or make up is refused, or kept as a text."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NoReturn

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.json_fields import JsonObject

_FLOAT_DIGITS = 17  # programs write doubles with up to as many digits, of which some are of no meaning
_SURE_CHARACTERS = 16  # any 15 digits, beside their point, are those of a double
_SHOWN = 40


def parse_exactly(text: str | bytes) -> Any:
    """Parse JSON and refuse values that would change: names given twice, NaN, and numbers that a double does not hold.

    Raises:
        InvalidInputError: Something would be changed; the message names it.
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, parse_float=_number, parse_int=_whole, parse_constant=_refused, object_pairs_hook=_object)


def keep_exactly(text: bytes, *, names_twice: bool = True) -> bytes:
    """Return JSON in which texts stand for the numbers that a parser would change; the same bytes if there are none.

    Args:
        names_twice: Whether a name that an object has twice stays beside the first, as ``name (given twice)``.

    Raises:
        InvalidInputError: An object has a name twice and ``names_twice`` is False.
    """
    try:
        parse_exactly(text)
    except InvalidInputError:
        kept = json.loads(
            text,
            parse_float=_number_or_text,
            parse_int=_whole_or_text,
            parse_constant=str,
            object_pairs_hook=_with_all if names_twice else _object,
        )
        return json.dumps(kept).encode()
    except (ValueError, RecursionError):
        pass
    return text


class KeepingParser:
    """Parses JSON in which texts stand for the numbers that a parser would change.

    Of a name that an object has twice, the second value stays beside the first, as ``name (given twice)``.

    Attributes:
        twice: The names that objects had twice, since the caller last cleared it.
    """

    def __init__(self) -> None:
        self.twice: list[str] = []
        self._decoder = json.JSONDecoder(
            parse_float=_number_or_text,
            parse_int=_whole_or_text,
            parse_constant=str,
            object_pairs_hook=self._object,
        )

    def parse(self, text: str) -> Any:
        """Parse a text that is one value.

        Raises:
            ValueError: It is not JSON.
            RecursionError: It is nested too deeply.
        """
        return self._decoder.decode(text)

    def parse_at(self, text: str, begin: int) -> tuple[Any, int]:
        """Parse the value that begins at a place, and return the value and its end; raises the errors of ``parse``."""
        return self._decoder.raw_decode(text, begin)

    def _object(self, pairs: Sequence[tuple[str, Any]]) -> JsonObject:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        self.twice += (name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return _with_all(pairs)


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        _refused(digits)


def _whole_or_text(digits: str) -> int | str:
    try:
        return _whole(digits)
    except InvalidInputError:
        return digits


def _number_or_text(digits: str) -> float | str:
    try:
        return _number(digits)
    except InvalidInputError:
        return digits


def _number(digits: str) -> float:
    number = float(digits)
    if len(digits) <= _SURE_CHARACTERS and "e" not in digits and "E" not in digits:
        return number
    exact = Decimal(digits)
    count = len(exact.as_tuple().digits)
    written = f"{number:.{count}g}" if count <= _FLOAT_DIGITS else repr(number)
    if not math.isfinite(number) or Decimal(written) != exact:
        _refused(digits)
    return number


def _refused(digits: str) -> NoReturn:
    shown = digits if len(digits) <= _SHOWN else f"{digits[:_SHOWN]}…"
    raise InvalidInputError(f"the number {shown} cannot be kept as it is: send it as a text")


def _object(pairs: Sequence[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidInputError(f"an object has the name {twice[:_SHOWN]!r} twice: send it once")
    return found


def _with_all(pairs: Sequence[tuple[str, Any]]) -> JsonObject:
    found: JsonObject = {}
    for name, value in pairs:
        free = name
        while free in found:
            free += " (given twice)"
        found[free] = value
    return found
