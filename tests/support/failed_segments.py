"""Segments with a failure, as the pipeline leaves them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.ingestion.failures import list_failures
from neurigraph_pipelines.model import ItemFailure
from neurigraph_pipelines.views.failures import FailureOfUser
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.vectors import end_conversation

ERROR = "the model refused this segment"


def fail(installation: Installation, user: User, *external_ids: str) -> list[FailureOfUser]:
    """Add conversations, lease them, and let each fail finally."""
    for external_id in external_ids:
        end_conversation(installation, user, external_id, "We chose the copper gutters.", "For the boathouse.")
    detect(installation.context)
    give_up(installation)
    with installation.database.pipeline() as tx:
        return list_failures(tx, user.user_id)


def give_up(installation: Installation) -> None:
    """Lease all due segments and fail them finally."""
    database = installation.database
    batch = triggers.lease_due(installation.context, "tests")
    assert batch is not None
    for ref in triggers.segments_of(database, batch.batch_id):
        failure = ItemFailure(ref.trigger_id, "summarize", ERROR, transient=False)
        assert triggers.give_back(installation.context, batch.batch_id, failure, ref.attempts) == "failed"


@contextmanager
def refusing_after_keywords(installation: Installation, user: User) -> Iterator[None]:
    """Let the database refuse to renew the lease of a user's segment once its summary and keywords are there."""
    with installation.database.owner() as tx:
        tx.execute("""CREATE FUNCTION neurigraph.refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
            IF (SELECT count(*) FROM neurigraph.step_results AS r WHERE r.trigger_id = new.trigger_id) = 3 THEN
                RAISE EXCEPTION 'refused for a test'; END IF; RETURN new; END $$""")
        tx.execute(f"""CREATE TRIGGER refuse BEFORE UPDATE OF claimed_until ON neurigraph.storage_triggers
            FOR EACH ROW WHEN (new.state = 'claimed' AND new.user_id = '{user.user_id}')
            EXECUTE FUNCTION neurigraph.refuse()""")
    try:
        yield
    finally:
        with installation.database.owner() as tx:
            tx.execute("DROP FUNCTION neurigraph.refuse CASCADE")


def state_of(installation: Installation, failure: FailureOfUser) -> tuple[str, int]:
    """Return the state and attempts of the failed segment or upload."""
    with installation.database.pipeline() as tx:
        row = tx.execute(
            "SELECT state::text, attempts FROM neurigraph.storage_triggers WHERE trigger_id = %s UNION ALL "
            "SELECT state::text, attempts FROM neurigraph.uploads WHERE source_id = %s",
            [failure.trigger_id, failure.source_id if failure.trigger_id is None else None],
        ).fetchone()
    assert row is not None
    return row["state"], row["attempts"]
