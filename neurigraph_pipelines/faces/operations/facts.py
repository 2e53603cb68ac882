"""Facts: single statements, which memories make or people state."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.fact_forms import ChangeFact, StateFact
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.knowledge import belief_lists as beliefs
from neurigraph_pipelines.knowledge import fact_lists as listing
from neurigraph_pipelines.knowledge import stating, undoing
from neurigraph_pipelines.knowledge.fact_lists import FactFilter
from neurigraph_pipelines.views import facts as views

operation = OperationGroup("facts")


@operation("GET /facts", "fact list", tool="memory_facts", in_spaces=True)
def list_facts(call: Call, wanted: FactFilter, limit: Limit = 50, cursor: Cursor = None) -> views.Facts:
    """List facts of the whole graph, newest first."""
    return call.page(views.Facts, listing.list_facts, wanted, limit=limit, cursor=cursor)


@operation("GET /records/{record_id}/facts", "memory facts")
def facts_of_record(call: Call, record_id: UUID, limit: Limit = 50, cursor: Cursor = None) -> views.BroughtFacts:
    """List the facts of one memory, the new ones among them, and their links and conflicts with known facts.

    A memory is read for facts soon after it was stored, and compared with known ones soon after that.
    """
    wanted = FactFilter(record_id=record_id)
    found = listing.list_facts(call.listing(limit, cursor), wanted)
    return call.do(beliefs.brought, record_id, found)


@operation(
    "POST /facts",
    "fact add",
    tool="state_fact",
    status=202,
    refusals=(409,),
    who=Who.WRITER,
    answers={200: {"model": views.StatedFact, "description": "The same was stated already."}},
    notes_lag=True,
)
def state_fact(call: Call, body: StateFact) -> views.StatedFact:
    """State a fact by hand. It is a note whose memory carries exactly this fact, stored in the background.

    The same again, by the same writer, is the same fact as long as its memory is current.
    """
    stated = stating.state_fact(call.context, body.fact)
    call.told.status = 202 if stated.created else 200
    call.told.headers["Location"] = f"/v1/facts/{stated.fact_id}"
    return stated


@operation("GET /facts/{fact_id}", "fact show", tool="memory_facts")
def get_fact(call: Call, fact_id: UUID) -> views.FactWithPlaces:
    """Return a fact with where it was said: memories, sources and messages, and through which door they came."""
    return call.do(listing.fact, fact_id)


@operation(
    "PATCH /facts/{fact_id}",
    "fact edit",
    refusals=(409,),
    answers={202: {"model": views.StatedFact, "description": "A next version, which is stored in the background."}},
)
def change_fact(call: Call, fact_id: UUID, body: ChangeFact) -> views.FactWithPlaces | views.StatedFact:
    """Change a fact. New words are its next version, as a note; tags, metadata, pins and times apply at once."""
    changed = None
    if not call.is_repeated:
        context = call.context
        changed = stating.change_fact(context, fact_id, body.words(body.statement), body.state, call.once)
    if changed is None:
        return call.do(listing.fact, fact_id)
    call.told.status = 202
    return changed


@operation("GET /facts/{fact_id}/history", "fact history")
def fact_history(call: Call, fact_id: UUID) -> views.FactHistory:
    """Return the versions of a fact, with each change of them and its author."""
    return call.do(listing.history, fact_id)


@operation("GET /facts/{fact_id}/belief", "fact belief")
def get_belief(call: Call, fact_id: UUID) -> views.Belief:
    """Return the current version of a fact and the facts that conflict with it. Only the owner sees `belief`."""
    return call.do(beliefs.belief, fact_id)


@operation("POST /facts/{fact_id}/retract", "fact retract", tool="state_fact", status=204, refusals=(409,))
def retract_fact(call: Call, fact_id: UUID) -> None:
    """Take a fact back. It is archived, and the version that it superseded stands again."""
    if not call.is_repeated:
        stating.retract(call.context, fact_id, call.once)


@operation("POST /facts/{fact_id}/confirm", "fact confirm", status=204, refusals=(409,))
def confirm_fact(call: Call, fact_id: UUID) -> None:
    """Confirm that a fact holds, even if it was retracted or disputed."""
    if not call.is_repeated:
        stating.confirm(call.context, fact_id, call.once)


@operation("POST /facts/{fact_id}/undo", "fact undo", who=Who.OWNER)
def undo_decisions(
    call: Call,
    fact_id: UUID,
    other_fact_id: Annotated[UUID | None, Field(description="Only verdicts on this fact, too.")] = None,
) -> views.UndoneDecisions:
    """Undo the results of comparing a fact with others: supersessions in both directions, and disputes.

    The facts and their versions are as if they had not been compared, what asks about them waits no longer, and they
    are not compared again. Nothing happens if there is nothing to take back.
    """
    return views.UndoneDecisions(undone=undoing.undo(call.context, fact_id, other_fact_id))
