"""Facts: single statements, which memories make or people state."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Owner, Within, Writer
from neurigraph_pipelines.faces.api.fact_forms import ChangeFact, StateFact
from neurigraph_pipelines.faces.api.idempotency import IsRepeated, Once
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.knowledge import belief_lists as beliefs
from neurigraph_pipelines.knowledge import fact_lists as listing
from neurigraph_pipelines.knowledge import stating, undoing
from neurigraph_pipelines.knowledge.fact_lists import FactFilter
from neurigraph_pipelines.views import facts as views
from neurigraph_pipelines.views.kinds import FactKind, FactStatus

router = APIRouter(tags=["facts"], responses=documented(401, 404, 422, 503))


@router.get("/facts")
def list_facts(
    caller: Within,
    installation: InstallationDep,
    node_id: Annotated[UUID | None, Query(description="Of memories in this node, or below it.")] = None,
    below: Annotated[bool, Query(description="False leaves out the nodes below `node_id`.")] = True,
    kind: FactKind | None = None,
    who: Annotated[str | None, Query(description="About this person, as the fact names them.")] = None,
    occurred_after: Annotated[datetime | None, Query(description="Of events then or later.")] = None,
    occurred_before: Annotated[datetime | None, Query(description="Of events before this time.")] = None,
    superseded: Annotated[
        bool | None, Query(description="Whether a later version or a newer memory replaces it. Default: both.")
    ] = None,
    status: Annotated[FactStatus | None, Query(description="Default: all but `archived`.")] = None,
    tag: Annotated[list[str] | None, Query(max_length=20, description="With all of these tags.")] = None,
    forgotten: Annotated[bool, Query(description="Facts that are hidden until they are erased; the owner's.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Facts:
    """List facts of the whole graph, newest first."""
    look(installation, caller, node_id=node_id)
    wanted = FactFilter(
        node_id,
        below,
        None,
        kind,
        who,
        occurred_after,
        occurred_before,
        superseded,
        status,
        tuple(tag or ()),
        forgotten,
    )
    found = listing.list_facts(installation.database, installation.cursors, caller, wanted, limit=limit, cursor=cursor)
    return views.Facts(facts=found.items, next_cursor=found.next_cursor)


@router.get("/records/{record_id}/facts")
def facts_of_record(
    record_id: UUID, caller: Caller, installation: InstallationDep, limit: Limit = 50, cursor: Cursor = None
) -> views.BroughtFacts:
    """List the facts of one memory, the new ones among them, and their links and conflicts with known facts.

    A memory is read for facts soon after it was stored, and compared with known ones soon after that.
    """
    wanted = FactFilter(record_id=record_id)
    found = listing.list_facts(installation.database, installation.cursors, caller, wanted, limit=limit, cursor=cursor)
    return beliefs.brought(installation.database, caller, record_id, found)


@router.get("/nodes/{node_id}/facts")
def facts_of_node(
    node_id: UUID,
    caller: Within,
    installation: InstallationDep,
    below: Annotated[bool, Query(description="Also of the nodes below it.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Facts:
    """List the facts of the memories in a node, newest first."""
    wanted = FactFilter(node_id, below)
    found = listing.list_facts(installation.database, installation.cursors, caller, wanted, limit=limit, cursor=cursor)
    return views.Facts(facts=found.items, next_cursor=found.next_cursor)


@router.post(
    "/facts",
    dependencies=[NotesLag],
    status_code=202,
    responses={
        200: {"model": views.StatedFact, "description": "The same was stated already."},
        **documented(403, 409, 413),
    },
)
def state_fact(body: StateFact, response: Response, caller: Writer, installation: InstallationDep) -> views.StatedFact:
    """State a fact by hand. It is a note whose memory carries exactly this fact, stored in the background.

    The same again, by the same writer, is the same fact as long as its memory is current.
    """
    look(installation, caller, node_id=body.node_id)
    stated = stating.state_fact(installation.acting_for(caller), body.fact)
    response.status_code = 202 if stated.created else 200
    response.headers["Location"] = f"/v1/facts/{stated.fact_id}"
    return stated


@router.get("/facts/{fact_id}")
def get_fact(fact_id: UUID, caller: Caller, installation: InstallationDep) -> views.FactWithEvidence:
    """Return a fact with where it was said: memories, sources and messages, and through which door they came."""
    return listing.fact(installation.database, caller, fact_id)


@router.patch(
    "/facts/{fact_id}",
    responses={
        202: {"model": views.StatedFact, "description": "A next version, which is stored in the background."},
        **documented(403, 409, 413),
    },
)
def change_fact(
    fact_id: UUID,
    body: ChangeFact,
    response: Response,
    caller: Caller,
    installation: InstallationDep,
    once: Once,
    is_repeated: IsRepeated,
) -> views.FactWithEvidence | views.StatedFact:
    """Change a fact. New words are its next version, as a note; tags, metadata, pins and times apply at once."""
    changed = None
    if not is_repeated:
        context = installation.acting_for(caller)
        changed = stating.change_fact(context, fact_id, body.words(body.statement), body.state, once)
    if changed is None:
        return listing.fact(installation.database, caller, fact_id)
    response.status_code = 202
    return changed


@router.get("/facts/{fact_id}/history")
def fact_history(fact_id: UUID, caller: Caller, installation: InstallationDep) -> views.FactHistory:
    """Return the versions of a fact, with each change of them and its author."""
    return listing.history(installation.database, caller, fact_id)


@router.get("/facts/{fact_id}/belief")
def get_belief(fact_id: UUID, caller: Caller, installation: InstallationDep) -> views.Belief:
    """Return the current version of a fact and the facts that conflict with it. Only the owner sees `belief`."""
    return beliefs.belief(installation.database, caller, fact_id)


@router.post("/facts/{fact_id}/retract", status_code=204, responses=documented(403, 409))
def retract_fact(
    fact_id: UUID, caller: Caller, installation: InstallationDep, once: Once, is_repeated: IsRepeated
) -> None:
    """Take a fact back. It is archived, and the version that it superseded stands again."""
    if not is_repeated:
        stating.retract(installation.acting_for(caller), fact_id, once)


@router.post("/facts/{fact_id}/confirm", status_code=204, responses=documented(403, 409))
def confirm_fact(
    fact_id: UUID, caller: Caller, installation: InstallationDep, once: Once, is_repeated: IsRepeated
) -> None:
    """Confirm that a fact holds, even if it was retracted or disputed."""
    if not is_repeated:
        stating.confirm(installation.acting_for(caller), fact_id, once)


@router.post("/facts/{fact_id}/undo", responses=documented(403))
def undo_decisions(
    fact_id: UUID,
    caller: Owner,
    installation: InstallationDep,
    other_fact_id: Annotated[UUID | None, Query(description="Only verdicts on this fact, too.")] = None,
) -> views.UndoneDecisions:
    """Undo the results of comparing a fact with others: supersessions in both directions, and disputes.

    The facts and their versions are as if they had not been compared, what asks about them waits no longer, and they
    are not compared again. Nothing happens if there is nothing to take back.
    """
    return views.UndoneDecisions(undone=undoing.undo(installation.acting_for(caller), fact_id, other_fact_id))
