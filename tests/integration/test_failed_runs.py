"""What a run of ingestion keeps of its steps: another run goes on with it, and it goes with the segment."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion import batch, step_results
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.ingestion.records import Summarized
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, new_user, plain_context, rows
from tests.support.record_checks import whole_records


@pytest.fixture
def context(installation: Installation) -> Context:
    return plain_context(installation)


@pytest.fixture
def owner(installation: Installation) -> tuple[User, Claims]:
    return new_user(installation)


def kept(installation: Installation) -> set[str]:
    return {row["step"] for row in rows(installation, "SELECT step FROM neurigraph.step_results")}


def half_done(installation: Installation, context: Context) -> UUID:
    """Lease what is due, run three steps, and keep what they made; return the batch, as a run that dies leaves it."""
    detect(context)
    leased = triggers.lease_due(context, "tests")
    assert leased is not None
    assigned = batch.assign_nodes(context, leased.batch_id)
    step_results.keep_assigned(context.database, assigned)
    step_results.keep_summarized(context.database, assigned, batch.summarize(context, assigned))
    step_results.keep_described(context.database, assigned, batch.extract_keywords(context, assigned, Summarized()))
    assert kept(installation) == {"assign_nodes", "summarize", "extract_keywords"}
    return leased.batch_id


def test_another_process_goes_on(installation: Installation, owner: tuple[User, Claims], context: Context) -> None:
    converse(installation, owner[1], "#Garden/Pond Ana says hello.", "@Ana:sister", external_id="a")
    converse(installation, owner[1], "#Garden REFUSED", external_id="b")
    batch_id = half_done(installation, context)
    assigned = step_results.find_assigned(context.database, batch_id)
    again = batch.assign_nodes(context, batch_id)
    assert (assigned.plans, assigned.failures) == (again.plans, again.failures)
    summarized = step_results.find_summarized(context.database, assigned)
    described = step_results.find_described(context.database, assigned)
    assert summarized.summaries == batch.summarize(context, assigned).summaries
    assert described.keywords == batch.extract_keywords(context, assigned, Summarized()).keywords
    assert [failure.step for failure in summarized.failures] == ["summarize"]
    done = batch.commit(context, assigned, summarized, described, batch.embed(context, assigned, summarized))
    assert (len(done.stored), [state for _, state in done.returned]) == (1, ["failed"])
    assert whole_records(installation, owner[0]) == 1
    assert kept(installation) == set()  # stored, or given back: both went


def test_lost_batch_has_no_results(installation: Installation, owner: tuple[User, Claims], context: Context) -> None:
    converse(installation, owner[1], "one")
    batch_id = half_done(installation, context)
    assigned = step_results.find_assigned(context.database, batch_id)
    assert triggers.release(context.database, batch_id) == 1
    assert kept(installation) == set()
    step_results.keep_assigned(context.database, assigned)  # a step that ends late keeps nothing
    assert kept(installation) == set()
    assert step_results.find_assigned(context.database, batch_id).plans == ()


def test_forgotten_user_leaves_no_results(
    installation: Installation, owner: tuple[User, Claims], context: Context
) -> None:
    converse(installation, owner[1], "one")
    half_done(installation, context)
    with pytest.raises(psycopg.errors.InsufficientPrivilege), installation.database.agent(owner[1]) as tx:
        tx.execute("SELECT FROM neurigraph.step_results")
    forget(installation.acting_for(owner[1]), ErasureSubject(SubjectKind.USER, owner[0].user_id), through="tests")
    assert kept(installation) == set()
