"""The directory of users who are spread over several databases, in the database of the first installation.

It holds which databases there are, and in which of them a user lives; who has no row lives in the first. Opening the
databases belongs in ``databases.py``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from psycopg import sql

from neurigraph_pipelines.access.authentication import api_key_hash, holder_named_by
from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import is_slug
from neurigraph_pipelines.graph.provisioning import User, create_user_within
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction

MAIN = "main"
"""The name of the first database, which has the directory."""

_QUERIES = statements("directory")


@dataclass(frozen=True, slots=True)
class Listed:
    """A database of the directory.

    Attributes:
        home: The home folder of its installation; None for the first.
        users: How many live there.
        arriving: How many are moving there.
    """

    name: str
    home: str | None
    users: int
    arriving: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a user lives who is not simply in the first database.

    Attributes:
        moving_to: The database of a move that has begun; the user is in one of the two.
    """

    resident_id: UUID
    slug: str
    database: str
    moving_to: str | None


@dataclass(frozen=True, slots=True)
class Person:
    """A user of a database that is added, with hashes of the keys that open the user's graph."""

    user_id: UUID
    slug: str
    key_hashes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Hint:
    """The user that a key or token names, or the hash of a key that names no user. It proves nothing."""

    user_id: UUID | None = None
    key_hash: bytes | None = None


