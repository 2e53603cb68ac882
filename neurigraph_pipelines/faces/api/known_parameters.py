"""Refuses query parameters that an operation does not know or that come twice, and headers that it ignores.

One place for all operations, which reads what each of them takes from its signature. Request bodies refuse unknown
fields themselves (``requests.Form``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from fastapi import Depends, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Header, Query

_OUR_PREFIX = b"neurigraph-"
_DECIDING = frozenset({b"if-match"})
"""Headers that decide what happens. Where an operation does not take one, silence would be taken for consent."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The query parameters and headers of an operation.

    Attributes:
        query: Its query parameters, each with whether it may come several times.
        headers: Its headers, in lower case.
    """

    query: dict[str, bool]
    headers: frozenset[bytes]


async def _only_known(request: Request) -> None:
    """Refuse unknown parameters and headers.

    Raises:
        RequestValidationError: With one error for each unknown part.
    """
    if errors := [*_query_errors(request), *_header_errors(request)]:
        raise RequestValidationError(errors)


_KNOWN: dict[Callable[..., object], _Known] = {}
"""The parameters of operations, by their functions."""

OnlyKnown = Depends(_only_known)
"""A dependency of all routers."""


def _query_errors(request: Request) -> Iterator[dict[str, object]]:
    lists = _known(request).query
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in lists:
            known = f"this operation takes {', '.join(sorted(lists))}" if lists else "this operation takes none"
            yield _error("query", name, f"unknown query parameter: {known}")
        elif times > 1 and not lists[name]:
            yield _error("query", name, f"the parameter comes {times} times: give it once")


def _header_errors(request: Request) -> Iterator[dict[str, object]]:
    known = _known(request).headers
    for name in dict.fromkeys(name for name, _ in request.scope["headers"]):
        if (name in _DECIDING or name.startswith(_OUR_PREFIX)) and name not in known:
            ours = f"it takes {', '.join(sorted(one.decode() for one in known))}" if known else "it takes none such"
            yield _error("header", name.decode("latin-1"), f"this operation does not take this header: {ours}")


def _error(place: str, name: str, message: str) -> dict[str, object]:
    return {"type": "unknown_parameter", "loc": (place, name), "msg": message, "input": None}


def _known(request: Request) -> _Known:
    """Return the parameters and headers of a request's operation."""
    endpoint = request.scope["endpoint"]
    if endpoint not in _KNOWN:
        fields = get_flat_params(request.scope["route"].dependant)
        _KNOWN[endpoint] = _Known(
            {
                field.alias: _is_list(field.field_info.annotation)
                for field in fields
                if isinstance(field.field_info, Query)
            },
            frozenset(field.alias.lower().encode() for field in fields if isinstance(field.field_info, Header)),
        )
    return _KNOWN[endpoint]


def _is_list(annotation: Any) -> bool:
    """Return whether a parameter may come several times: its type is a list, or a list or None."""
    return any(get_origin(one) in (list, set, tuple) for one in (annotation, *get_args(annotation)))
