"""Lists of conversations, events and uploads with their progress; cursors; waiting."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import EventKind, NodeType, SourceKind, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.failed_segments import ERROR, fail
from tests.support.memories import converse, ingest, new_user, plain_context


@pytest.fixture(scope="module")
def client(shared_installation: Installation) -> Iterator[httpx.Client]:
    with (
        serving(shared_installation) as address,
        httpx.Client(base_url=f"{address}/v1", timeout=60, limits=httpx.Limits(max_connections=100)) as client,
    ):
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_progress_of_a_conversation(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    owner = bearer(issue_api_key(here.database, user.user_id))
    source = converse(here, claims, "#Boats The keel needs bolts.", external_id="boat", ended=False)
    path = f"/conversations/{source}"
    shown = client.get(path, headers=owner).json()
    assert (shown["state"], shown["record_ids"], shown["ended_at"]) == ("open", [], None)
    assert shown["external_id"] == "boat"
    client.post(f"{path}/end", headers=owner)
    assert client.get(path, headers=owner).json()["state"] == "waiting"
    assert client.get(path, headers=owner, params={"wait": 0.2}).json()["state"] == "waiting"
    ingest(plain_context(here), user)
    done = client.get(path, headers=owner, params={"wait": 30}).json()
    assert (done["state"], done["error"], done["failure_id"]) == ("stored", None, None)
    (record_id,) = done["record_ids"]
    assert client.get(f"/records/{record_id}", headers=owner).json()["source_id"] == str(source)


def test_waiting_ends_when_it_is_stored(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    owner = bearer(issue_api_key(here.database, user.user_id))
    source = converse(here, claims, "#Boats The mast is of oak.")
    answers: list[httpx.Response] = []

    def wait() -> None:
        answers.append(client.get(f"/conversations/{source}", headers=owner, params={"wait": 30}))

    # More callers than the server has threads wait, and others are answered meanwhile.
    waiting = [threading.Thread(target=wait) for _ in range(50)]
    for thread in waiting:
        thread.start()
    assert client.get("/conversations", headers=owner).status_code == 200
    ingest(plain_context(here), user)
    for thread in waiting:
        thread.join(timeout=30)
    assert [answer.json()["state"] for answer in answers] == ["stored"] * 50
    assert max(answer.elapsed.total_seconds() for answer in answers) < 29


def test_failure_is_named(here: Installation, client: httpx.Client) -> None:
    user, _ = new_user(here)
    (failure,) = fail(here, user, "gutters")
    owner = bearer(issue_api_key(here.database, user.user_id))
    shown = client.get(f"/conversations/{failure.source_id}", headers=owner, params={"wait": 30}).json()
    assert (shown["state"], shown["failure_id"]) == ("failed", str(failure.failure_id))
    assert ERROR in shown["error"]
    client.post(f"/failures/{failure.failure_id}/replay", headers=owner)
    assert client.get(f"/conversations/{failure.source_id}", headers=owner).json()["state"] == "waiting"


def test_lists_filter_and_page(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    owner = bearer(issue_api_key(here.database, user.user_id))
    first, second, third = (converse(here, claims, "Hello.", external_id=f"talk {n}", ended=n != 2) for n in (1, 2, 3))
    with here.database.agent(claims) as tx:
        event, _ = Inbox(here.context).open_source(
            tx, user.user_id, SourceKind.EVENT, title="Site 100%", event_kind=EventKind.MEETING
        )
    upload = here.uploads.receive(claims, "notes.txt", [b"What was said of the gutters."]).upload_id

    def ids(kind: str, **params: Any) -> list[str]:
        answer = client.get(f"/{kind}s", headers=owner, params=params)
        assert answer.status_code == 200, answer.text
        return [one[f"{kind}_id"] for one in answer.json()[f"{kind}s"]]

    assert ids("conversation") == [str(third), str(second), str(first)]
    assert ids("conversation", state="open") == [str(second)]
    assert ids("conversation", external_id="talk 1") == [str(first)]
    assert ids("conversation", external_id="\0") == []
    assert ids("event", title="100% site") == [str(event)]
    assert ids("event", title="1000") == ids("event", title="_ite") == []
    assert ids("upload", state="waiting") == [str(upload)]
    received = client.get(f"/conversations/{second}", headers=owner).json()["received_at"]
    assert ids("conversation", received_after=received) == [str(third), str(second)]
    assert ids("conversation", received_before=received) == [str(first)]
    assert ids("conversation", started_after="2100-01-01T00:00:00Z") == []

    pages, cursor = [], None
    for _ in range(3):
        page = client.get(
            "/conversations", headers=owner, params={"limit": 1, "cursor": cursor} if cursor else {"limit": 1}
        )
        pages += [one["conversation_id"] for one in page.json()["conversations"]]
        cursor = page.json()["next_cursor"]
        converse(here, claims, "This arrives meanwhile and shifts nothing.")
    assert (pages, cursor) == ([str(third), str(second), str(first)], None)


def test_persona_sees_its_own(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    owner = bearer(issue_api_key(here.database, user.user_id))
    mine = converse(here, claims, "#Boats The owner's talk.")
    persona = sharing.add_node(
        here.database, claims, user.root_node_id, "Butler", node_type=NodeType.PERSONA, writes=True
    )
    _, key = sharing.issue_key(here.database, claims, subject=sharing.Subject(SubjectType.PERSONA, str(persona)))
    butler = bearer(key)
    opened = client.post("/conversations", json={"title": "Silver"}, headers=butler).json()["conversation_id"]
    client.post(
        f"/conversations/{opened}/messages",
        json={"messages": [{"role": "user", "content": "#Butler The silver is clean."}]},
        headers=butler,
    )
    client.post(f"/conversations/{opened}/end", headers=butler)
    assert client.get(f"/conversations/{opened}", headers=butler).json()["state"] == "waiting"
    ingest(plain_context(here), user)
    guest = sharing.Subject(SubjectType.THIRD_PARTY, "guest")
    _, third = sharing.issue_key(here.database, claims, subject=guest)
    sharing.grant(here.database, claims, guest, user.root_node_id)
    for asker, seen in ((owner, [opened, str(mine)]), (butler, [opened]), (bearer(third), [])):
        listed = client.get("/conversations", headers=asker).json()["conversations"]
        assert [one["conversation_id"] for one in listed] == seen
    shown = client.get(f"/conversations/{opened}", headers=butler).json()
    assert (shown["state"], len(shown["record_ids"]), shown["persona_id"]) == ("stored", 1, str(persona))
    for asker in (butler, bearer(third)):
        denied = client.get(f"/conversations/{mine}", headers=asker)
        absent = client.get(f"/conversations/{persona}", headers=asker)
        assert assert_problem(denied, 404)["detail"] == assert_problem(absent, 404)["detail"]
    assert client.get(f"/events/{mine}", headers=owner).status_code == 404


def test_cursor_belongs_to_one_list(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    owner = bearer(issue_api_key(here.database, user.user_id))
    for _ in range(2):
        converse(here, claims, "Hello.")
    other, others = new_user(here)
    for _ in range(2):
        converse(here, others, "Hello.")
    stranger = bearer(issue_api_key(here.database, other.user_id))
    page = client.get("/conversations", headers=owner, params={"limit": 1}).json()
    good = page["next_cursor"]
    assert len(client.get("/conversations", headers=owner, params={"limit": 5, "cursor": good}).json()["conversations"])
    raw = bytearray(base64.urlsafe_b64decode(good + "=" * (-len(good) % 4)))
    raw[-2] ^= 1
    changed = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    problems = [
        client.get("/conversations", headers=owner, params={"cursor": changed}),
        client.get("/conversations", headers=owner, params={"cursor": "nonsense!"}),
        client.get("/conversations", headers=owner, params={"cursor": good, "state": "open"}),
        client.get("/events", headers=owner, params={"cursor": good}),
        client.get("/conversations", headers=stranger, params={"cursor": good}),
    ]
    details = {assert_problem(answer, 422)["detail"] for answer in problems}
    assert len(details) == 1
    assert "Start again without a cursor" in details.pop()


def by_ones(client: httpx.Client, headers: dict[str, str], kind: str, **params: Any) -> list[dict[str, Any]]:
    """Read a list in pages of one item."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = client.get(f"/{kind}", headers=headers, params={**params, "limit": 1, **cursor})
        assert answer.status_code == 200, answer.text
        found += answer.json()[kind]
        if answer.json()["next_cursor"] is None:
            return found
        cursor = {"cursor": answer.json()["next_cursor"]}


