"""Links between facts, memories, nodes and sources, and the keys that sign them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations import link_forms as forms
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.knowledge import link_lists as listing
from neurigraph_pipelines.knowledge import linking, signing
from neurigraph_pipelines.knowledge.computed_links import computed_links
from neurigraph_pipelines.views import links as views
from neurigraph_pipelines.views.kinds import LinkVerdict

operation = OperationGroup("links")

_Relation = Annotated[str | None, Field(max_length=60, description="Only in this relation.")]
_All = Annotated[bool, Field(alias="all", description="Include rejected and ended ones.")]
_Computed = Annotated[
    bool, Field(description="List links computed now instead: alike, near in time, or with the same mentions.")
]
_Ended = Annotated[bool, Field(alias="all", description="Include rotated and revoked ones.")]


@operation("GET /records/{record_id}/links", "memory links")
def links_of_record(
    call: Call,
    record_id: UUID,
    relation: _Relation = None,
    all_of_them: _All = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Links:
    """List the links of a memory and of its facts, newest first, as far as you see both ends."""
    wanted = listing.LinkFilter(record_id=record_id, relation=relation, with_ended=all_of_them)
    return _page(call, wanted, limit, cursor)


@operation("GET /facts/{fact_id}/links", "fact links", tool="memory_facts")
def links_of_fact(
    call: Call,
    fact_id: UUID,
    relation: _Relation = None,
    all_of_them: _All = False,
    computed: _Computed = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Links:
    """List the links of a fact, newest first, as far as you see both ends."""
    if computed:
        return computed_links(call.context, fact_id, relation)
    wanted = listing.LinkFilter(fact_id=fact_id, relation=relation, with_ended=all_of_them)
    return _page(call, wanted, limit, cursor)


@operation(
    "POST /links",
    status=201,
    refusals=(409,),
    who=Who.WRITER,
    answers={200: {"model": views.WrittenLink, "description": "You said the same already."}},
)
def state_link(call: Call, body: forms.NewLink) -> views.WrittenLink:
    """State a link. `led_to` is stored as `caused_by` from the other end; the same again changes nothing."""
    signature = body.signature.signature if body.signature is not None else None
    written = linking.state_link(call.context, body.link, call.once, signature)
    call.told.status = 201 if written.created else 200
    call.told.headers["Location"] = f"/v1/links/{written.link_id}"
    return written


@operation("GET /links/{link_id}", "fact link show")
def get_link(call: Call, link_id: UUID) -> views.Link:
    """Return a link."""
    return call.do(listing.link, link_id)


@operation("POST /links/{link_id}/end", refusals=(409,))
def end_link(call: Call, link_id: UUID, body: forms.EndLink) -> views.Link:
    """End a link. The ended link stays, with the person who ended it, and can be stated again."""
    if not call.is_repeated:
        signature = body.signature.signature if body.signature is not None else None
        linking.end_link(call.context, link_id, body.valid_until, signature, call.once)
    return call.do(listing.link, link_id)


@operation("POST /links/{link_id}/confirm", "fact link confirm", refusals=(409,))
def confirm_link(call: Call, link_id: UUID) -> views.Link:
    """Confirm a link, even if it was rejected."""
    if not call.is_repeated:
        linking.decide_link(call.context, link_id, LinkVerdict.CONFIRMED, call.once)
    return call.do(listing.link, link_id)


@operation("POST /links/{link_id}/reject", "fact link reject", refusals=(409,))
def reject_link(call: Call, link_id: UUID) -> views.Link:
    """Reject a link. It is not inferred again; the effects of a verdict on two facts are undone."""
    if not call.is_repeated:
        linking.decide_link(call.context, link_id, LinkVerdict.REJECTED, call.once)
    return call.do(listing.link, link_id)


@operation("GET /signing-keys", "fact link key list")
def list_signing_keys(
    call: Call, all_of_them: _Ended = False, limit: Limit = 50, cursor: Cursor = None
) -> views.SigningKeys:
    """List public keys, newest first: the owner's list has all, others' has their own and keys of links they see."""
    found = signing.page_of_keys(call.context, call.listing(limit, cursor), with_ended=all_of_them)
    return views.SigningKeys(signing_keys=found.items, next_cursor=found.next_cursor)


@operation("POST /signing-keys", "fact link key add", status=201, refusals=(409,), who=Who.WRITER)
def register_signing_key(call: Call, body: forms.NewSigningKey) -> views.SigningKey:
    """Register the public key with which you sign links. The private key stays with you."""
    return signing.register_key(call.context, body.bytes, body.peer)


@operation("POST /signing-keys/{signing_key_id}/rotate", "fact link key rotate", status=201, refusals=(409,))
def rotate_signing_key(call: Call, signing_key_id: UUID, body: forms.NewPublicKey) -> views.SigningKey:
    """Replace a key. Signatures of the old key still count, and the old key signs no more."""
    return signing.rotate_key(call.context, signing_key_id, body.bytes)


@operation("DELETE /signing-keys/{signing_key_id}", "fact link key remove", refusals=(409,))
def revoke_signing_key(call: Call, signing_key_id: UUID) -> views.SigningKey:
    """Revoke a key: links that it signed are shown as unsigned from now on. Revoking it again changes nothing."""
    return signing.revoke_key(call.context, signing_key_id)


def _page(call: Call, wanted: listing.LinkFilter, limit: int, cursor: str | None) -> views.Links:
    return call.page(views.Links, listing.list_links, wanted, limit=limit, cursor=cursor)
