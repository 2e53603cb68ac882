"""Pages of lists, and the cursors that continue them.

A list is read after the position of the last item that the caller has (keyset paging), so a page takes the same time
wherever it is, and items that arrive meanwhile shift nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import UUID

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.ports import Database

if TYPE_CHECKING:
    from psycopg.sql import SQL, Composed

    from neurigraph_pipelines.views.base import View  # pydantic: not needed to start a command

MAX_CURSOR_AGE_SECONDS = 7 * 86_400.0
"""Time after which a cursor is rejected."""

MAX_CURSOR_CHARACTERS = 1_000
"""Longer texts are rejected unread."""

MAX_PAGE = 200
"""Most items in one page."""

NEWEST = ("infinity", str(UUID(int=2**128 - 1)))
"""The position before the first item of a list of times and ids, newest first."""

_VERSION = 1
_MAC_BYTES = 16
_NOT_VALID = (
    "the cursor is not valid for this list: it was changed, is older than 7 days, or belongs to another caller or "
    "other filters. Start again without a cursor."
)

Position = Sequence[str | int]
"""The place of an item in a list: the values that the list is ordered by, as JSON has them."""

_Item = TypeVar("_Item")
_View = TypeVar("_View", bound="View")


@dataclass(frozen=True, slots=True)
class Page(Generic[_Item]):
    """Some items of a list, and the cursor of the next page; None on the last page."""

    items: list[_Item]
    next_cursor: str | None
    _seal: Callable[[_Item], str] | None = field(default=None, repr=False, compare=False)

    def cursor_after(self, shown: int) -> str | None:
        """Return the cursor that continues after so many of the items, at least one."""
        if shown >= len(self.items) or self._seal is None:
            return self.next_cursor
        return self._seal(self.items[shown - 1])

    def beginning(self, fitting: list[_Item]) -> Page[_Item]:
        """Return the page with the first of its items only, as a caller shows them."""
        return Page(fitting, self.cursor_after(len(fitting)) if fitting else None, self._seal)

    def into(self, view: type[_View]) -> _View:
        """Return the page as a view whose first field is the list of the items."""
        return view.model_validate({next(iter(view.model_fields)): self.items, "next_cursor": self.next_cursor})

    def shown(self, name: str) -> dict[str, object]:
        """Return the page as faces show it, with the items under ``name``."""
        return {name: self.items, "next_cursor": self.next_cursor}


class Cursors:
    """Seals positions into cursors, and opens cursors of the same caller, list and filters.

    A cursor is a position with its version and time, and a MAC over these and what it belongs to.

    Args:
        mac: Returns the MAC of some bytes with a secret key.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(self, mac: Callable[[bytes], bytes], clock: Callable[[], float] = time.time) -> None:
        self._mac = mac
        self._clock = clock

    def page(
        self,
        claims: Claims,
        name: str,
        filters: Mapping[str, object],
        limit: int,
        cursor: str | None,
        read: Callable[[Position | None, int], list[_Item]],
        position: Callable[[_Item], Sequence[Any]],
    ) -> Page[_Item]:
        """Return one page of a list.

        Args:
            claims: Who is asking.
            name: The name of the list.
            filters: What the caller asked for; a cursor continues a list only with the same filters.
            limit: Most items.
            cursor: From the page before; None for the first page.
            read: Returns the items after a position, at most as many as the second argument says.
            position: Returns the values that an item is ordered by.

        Raises:
            InvalidInputError: The cursor is not one of this list, or is too old.
        """
        owner = _owner(claims, name, filters)

        def seal(item: _Item) -> str:
            return self._sealed(owner, position(item))

        # One item more than the page holds shows whether another page follows.
        found = read(None if cursor is None else self._opened(owner, cursor), limit + 1)
        items = found[:limit]
        return Page(items, seal(items[-1]) if len(found) > limit else None, seal)

    def _sealed(self, owner: bytes, position: Sequence[Any]) -> str:
        values = [value if isinstance(value, int) else _text(value) for value in position]
        payload = json.dumps([_VERSION, int(self._clock()), *values], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._tag(owner, payload) + payload).decode().rstrip("=")

    def _opened(self, owner: bytes, cursor: str) -> Position:
        try:
            if len(cursor) > MAX_CURSOR_CHARACTERS:
                raise ValueError
            data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            tag, payload = data[:_MAC_BYTES], data[_MAC_BYTES:]
            if not hmac.compare_digest(tag, self._tag(owner, payload)):
                raise ValueError
            version, sealed_at, *position = json.loads(payload)
            if version != _VERSION or abs(self._clock() - sealed_at) > MAX_CURSOR_AGE_SECONDS:
                raise ValueError
        except (ValueError, binascii.Error):
            raise InvalidInputError(_NOT_VALID) from None
        return tuple(position)

    def _tag(self, owner: bytes, payload: bytes) -> bytes:
        return self._mac(owner + payload)[:_MAC_BYTES]


@dataclass(frozen=True, slots=True)
class Listing:
    """A request for a page of a list; ``limit`` and ``cursor`` are those of ``Cursors.page``."""

    database: Database
    cursors: Cursors
    claims: Claims
    limit: int = 50
    cursor: str | None = None

    def page(
        self,
        name: str,
        filters: Mapping[str, object],
        read: Callable[[Position | None, int], list[_Item]],
        position: Callable[[_Item], Sequence[Any]],
    ) -> Page[_Item]:
        """Return the page, as ``Cursors.page`` does."""
        return self.cursors.page(self.claims, name, filters, self.limit, self.cursor, read, position)

    def by_time(
        self,
        name: str,
        filters: Mapping[str, object],
        read: Callable[[dict[str, object]], list[_Item]],
        position: Callable[[_Item], Sequence[Any]],
        first: Position = NEWEST,
    ) -> Page[_Item]:
        """Return the page of a list in the order of times and ids.

        Args:
            read: Returns the items after those with the values ``at`` and ``id``, at most ``limit``.
            first: The position before the first item.
        """

        def after(place: Position | None, most: int) -> list[_Item]:
            at, last = place or first
            return read({"at": at, "id": last, "limit": most})

        return self.page(name, filters, after, position)

    def views(
        self,
        name: str,
        filters: Mapping[str, object],
        statement: SQL | Composed,
        view: type[_View],
        position: Callable[[_View], Sequence[Any]],
        **values: object,
    ) -> Page[_View]:
        """Return the page of a list, as ``by_time`` does, that a statement reads with the filters and other values."""

        def read(place: dict[str, object]) -> list[_View]:
            rows = self.database.ask(self.claims, statement, {**values, **filters, **place})
            return [view.model_validate(row) for row in rows]

        return self.by_time(name, filters, read, position)


def _owner(claims: Claims, name: str, filters: Mapping[str, object]) -> bytes:
    """Return a digest of whose list it is, and of which filters."""
    asked = {key: _text(value) for key, value in filters.items() if value is not None}
    stated = json.dumps(
        [claims.role, claims.sub, str(claims.user_id), claims.container_tags, name, sorted(asked.items())]
    )
    return hashlib.sha256(stated.encode()).digest()


def _text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
