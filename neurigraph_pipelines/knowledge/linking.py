"""Links that people and agents state, end, confirm and reject.

What rules and models find is written by ``links``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from psycopg.rows import DictRow
from psycopg.sql import SQL

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import author_of
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.knowledge import undoing
from neurigraph_pipelines.knowledge.effects import ask_about_fallen, dependants, read_beliefs
from neurigraph_pipelines.knowledge.links import row_of
from neurigraph_pipelines.knowledge.locks import lock_facts
from neurigraph_pipelines.knowledge.signing import (
    bytes_of,
    ending_bytes,
    is_signed_by,
    key_with,
    public_bytes,
    signer,
    statement_bytes,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.links import (
    MAX_LINK_MESSAGES,
    MAX_REASON,
    SUPERSEDES,
    StatedLink,
    require_relation,
)
from neurigraph_pipelines.text.hygiene import clean_text, utc
from neurigraph_pipelines.views.kinds import EndKind, LinkVerdict
from neurigraph_pipelines.views.links import WrittenLink

_QUERIES = statements("links")
_ENDS = {
    EndKind.FACT: _QUERIES["end_fact"],
    EndKind.RECORD: _QUERIES["end_record"],
    EndKind.NODE: _QUERIES["end_node"],
    EndKind.SOURCE: _QUERIES["end_source"],
}
_MOVES_BELIEF = ("contradicts", "depends_on")
"""Relations that may lower the belief in what depends on their ends."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature and the key that made it."""

    key_id: UUID
    value: bytes


def state_link(
    context: Context, said: StatedLink, guard: Guard = FREE, signature: Signature | None = None
) -> WrittenLink:
    """State a link. The same again, by the same observer, changes nothing.

    Args:
        signature: Over ``signing.statement_bytes`` of the link as it is stored; None for an unsigned one.

    Raises:
        InvalidInputError: The relation is none between memories, a value is out of bounds, or the signature is wrong.
        NotFoundError: An end or the key does not exist, or is hidden from the caller.
        ForbiddenError: The caller may not write where the link starts, or the key is somebody else's.
        ConflictError: The link would close a cycle, its cause begins after its effect, or the key signs no more.
    """
    claims = context.claims
    reason = _checked(context, said)
    _require_ends(context, said)
    observer, key = author_of(claims), None
    if signature is not None:
        key = signer(context, signature.key_id)
        observer = key.holder
    new = _as_stored(said, observer, reason)
    if signature is not None and key is not None and not is_signed_by(public_bytes(key), signature.value, _signed(new)):
        raise InvalidInputError("the signature is not one of this link by this key")
    signed = {
        "key_id": signature.key_id if signature else None,
        "signature": signature.value if signature else None,
    }
    with context.database.pipeline() as tx:
        lock_facts(tx, claims.user_id)
        guard.admit(tx)
        ends = [end.id for end in (new.start, new.end) if end.kind is EndKind.FACT]
        before = read_beliefs(tx, dependants(tx, ends if new.relation in _MOVES_BELIEF else []))
        try:
            made = tx.execute(_QUERIES["state"], row_of(claims.user_id, new) | signed).fetchone()
        except psycopg.errors.CheckViolation as error:
            raise ConflictError(str(error.diag.message_primary)) from error
        except psycopg.errors.ForeignKeyViolation as error:
            raise NotFoundError from error
        assert made is not None
        ask_about_fallen(tx, claims.user_id, before)
        written = WrittenLink(link_id=made["link_id"], created=made["created"])
        guard.note_result(tx, {"link_id": str(written.link_id), "created": written.created})
    return written


def sign_link(context: Context, said: StatedLink, private_key: Ed25519PrivateKey) -> Signature:
    """Return the signature of a link by a private key, which goes nowhere.

    Raises:
        NotFoundError: Its public half is not registered, or signs no more.
    """
    key = key_with(context, private_key)
    return Signature(key.signing_key_id, private_key.sign(_signed(_as_stored(said, key.holder, None))))


def sign_ending(context: Context, link_id: UUID, until: datetime, private_key: Ed25519PrivateKey) -> Signature:
    """Return a signature of the ending of a link as of a time.

    Raises:
        NotFoundError: There is no such link, or as ``sign_link``.
        ForbiddenError: The caller may not write where the link starts.
    """
    key, row = key_with(context, private_key), _require_write(context, link_id)
    return Signature(key.signing_key_id, private_key.sign(ending_bytes(bytes_of(row), key.holder, utc(until))))


def end_link(
    context: Context,
    link_id: UUID,
    valid_until: datetime | None = None,
    signature: Signature | None = None,
    guard: Guard = FREE,
) -> None:
    """End a link as of a time, now by default. It stays, with who ended it.

    Raises:
        InvalidInputError: The time is before its beginning, or the signature is wrong.
        NotFoundError: There is no such link, or it is hidden from the caller; also in the functions below.
        ForbiddenError: The caller may not write where the link starts; also in the functions below.
        ConflictError: It was ended already, or is a verdict.
    """
    row = _require_write(context, link_id)
    if row["is_of_verdict"]:
        raise ConflictError("a verdict on two facts does not end: reject it")
    if row["ended_at"] is not None:
        raise ConflictError("the link was ended already")
    ended_by = author_of(context.claims)
    until = utc(valid_until) if valid_until is not None else datetime.now(UTC)
    if row["valid_from"] is not None and until <= row["valid_from"]:
        raise InvalidInputError("a link ends after it began")
    if signature is not None:
        if valid_until is None:
            raise InvalidInputError("a signed ending names its time")
        key = signer(context, signature.key_id)
        ended_by = key.holder
        if not is_signed_by(public_bytes(key), signature.value, ending_bytes(bytes_of(row), ended_by, until)):
            raise InvalidInputError("the signature is not one of this ending by this key")
    values = {
        "link_id": link_id,
        "valid_until": until,
        "ended_by": ended_by,
        "key_id": signature.key_id if signature else None,
        "signature": signature.value if signature else None,
    }
    _change(context, _QUERIES["end"], values, guard)


