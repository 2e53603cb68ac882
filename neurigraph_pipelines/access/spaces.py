"""Spaces: named sets of sources by container tag, to which searches and keys can be limited.

The database decides what a caller that is limited to spaces sees (``sql/functions/spaces.sql``). ``erasure`` forgets
the sources of a space.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

import psycopg

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.asking import views_of
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.model.spaces import MAX_ENTITY_CONTEXT_LENGTH, MAX_NAME_LENGTH
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.text.external_ids import require_few_parts
from neurigraph_pipelines.text.flat_metadata import flat_metadata
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.scalars import Scalar, ValuesByName
from neurigraph_pipelines.views.spaces import SourceOfSpace, Space

NO_SPACE = "there is no such space"
_ABSENT = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ForeignKeyViolation)
_FILING = "file_in_spaces"
"""The function of the database that refuses spaces which the caller may not name."""

_QUERIES = statements("spaces")


@contextmanager
def naming_spaces(tx: Transaction, container_tags: str) -> Iterator[None]:
    """Put the sources that the block inserts into some spaces; tags are separated by commas, and none changes nothing.

    The owner's first use of a tag makes its space. Callers that are limited to spaces can name only those.

    Raises:
        NotFoundError: The caller may not name one of them.
    """
    try:
        if container_tags:
            tx.execute(_QUERIES["name_spaces"], {"container_tags": container_tags})
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        if _FILING not in (error.diag.context or ""):  # the caller may not write at all
            raise
        raise NotFoundError(NO_SPACE) from error
    if container_tags:
        tx.execute(_QUERIES["name_spaces"], {"container_tags": ""})


def add_space(
    context: Context,
    container_tag: str,
    *,
    name: str | None = None,
    metadata: Mapping[str, Scalar] | None = None,
    entity_context: str | None = None,
) -> Space:
    """Make a space.

    Args:
        name: What people call it; default: its tag.

    Raises:
        ForbiddenError: The caller does not own the graph; so everywhere below where spaces change.
        ConflictError: There is a space with this tag.
        InvalidInputError: A tag, text or name is not acceptable.
    """
    require_owner(context.claims)
    (tag,) = checked_tags([container_tag])
    values = {
        "user_id": context.claims.user_id,
        "container_tag": tag,
        **_checked(context, name or tag, metadata, entity_context),
    }
    with context.database.agent(context.claims) as tx:
        row = tx.execute(_QUERIES["insert"], values).fetchone()
        if row is None:
            raise ConflictError(f"there is a space with the container tag {tag} already: change that one")
        return _get(tx, row["space_id"])


def page_of_spaces(asked: Listing) -> Page[Space]:
    """Return a page of the spaces that the caller sees, newest first.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(place: dict[str, object]) -> list[Space]:
        with asked.database.agent(asked.claims) as tx:
            return _spaces(tx, place)

    return asked.by_time("spaces", {}, read, lambda one: (one.created_at, one.space_id))


def get_space(database: Database, claims: Claims, space: UUID | str) -> Space:
    """Return a space by its id or its container tag.

    Raises:
        NotFoundError: There is no such space, or it is hidden from the caller.
    """
    with database.agent(claims) as tx:
        if isinstance(space, UUID):
            return _get(tx, space)
        found = _spaces(tx, {"container_tag": space})
    if not found:
        raise NotFoundError(NO_SPACE)
    return found[0]


def change_space(context: Context, space_id: UUID, changes: ValuesByName) -> Space:
    """Change the name, the metadata or the entity context of a space. Its container tag never changes.

    Raises:
        NotFoundError: There is no such space.
        InvalidInputError: A text or name is not acceptable.
    """
    require_owner(context.claims)
    with context.database.agent(context.claims) as tx:
        before = _get(tx, space_id)
        kept = {"name": before.name, "metadata": before.metadata, "entity_context": before.entity_context}
        tx.execute(_QUERIES["change"], {"space_id": space_id, **_checked(context, **{**kept, **changes})})
        return _get(tx, space_id)


def add_sources(database: Database, claims: Claims, space_id: UUID, source_ids: Sequence[UUID]) -> Space:
    """Put sources into a space, from the next statement on. Those that are in it already stay.

    Raises:
        NotFoundError: There is no such space or source.
    """
    require_owner(claims)
    values = {"user_id": claims.user_id, "space_id": space_id, "source_ids": list(source_ids)}
    with database.agent(claims) as tx:
        _get(tx, space_id)
        try:
            tx.execute(_QUERIES["add_sources"], values)
        except _ABSENT as error:
            raise NotFoundError("there is no such source") from error
        return _get(tx, space_id)


def remove_sources(database: Database, claims: Claims, space_id: UUID, source_ids: Sequence[UUID]) -> Space:
    """Take sources out of a space, from the next statement on. They stay in the graph and in other spaces.

    Raises:
        NotFoundError: There is no such space.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        _get(tx, space_id)
        tx.execute(_QUERIES["remove_sources"], {"space_id": space_id, "source_ids": list(source_ids)})
        return _get(tx, space_id)


def page_of_sources(asked: Listing, space_id: UUID) -> Page[SourceOfSpace]:
    """Return a page of the sources of a space that the caller sees, the last added first.

    Raises:
        NotFoundError: There is no such space.
        InvalidInputError: The cursor is not one of this list.
    """
    get_space(asked.database, asked.claims, space_id)
    filters, statement = {"space_id": space_id}, _QUERIES["sources"]
    return asked.views("sources of space", filters, statement, SourceOfSpace, lambda one: (one.added_at, one.source_id))


def remove_space(database: Database, claims: Claims, space_id: UUID) -> Space:
    """Remove a space and return its last state. Its sources stay; keys bound to this space alone see nothing any more.

    Raises:
        NotFoundError: There is no such space.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        removed = _get(tx, space_id)
        tx.execute(_QUERIES["remove"], {"space_id": space_id})
    return removed


def _checked(
    context: Context, name: str | None, metadata: Mapping[str, Scalar] | None, entity_context: str | None
) -> dict[str, object]:
    """Return name, metadata and entity context as columns, cleaned and redacted."""

    def clean(text: str) -> str:
        cleaned = clean_text(text, context.settings.ingestion.unstorable_text)[0]
        return cleaned if context.redactor is None else context.redactor.redact(cleaned)[0]

    name = clean(" ".join((name or "").split()))
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise InvalidInputError(f"the name of a space has 1 to {MAX_NAME_LENGTH} characters")
    require_few_parts("name of a space", name)
    about = clean((entity_context or "").strip())
    if len(about) > MAX_ENTITY_CONTEXT_LENGTH:
        raise InvalidInputError(
            f"the entity context has {len(about):,} characters and the limit is {MAX_ENTITY_CONTEXT_LENGTH:,}"
        )
    metadata = flat_metadata(metadata or {}, clean)
    return {
        "name": name,
        "entity_context": about or None,
        "metadata": json.dumps(metadata, ensure_ascii=False) if metadata else None,
    }


def _get(tx: Transaction, space_id: UUID) -> Space:
    found = _spaces(tx, {"space_id": space_id})
    if not found:
        raise NotFoundError(NO_SPACE)
    return found[0]


def _spaces(tx: Transaction, wanted: Mapping[str, object]) -> list[Space]:
    everything = {"space_id": None, "container_tag": None, "at": NEWEST[0], "id": NEWEST[1], "limit": 1}
    return views_of(tx, _QUERIES["spaces"], Space, {**everything, **wanted})