class Directory:
    """The directory. All functions work on the first database and on no other."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def databases(self) -> list[Listed]:
        """Return all databases, the first one first, then by name."""
        with self._database.pipeline() as tx:
            return [Listed(**row) for row in tx.execute(_QUERIES["list_databases"])]

    def home_of(self, name: str) -> Path | None:
        """Return the home folder of a database; None for the first.

        Raises:
            NotFoundError: There is no such database.
        """
        with self._database.pipeline() as tx:
            row = tx.execute(_QUERIES["home_of"], {"name": name}).fetchone()
        if row is None:
            raise NotFoundError(f"there is no database {name!r}: `neurigraph admin database list` shows them")
        return Path(row["home"]) if row["home"] is not None else None

    def add(self, name: str, home: Path, people: Iterable[Person]) -> None:
        """Add a database with the users that it has.

        Raises:
            InvalidInputError: The name is not well-formed.
            ConflictError: The name, the home folder or the name of one of its users is taken.
        """
        if not is_slug(name):
            raise InvalidInputError(
                "the name of a database is 1 to 63 characters of a-z, 0-9, '-' and '_', and begins and ends with a "
                "letter or digit"
            )
        with self._database.pipeline() as tx:
            if tx.execute(_QUERIES["add_database"], {"name": name, "home": str(home)}).fetchone() is None:
                raise ConflictError(f"there is a database {name!r}, or one of this home folder: list them first")
            for person in people:
                if _is_taken(tx, person.slug):
                    raise ConflictError(f"both databases have a user {person.slug!r}: forget or export one of them")
                _insert(tx, person.user_id, person.slug, name, None, person.key_hashes)

    def remove(self, name: str) -> None:
        """Remove a database in which nobody lives. Its installation stays as it is.

        Raises:
            NotFoundError: There is no such database.
            ConflictError: Users live there or move there, or it is the first.
        """
        if name == MAIN:
            raise ConflictError("the first database has the directory and cannot be removed")
        with self._database.pipeline() as tx:
            if tx.execute(_QUERIES["lock_database"], {"name": name}).fetchone() is None:
                raise NotFoundError(f"there is no database {name!r}: `neurigraph admin database list` shows them")
            slugs = [row["slug"] for row in tx.execute(_QUERIES["residents_of"], {"name": name})]
            if slugs:
                raise ConflictError(f"users live in {name}, such as {', '.join(slugs)}: move or forget them first")
            tx.execute(_QUERIES["remove_database"], {"name": name})

    def by_id(self, user_id: UUID) -> Place | None:
        """Return where a user lives; None for the first database or nowhere; so below."""
        return self._place(_QUERIES["place_by_id"], user_id)

    def by_slug(self, slug: str) -> Place | None:
        """Find a user by name."""
        return self._place(_QUERIES["place_by_slug"], slug)

    def by_hint(self, hint: Hint) -> Place | None:
        """Find a user by a key or token; keys of earlier versions name nobody and are found by their hash."""
        if hint.user_id is not None:
            return self.by_id(hint.user_id)
        return self._place(_QUERIES["place_by_key"], hint.key_hash)

    def create_here(self, slug: str, *, opaque_schema_names: bool) -> tuple[User, str]:
        """Create a user in the first database.

        Raises:
            ConflictError: The name is taken, in whichever database.
        """
        with self._database.owner() as tx:
            tx.execute(_QUERIES["lock_slug"], {"slug": slug})
            if tx.execute(_QUERIES["place_by_slug"], {"value": slug}).fetchone() is not None:
                raise _taken(slug)
            return create_user_within(tx, slug, opaque_schema_names=opaque_schema_names)

    @contextmanager
    def reserved(self, slug: str, name: str) -> Iterator[Place]:
        """Note that a user is to be created in another database, and hold the name while the caller creates the user.

        A program that dies within leaves a name without a user, which ``forget_unmade`` removes.

        Raises:
            ConflictError: The first database has a user of this name.
        """
        with self._database.maintenance() as connection:  # the lock outlives the statement, and ends with the program
            connection.execute(_QUERIES["hold_slug"], {"slug": slug})
            row = connection.execute(_QUERIES["place_by_slug"], {"value": slug}).fetchone()
            if row is None and _is_taken(connection, slug):
                raise _taken(slug)
            place = Place(uuid4(), slug, name, None) if row is None else Place(**row)
            if row is None:
                _insert(connection, place.resident_id, slug, name, None, ())
            yield place

    def forget_unmade(self, place: Place, is_made: Callable[[], bool]) -> bool:
        """Remove a name without a user, once no program creates the user any more; return whether it was removed."""
        with self._database.pipeline() as tx:
            tx.execute(_QUERIES["lock_slug"], {"slug": place.slug})
            row = tx.execute(_QUERIES["place_by_slug"], {"value": place.slug}).fetchone()
            if row is None or Place(**row) != place or is_made():
                return False
            tx.execute(_QUERIES["forget_resident"], {"resident_id": place.resident_id})
            return True

    def begin_move(self, person: Person, database: str, target: str) -> None:
        """Note that a user moves, before anything else happens. Doing it again changes nothing.

        Raises:
            ConflictError: A move to another database has begun.
        """
        with self._database.pipeline() as tx:
            _insert(tx, person.user_id, person.slug, database, target, person.key_hashes)
            tx.execute(_QUERIES["begin_move"], {"resident_id": person.user_id, "moving_to": target})
            row = tx.execute(_QUERIES["place_by_id"], {"value": person.user_id}).fetchone()
            if row is None or row["moving_to"] != target:
                raise move_has_begun(person.slug, row["moving_to"] if row is not None else None)

    def settle_move(self, user_id: UUID, target: str) -> None:
        """Note that a user has moved, after the copy is complete. Doing it again changes nothing."""
        with self._database.pipeline() as tx:
            tx.execute(_QUERIES["settle_move"], {"resident_id": user_id, "moving_to": target})
            if target == MAIN:
                tx.execute(_QUERIES["settle_here"], {"resident_id": user_id})

    def forget(self, user_id: UUID) -> None:
        """Remove a user who was forgotten."""
        with self._database.pipeline() as tx:
            tx.execute(_QUERIES["forget_resident"], {"resident_id": user_id})

    def _place(self, query: sql.SQL, value: object) -> Place | None:
        with self._database.pipeline() as tx:
            row = tx.execute(query, {"value": value}).fetchone()
        return Place(**row) if row is not None else None


def hint_of(credential: str) -> Hint:
    """Return whom a key or token names."""
    user_id = holder_named_by(credential) or _subject_of_token(credential)
    return Hint(user_id) if user_id is not None else Hint(key_hash=api_key_hash(credential))


def require_answers(database: Database) -> None:
    """Ask a database for nothing; its error says that it does not answer."""
    database.ask(None, _QUERIES["answers"], {})


def lives_in(database: Database, user_id: UUID) -> bool:
    """Return whether a database has a user whom callers reach; a copy of a move that is not complete does not count."""
    with database.pipeline() as tx:
        return value_of(bool, tx.execute(_QUERIES["lives_here"], {"user_id": user_id}))


def people_of(database: Database) -> list[Person]:
    """Return the users of a database with the hashes of their keys. Organizations are found by their members."""
    with database.owner() as tx:
        found = tx.execute(_QUERIES["people"]).fetchall()
        return [Person(row["user_id"], row["slug"], _key_hashes(tx, row["user_id"])) for row in found]


def person_of(database: Database, user_id: UUID, slug: str) -> Person:
    """Return a user with the hashes of the keys."""
    with database.owner() as tx:
        return Person(user_id, slug, _key_hashes(tx, user_id))


def move_has_begun(slug: str, target: str | None) -> ConflictError:
    """Return the error that a move to another database has begun."""
    return ConflictError(
        f"a move of {slug} to {target} has begun: complete it by `neurigraph user move {slug} {target}`"
    )


def _subject_of_token(token: str) -> UUID | None:
    """Return the user that a token claims to name: a member by its own id, which lives where the organization does."""
    try:
        packed = token.split(".")[1]
        stated: Any = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
        named = None if stated.get("role") == "member" else stated.get("user_id")
        return UUID(str(named or stated.get("sub")))
    except (ValueError, IndexError, AttributeError, RecursionError):
        return None


def _key_hashes(tx: Transaction, user_id: UUID) -> tuple[bytes, ...]:
    return tuple(bytes(row["key_hash"]) for row in tx.execute(_QUERIES["key_hashes"], {"user_id": user_id}))


def _insert(
    tx: Transaction, user_id: UUID, slug: str, database: str, moving_to: str | None, key_hashes: Iterable[bytes]
) -> None:
    values = {"resident_id": user_id, "slug": slug, "database": database, "moving_to": moving_to}
    tx.execute(_QUERIES["insert_resident"], values)
    for key_hash in key_hashes:
        tx.execute(_QUERIES["insert_resident_key"], {"key_hash": key_hash, "resident_id": user_id})


def _is_taken(tx: Transaction, slug: str) -> bool:
    row = tx.execute(_QUERIES["is_here"], {"slug": slug}).fetchone()
    known = tx.execute(_QUERIES["place_by_slug"], {"value": slug}).fetchone()
    return (row is not None and bool(row["found"])) or known is not None


def _taken(slug: str) -> ConflictError:
    return ConflictError(f"a user {slug!r} exists already")
