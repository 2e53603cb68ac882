"""Links between facts, memories, nodes and sources, and the keys that sign them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from neurigraph_pipelines.faces.api import link_forms as forms
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Writer
from neurigraph_pipelines.faces.api.idempotency import IsRepeated, Once
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.knowledge import link_lists as listing
from neurigraph_pipelines.knowledge import linking, signing
from neurigraph_pipelines.knowledge.computed_links import computed_links
from neurigraph_pipelines.views import links as views
from neurigraph_pipelines.views.kinds import LinkVerdict

router = APIRouter(tags=["links"], responses=documented(401, 404, 422, 503))

_Relation = Annotated[str | None, Query(max_length=60, description="Only in this relation.")]
_All = Annotated[bool, Query(alias="all", description="Include rejected and ended ones.")]
_Computed = Annotated[
    bool, Query(description="List links computed now instead: alike, near in time, or with the same mentions.")
]
_Ended = Annotated[bool, Query(alias="all", description="Include rotated and revoked ones.")]


@router.get("/records/{record_id}/links")
def links_of_record(
    record_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    relation: _Relation = None,
    all_of_them: _All = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Links:
    """List the links of a memory and of its facts, newest first, as far as you see both ends."""
    wanted = listing.LinkFilter(record_id=record_id, relation=relation, with_ended=all_of_them)
    return _page(caller, installation, wanted, limit, cursor)


@router.get("/facts/{fact_id}/links")
def links_of_fact(
    fact_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    relation: _Relation = None,
    all_of_them: _All = False,
    computed: _Computed = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Links:
    """List the links of a fact, newest first, as far as you see both ends."""
    if computed:
        return computed_links(installation.acting_for(caller), fact_id, relation)
    wanted = listing.LinkFilter(fact_id=fact_id, relation=relation, with_ended=all_of_them)
    return _page(caller, installation, wanted, limit, cursor)


@router.post(
    "/links",
    status_code=201,
    responses={
        200: {"model": views.WrittenLink, "description": "You said the same already."},
        **documented(403, 409, 413),
    },
)
def state_link(
    body: forms.NewLink, response: Response, caller: Writer, installation: InstallationDep, once: Once
) -> views.WrittenLink:
    """State a link. `led_to` is stored as `caused_by` from the other end; the same again changes nothing."""
    look(
        installation,
        caller,
        fact_id=body.from_fact_id,
        record_id=body.from_record_id,
        to_fact_id=body.to_fact_id,
        to_record_id=body.to_record_id,
        to_node_id=body.to_node_id,
        to_source_id=body.to_source_id,
        signing_key_id=body.signature.signing_key_id if body.signature is not None else None,
    )
    written = linking.state_link(installation.acting_for(caller), body.link, once)
    response.status_code = 201 if written.created else 200
    response.headers["Location"] = f"/v1/links/{written.link_id}"
    return written


@router.get("/links/{link_id}")
def get_link(link_id: UUID, caller: Caller, installation: InstallationDep) -> views.Link:
    """Return a link."""
    return listing.link(installation.database, caller, link_id)


@router.post("/links/{link_id}/end", responses=documented(403, 409, 413))
def end_link(
    link_id: UUID,
    body: forms.EndLink,
    caller: Caller,
    installation: InstallationDep,
    once: Once,
    is_repeated: IsRepeated,
) -> views.Link:
    """End a link. The ended link stays, with the person who ended it, and can be stated again."""
    if not is_repeated:
        look(installation, caller, signing_key_id=body.signature.signing_key_id if body.signature else None)
        signature = body.signature.signature if body.signature is not None else None
        linking.end_link(installation.acting_for(caller), link_id, body.valid_until, signature, once)
    return listing.link(installation.database, caller, link_id)


@router.post("/links/{link_id}/confirm", responses=documented(403, 409))
def confirm_link(
    link_id: UUID, caller: Caller, installation: InstallationDep, once: Once, is_repeated: IsRepeated
) -> views.Link:
    """Confirm a link, even if it was rejected."""
    if not is_repeated:
        linking.decide_link(installation.acting_for(caller), link_id, LinkVerdict.CONFIRMED, once)
    return listing.link(installation.database, caller, link_id)


@router.post("/links/{link_id}/reject", responses=documented(403, 409))
def reject_link(
    link_id: UUID, caller: Caller, installation: InstallationDep, once: Once, is_repeated: IsRepeated
) -> views.Link:
    """Reject a link. It is not inferred again; the effects of a verdict on two facts are undone."""
    if not is_repeated:
        linking.decide_link(installation.acting_for(caller), link_id, LinkVerdict.REJECTED, once)
    return listing.link(installation.database, caller, link_id)


@router.get("/signing-keys")
def list_signing_keys(
    caller: Caller,
    installation: InstallationDep,
    all_of_them: _Ended = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.SigningKeys:
    """List public keys, newest first: the owner's list has all, others' has their own and those of links they see."""
    context = installation.acting_for(caller)
    found = signing.page_of_keys(context, installation.cursors, with_ended=all_of_them, limit=limit, cursor=cursor)
    return views.SigningKeys(signing_keys=found.items, next_cursor=found.next_cursor)


@router.post("/signing-keys", status_code=201, responses=documented(403, 409, 413))
def register_signing_key(body: forms.NewSigningKey, caller: Writer, installation: InstallationDep) -> views.SigningKey:
    """Register the public key with which you sign links. The private key stays with you."""
    return signing.register_key(installation.acting_for(caller), body.bytes, body.peer)


@router.post(
    "/signing-keys/{signing_key_id}/rotate",
    status_code=201,
    responses=documented(403, 409, 413),
)
def rotate_signing_key(
    signing_key_id: UUID, body: forms.NewPublicKey, caller: Caller, installation: InstallationDep
) -> views.SigningKey:
    """Replace a key. Signatures of the old key still count, and the old key signs no more."""
    return signing.rotate_key(installation.acting_for(caller), signing_key_id, body.bytes)


@router.delete("/signing-keys/{signing_key_id}", responses=documented(403, 409))
def revoke_signing_key(signing_key_id: UUID, caller: Caller, installation: InstallationDep) -> views.SigningKey:
    """Revoke a key: links that it signed are shown as unsigned from now on. Revoking it again changes nothing."""
    return signing.revoke_key(installation.acting_for(caller), signing_key_id)


def _page(
    caller: Caller, installation: InstallationDep, wanted: listing.LinkFilter, limit: int, cursor: str | None
) -> views.Links:
    found = listing.list_links(installation.database, installation.cursors, caller, wanted, limit=limit, cursor=cursor)
    return views.Links(links=list(found.items), next_cursor=found.next_cursor)