def decide_link(context: Context, link_id: UUID, verdict: LinkVerdict, guard: Guard = FREE) -> None:
    """Confirm or reject a link. No query follows a rejected link, and no job infers it again. Idempotent.

    A link that a verdict on two facts says is that verdict, about which the owner of the graph decides: rejecting it
    takes back what followed from it.

    Raises:
        ConflictError: A link that was rejected would close a cycle now, or the effects of a verdict were taken back.
    """
    row = _require_write(context, link_id)
    if row["is_of_verdict"]:
        _decide_verdict(context, row, verdict, guard)
        return
    values = {"link_id": link_id, "verdict": verdict.value, "verdict_by": author_of(context.claims)}
    _change(context, _QUERIES["decide"], values, guard)


def approve_link(context: Context, said: StatedLink, guard: Guard = FREE) -> UUID:
    """Confirm the surest link between two ends in a relation, or state it if there is none.

    Raises:
        NeurigraphError: As ``state_link`` and ``decide_link``.
    """
    found = context.database.ask(
        context.claims,
        _QUERIES["same_link"],
        {"from_id": said.start.id, "to_id": said.end.id, "relation": said.relation},
    )
    if not found:
        return state_link(context, said, guard).link_id
    link_id: UUID = found[0]["link_id"]
    decide_link(context, link_id, LinkVerdict.CONFIRMED, guard)
    return link_id


def _decide_verdict(context: Context, row: DictRow, verdict: LinkVerdict, guard: Guard) -> None:
    user_id, author = context.claims.user_id, author_of(context.claims)
    pair = row["from_fact_id"], row["to_fact_id"]
    with context.database.pipeline() as tx:
        lock_graph_shared(tx, user_id)
        guard.admit(tx)
        if verdict is LinkVerdict.REJECTED:
            undoing.reject(tx, user_id, *pair, author)
        elif not undoing.confirm(tx, user_id, *pair, author):
            raise ConflictError("what followed from this verdict was taken back: state what holds instead")
        guard.note_result(tx)


def _change(context: Context, query: SQL, values: Mapping[str, object], guard: Guard) -> None:
    with context.database.pipeline() as tx:
        lock_graph_shared(tx, context.claims.user_id)
        guard.admit(tx)
        tx.execute(_QUERIES["withdraw_doubt"], {"verdict": LinkVerdict.REJECTED, **values})  # actions before links
        try:
            changed = tx.execute(query, values).fetchone()
        except psycopg.errors.CheckViolation as error:
            raise ConflictError(str(error.diag.message_primary)) from error
        if changed is None:
            raise NotFoundError
        guard.note_result(tx)


def _as_stored(said: StatedLink, observer: str, reason: str | None) -> StatedLink:
    since, until = (utc(moment) if moment is not None else None for moment in (said.valid_from, said.valid_until))
    return replace(said, observed_by=observer, reason=reason, valid_from=since, valid_until=until).stored()


def _signed(link: StatedLink) -> bytes:
    return statement_bytes(str(link.start), str(link.end), link.relation, link.observed_by, link.valid_from)


def _checked(context: Context, said: StatedLink) -> str | None:
    """Check the values of a link, and return its reason as it is stored."""
    if said.relation == SUPERSEDES:
        raise InvalidInputError("versions say what supersedes what: state a next version of the fact instead")
    require_relation(said.relation)
    if said.start.kind not in (EndKind.FACT, EndKind.RECORD) or said.start == said.end:
        raise InvalidInputError("a link leads from a fact or a memory to something else")
    if said.relation == "led_to" and said.end.kind not in (EndKind.FACT, EndKind.RECORD):
        raise InvalidInputError("an effect is a fact or a memory")
    if not (0 <= said.strength <= 1 and 0 <= said.confidence <= 1):
        raise InvalidInputError("strength and confidence lie between 0 and 1")
    if len(said.messages) > MAX_LINK_MESSAGES or any(number < 1 for number in said.messages):
        raise InvalidInputError(f"a link names at most {MAX_LINK_MESSAGES} messages, which count from 1")
    if said.valid_from and said.valid_until and utc(said.valid_until) <= utc(said.valid_from):
        raise InvalidInputError("valid_until must be later than valid_from")
    if said.reason is None:
        return None
    reason = " ".join(clean_text(said.reason, context.settings.ingestion.unstorable_text)[0].split())
    if not 0 < len(reason) <= MAX_REASON:
        raise InvalidInputError(f"a reason has 1 to {MAX_REASON} characters")
    return reason if context.redactor is None else context.redactor.redact(reason)[0][:MAX_REASON]


def _require_ends(context: Context, said: StatedLink) -> None:
    for end, writes in ((said.start, True), (said.end, said.relation == "led_to")):
        found = context.database.ask(context.claims, _ENDS[end.kind], {"id": end.id})
        if not found:
            raise NotFoundError
        if writes and not found[0]["writable"]:
            raise ForbiddenError("this key may read but not change what the link starts at: ask for write access")


def _require_write(context: Context, link_id: UUID) -> DictRow:
    found = context.database.ask(context.claims, _QUERIES["writable_link"], {"link_id": link_id})
    if not found:
        raise NotFoundError
    if not found[0]["writable"]:
        raise ForbiddenError("this key may read but not change this link: ask its owner for write access")
    return found[0]
