"""Facts of stored records: read in the background, listed behind the same gates, gone with their records."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import NodeType, Privacy, SubjectType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored

FOREVER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture(scope="module")
def client(shared_installation: Installation) -> Iterator[httpx.Client]:
    with serving(shared_installation) as address, httpx.Client(base_url=f"{address}/v1", timeout=60) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def statements_of(here: Installation, user_id: UUID) -> list[str]:
    found = rows(here, "SELECT statement FROM neurigraph.facts WHERE user_id = %s ORDER BY seq", user_id)
    return [row["statement"] for row in found]


def waiting_of(here: Installation, user_id: UUID) -> list[dict[str, Any]]:
    return rows(here, "SELECT * FROM neurigraph.pending_facts WHERE user_id = %s", user_id)


def test_stored_records_are_read(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    context = plain_context(here)
    converse(here, claims, "#Boats The keel needs 12 bolts.", "Right.", "The mast, INVENTED, is of oak.")
    converse(here, claims, "#Work SULKS today.")
    ingest(context, user)
    assert len(waiting_of(here, user.user_id)) == 2
    done = reading.read_waiting(context, user_id=user.user_id)
    assert (done.records, done.facts, done.dropped, len(done.failed)) == (1, 2, 1, 1)
    (late,) = waiting_of(here, user.user_id)
    assert (late["attempts"], late["last_error"]) == (1, "the provider is busy")
    assert late["next_attempt_at"] > late["since"]
    assert reading.read_waiting(context, user_id=user.user_id).records == 0
    owner = bearer(issue_api_key(here.database, user.user_id))
    page = client.get("/facts", headers=owner, params={"limit": 1}).json()
    rest = client.get("/facts", headers=owner, params={"limit": 1, "cursor": page["next_cursor"]}).json()
    found = {fact["statement"]: fact for fact in (*page["facts"], *rest["facts"])}
    assert set(found) == {"#Boats The keel needs 12 bolts.", "Right."}
    assert rest["next_cursor"] is None
    keel = found["#Boats The keel needs 12 bolts."]
    assert (keel["node_path"], keel["first_message"], keel["kind"]) == (f"{user.slug}/Boats", 1, "other")
    of_record = client.get(f"/records/{keel['record_id']}/facts", headers=owner).json()["facts"]
    assert sorted(fact["statement"] for fact in of_record) == sorted(found)
    for params, count in [
        ({"kind": "other"}, 2),
        ({"kind": "event"}, 0),
        ({"who": "Nobody"}, 0),
        ({"node_id": keel["node_id"]}, 2),
        ({"superseded": True}, 0),
        ({"occurred_after": "2020-01-01"}, 0),
    ]:
        assert len(client.get("/facts", headers=owner, params=params).json()["facts"]) == count, params


def test_reading_again_keeps_the_ids(here: Installation) -> None:
    user, claims = new_user(here)
    context = plain_context(here)
    converse(here, claims, "#Boats The keel needs bolts.", "The mast is of oak.")
    (record,) = stored(ingest(context, user))
    reading.read_waiting(context, user_id=user.user_id)
    query = "SELECT fact_id, recorded_at FROM neurigraph.facts WHERE user_id = %s ORDER BY seq"
    first = rows(here, query, user.user_id)
    assert reading.choose_days(context, None, FOREVER, user.user_id) == []
    chosen = reading.choose_days(context, None, FOREVER, user.user_id, again=True)
    assert chosen == [record.record_id]
    assert reading.read_again(context, chosen).facts == 2
    assert rows(here, query, user.user_id) == first
    assert waiting_of(here, user.user_id) == []


def _killed_while_reading(context: Context, user_id: UUID) -> None:
    class Deadly(type(context.language_model)):  # type: ignore[misc]
        def extract_facts(self, segment: object, kept: object = None) -> list[object]:
            os.kill(os.getpid(), signal.SIGKILL)
            return []

    reading.read_waiting(context.using(language_model=Deadly()), user_id=user_id)


def test_killed_reader_leaves_nothing_partial(here: Installation) -> None:
    user, claims = new_user(here)
    context = plain_context(here)
    converse(here, claims, "#Boats The keel needs bolts.")
    ingest(context, user)
    process = multiprocessing.get_context("fork").Process(target=_killed_while_reading, args=(context, user.user_id))
    process.start()
    process.join(timeout=60)
    assert process.exitcode == -signal.SIGKILL
    assert statements_of(here, user.user_id) == []
    (leased,) = waiting_of(here, user.user_id)
    assert leased["attempts"] == 1
    assert reading.read_waiting(context, user_id=user.user_id).records == 0  # the lease is still live
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.pending_facts SET next_attempt_at = now() WHERE user_id = %s", [user.user_id])
    assert reading.read_waiting(context, user_id=user.user_id).facts == 1
    assert statements_of(here, user.user_id) == ["#Boats The keel needs bolts."]


def test_overtaken_reader_writes_nothing(here: Installation) -> None:
    user, claims = new_user(here)
    context = plain_context(here)
    converse(here, claims, "#Boats The keel needs bolts.")
    (record,) = stored(ingest(context, user))

    class Overtaken(type(context.language_model)):  # type: ignore[misc]
        def extract_facts(self, segment: Any, kept: Any = None) -> Any:
            with here.database.pipeline() as tx:
                tx.execute("UPDATE neurigraph.pending_facts SET attempts = 7 WHERE record_id = %s", [record.record_id])
            return super().extract_facts(segment)

    done = reading.read_waiting(context.using(language_model=Overtaken()), user_id=user.user_id)
    assert done.facts == 0
    assert statements_of(here, user.user_id) == []
    assert len(waiting_of(here, user.user_id)) == 1


def test_facts_go_and_hide_with_their_records(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    context = plain_context(here)
    boat = converse(here, claims, "#Boats The keel needs bolts.")
    converse(here, claims, "#Work A letter to Oslo.")
    ingest(context, user)
    reading.read_waiting(context, user_id=user.user_id)
    persona = sharing.add_node(here.database, claims, user.root_node_id, "Butler", node_type=NodeType.PERSONA)
    _, key = sharing.issue_key(here.database, claims, subject=sharing.Subject(SubjectType.PERSONA, str(persona)))
    stranger = bearer(issue_api_key(here.database, new_user(here)[0].user_id))
    owner, butler = bearer(issue_api_key(here.database, user.user_id)), bearer(key)

    def seen(headers: dict[str, str]) -> list[str]:
        return sorted(fact["statement"] for fact in client.get("/facts", headers=headers).json()["facts"])

    assert seen(stranger) == seen(butler) == []
    assert len(seen(owner)) == 2
    boats = next(one for one in client.get("/facts", headers=owner).json()["facts"] if "keel" in one["statement"])
    record_id, node_id = UUID(boats["record_id"]), UUID(boats["node_id"])
    denied = client.get(f"/records/{record_id}/facts", headers=butler)
    absent = client.get(f"/records/{persona}/facts", headers=butler)
    assert assert_problem(denied, 404)["detail"] == assert_problem(absent, 404)["detail"]
    sharing.grant(here.database, claims, sharing.Subject(SubjectType.PERSONA, str(persona)), node_id)
    assert seen(butler) == ["#Boats The keel needs bolts."]
    set_privacy(here.database, claims, boat, Privacy.PRIVATE)
    assert seen(butler) == []
    assert len(seen(owner)) == 2
    forget(here.acting_for(claims), ErasureSubject(SubjectKind.RECORD, record_id), through="test")
    assert seen(owner) == ["#Work A letter to Oslo."]
    assert not rows(here, "SELECT FROM neurigraph.facts WHERE record_id = %s", record_id)