def tree_by_ones(client: httpx.Client, headers: dict[str, str]) -> list[list[str]]:
    """Read the tree in pages of one node. Return the names from below the root down to that node, in order of names."""
    lines: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get("/tree", headers=headers, params={"limit": 1, **cursor}).json()
        place, line = page, []
        while place["children"]:
            (place,) = place["children"]
            line.append(place["name"])
        lines.append(line)
        if page["next_cursor"] is None:
            whole = client.get("/tree", headers=headers).json()
            assert (whole["next_cursor"], len(lines[0])) == (None, 0)
            return sorted(lines[1:])
        cursor = {"cursor": page["next_cursor"]}


def test_nodes_and_records(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    owner = bearer(issue_api_key(here.database, user.user_id))
    for text in ("#Boats The keel needs bolts.", "#Boats/Masts The mast is of Oak.", "#Work A letter to Oslo."):
        converse(here, claims, text, external_id=text)
    ingest(plain_context(here), user)

    def listed(kind: str, **params: Any) -> list[dict[str, Any]]:
        return by_ones(client, owner, kind, **params)

    nodes = listed("nodes")
    assert sorted(node["path"] for node in nodes) == [
        user.slug,
        *(f"{user.slug}/{p}" for p in ("Boats", "Boats/Masts", "Work")),
    ]
    assert [node["depth"] for node in nodes] == [0, 1, 1, 2]
    (boats,) = listed("nodes", path="boats")
    assert listed("nodes", path=f"{user.slug}/Boats") == listed("nodes", name="BOATS") == [boats]
    assert [node["name"] for node in listed("nodes", parent_node_id=boats["node_id"])] == ["Masts"]
    assert listed("nodes", path="No/Such") == listed("nodes", name="\0") == []

    assert tree_by_ones(client, owner) == [["Boats"], ["Boats", "Masts"], ["Work"]]

    def titles(**params: Any) -> list[str]:
        return [record["title"] for record in listed("records", **params)]

    everything = listed("records")
    assert everything == sorted(everything, key=lambda one: one["created_at"], reverse=True)
    assert len({one["record_id"] for one in everything}) == 3
    assert set(titles(node_id=boats["node_id"])) == {"#Boats The keel needs bolts.", "#Boats/Masts The mast is of Oak."}
    assert titles(node_id=boats["node_id"], below=False) == ["#Boats The keel needs bolts."]
    letter = next(one for one in everything if "Oslo" in one["title"])
    assert (letter["node_path"], letter["topics"]) == (f"{user.slug}/Work", ["testing"])
    assert listed("records", source_id=letter["source_id"]) == [letter]
    assert titles(entity="oslo", topic="TESTING") == [letter["title"]]
    assert listed("records", content_type="event") == listed("records", superseded=True) == []
    assert len(listed("records", superseded=False, content_type="conversation")) == 3
    assert listed("records", created_after=letter["created_at"], entity="oslo") == [letter]
    assert listed("records", created_before=letter["created_at"], entity="oslo") == []
    assert len(listed("records", occurred_after="2025-01-01", occurred_before="2025-12-31")) == 3
    client.patch(f"/records/{letter['record_id']}", headers=owner, json={"topics": ["Ålesund"]})
    keel = next(one for one in everything if "keel" in one["title"])
    client.post(f"/records/{keel['record_id']}/supersede", headers=owner, json={"by": letter["record_id"]})
    assert titles(topic="ålesund") == [letter["title"]]
    assert titles(superseded=True) == titles(superseded=True, topic="testing") == [keel["title"]]
    assert len(titles(topic="testing")) == len(titles(superseded=False)) == 2
    assert_absent_for(client, bearer(issue_api_key(here.database, new_user(here)[0].user_id)), letter)


def assert_absent_for(client: httpx.Client, stranger: dict[str, str], record: dict[str, Any]) -> None:
    assert by_ones(client, stranger, "records") == []
    for name in ("node_id", "source_id"):
        denied = client.get("/records", headers=stranger, params={name: record[name]})
        absent = client.get("/records", headers=stranger, params={name: record["record_id"]})
        assert assert_problem(denied, 404)["detail"] == assert_problem(absent, 404)["detail"]
