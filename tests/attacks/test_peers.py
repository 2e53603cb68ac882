"""Attacks between peers: repeated answers, changed files, lines that are cut within an answer, and stolen keys."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.exchange.peers import conversation, subscriptions
from neurigraph_pipelines.exchange.peers.granted_rows import MAX_STREAM_BYTES
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.model import Privacy, SubjectType
from neurigraph_pipelines.model.errors import ProviderError, TransientError
from neurigraph_pipelines.wiring.installation import Installation
from resources.peer_client import HttpPeerClient
from tests.support.lying_publisher import LyingPublisher, lying_publisher
from tests.support.memories import converse, ingest, plain_context
from tests.support.peers import GRANTED, THIRD_PARTY, Pair, mirrored, new_pair, offered
from tests.support.webhook_receiver import Behaviour, WebhookReceiver

pytestmark = pytest.mark.attack


@pytest.fixture
def pair(shared_installation: Installation, installation: Installation) -> Iterator[Pair]:
    with new_pair(shared_installation, installation) as made:
        yield made


def calling(pair: Pair, key: str) -> httpx.Client:
    return httpx.Client(base_url=pair.address, headers={"Authorization": f"Bearer {key}"}, timeout=60.0)


@pytest.fixture
def line(pair: Pair) -> Iterator[LyingPublisher]:
    """The line to the publisher, over which all pulls go."""
    with lying_publisher(pair.address) as server:
        pair.move_publisher(server.address)
        yield server


def remember(pair: Pair, text: str) -> UUID:
    source_id = converse(pair.publisher.installation, pair.publisher.owners, text)
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    return source_id


def test_repeated_answers_change_nothing(pair: Pair, line: LyingPublisher) -> None:
    pair.pull()
    old = {answer.path: answer for answer in line.answers}
    remember(pair, f"#{GRANTED} Dave bought a canoe.")
    pair.pull()
    pair.check_equal()
    line.alter = lambda answer: old.get(answer.path, answer)  # each was signed by the publisher, for another request
    with pytest.raises(ProviderError):
        pair.pull()
    pair.check_equal()


def test_changed_files_are_not_kept(pair: Pair, line: LyingPublisher) -> None:
    line.alter = lambda answer: replace(answer, body=answer.body[::-1]) if "/records" in answer.path else answer
    with pytest.raises(ProviderError):
        pair.pull()
    assert any("/records" in answer.path for answer in line.answers)
    assert list(mirrored(pair).values()) == [[]]
    line.alter = lambda answer: answer
    pair.pull()
    pair.check_equal()
    pair.check_whole()


def test_endless_streams_are_not_read_to_their_end(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(conversation, "MAX_STREAM_BYTES", 100)
        with pytest.raises(ProviderError, match="more than 100 bytes"):
            pair.pull()
    assert list(mirrored(pair).values()) == [[]]
    pair.pull()
    pair.check_equal()


@pytest.mark.parametrize("fault", ["stall", "drip", "drip_body"])
def test_slow_publishers_get_no_time_for_what_they_might_send(fault: Behaviour) -> None:
    """Other peers wait behind this one."""
    client, began = HttpPeerClient((), ("127.0.0.1",), 1.0), time.monotonic()
    with (
        WebhookReceiver(fault) as receiver,
        TemporaryFile() as file,
        pytest.raises(TransientError, match="in time"),
    ):
        client.ask("POST", receiver.url, {}, b"{}", MAX_STREAM_BYTES, file)
    assert time.monotonic() - began < 10, "that would be three minutes"


def test_pull_that_waited_too_long_goes_on_next_time(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(conversation, "MAX_SECONDS", 0.0)
        with pytest.raises(TransientError, match="the next one goes on"):
            pair.pull()
    (peer,) = subscriptions.list_peers(pair.here.database, pair.claims)
    assert peer.tried_at is not None, "others come before it now"
    pair.pull()
    pair.check_equal()


def test_lines_are_cut_everywhere(pair: Pair, line: LyingPublisher) -> None:
    for number in range(3):
        remember(pair, f"#{GRANTED} Dave sails tour {number}.")
    for request in range(20):
        before = len(line.answers)
        line.alter = lambda answer, last=before + request: (  # type: ignore[misc]
            answer.cut(len(answer.body) // 2) if len(line.answers) > last else answer
        )
        try:
            pair.pull()
        except TransientError:
            pair.check_whole()
        else:
            break
    assert request >= 3
    pair.check_equal()
    pair.check_whole()


WRITES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "note": ("POST", "/v1/notes", {"content": "Planted."}),
    "grant": ("POST", "/v1/grants", {"third_party": "eve", "node_id": "NODE"}),
    "key": ("POST", "/v1/keys", {"label": "eve"}),
    "rename": ("PATCH", "/v1/nodes/NODE", {"name": "Planted"}),
    "move": ("POST", "/v1/records/RECORD/move", {"node_id": "ELSEWHERE"}),
    "quarantine": ("POST", "/v1/quarantines", {"source_id": "SOURCE", "reason": "planted"}),
    "forget": ("DELETE", "/v1/records/RECORD", {}),
}


def write(client: httpx.Client, name: str, ids: dict[str, UUID]) -> int:
    """Make one of the calls that change something, and return its status."""
    text = json.dumps(WRITES[name])
    for placeholder, value in ids.items():
        text = text.replace(placeholder, str(value))
    method, path, body = json.loads(text)
    return client.request(method, path, json=body or None).status_code


def test_stolen_key_reads_what_is_granted_and_no_more(pair: Pair) -> None:
    hidden = remember(pair, f"#{GRANTED} Dave hides the quagga.")
    set_privacy(pair.publisher.installation.database, pair.publisher.owners, hidden, Privacy.PRIVATE)
    before, nonce = offered(pair), {"nonce": "0" * 32}
    ids = {
        "NODE": pair.publisher.node(GRANTED),
        "ELSEWHERE": pair.publisher.node("Work/Marketing"),
        "RECORD": pair.publisher.record_of(GRANTED)[0],
        "SOURCE": hidden,
    }
    with calling(pair, pair.key) as thief, calling(pair, pair.publisher.key()) as owner:
        (node,) = thief.get("/v1/mirror", params=nonce).json()["nodes"]
        assert node["node_id"] == str(ids["NODE"])
        asked = {"query": "quagga campaign"}
        for word in ("quagga", "campaign"):
            assert word in owner.post("/v1/search", json=asked).text
            for answer in (thief.post("/v1/search", json=asked), thief.get("/v1/records"), thief.get("/v1/tree")):
                assert answer.status_code == 200
                assert word not in answer.text
        assert thief.get(f"/v1/mirror/nodes/{ids['ELSEWHERE']}", params=nonce).status_code == 404
        assert {write(thief, name, ids) for name in WRITES} <= {403, 404}
        assert offered(pair) == before
        assert [name for name in WRITES if write(owner, name, ids) >= 300] == []


def test_stolen_key_ends_with_the_next_request(pair: Pair) -> None:
    with calling(pair, pair.key) as thief:
        calls = [("GET", "/v1/mirror?nonce=" + "0" * 32), ("GET", "/v1/records"), ("POST", "/v1/search")]
        bodies = [None, None, {"query": "Dave"}]
        ask = [thief.build_request(*call, json=body) for call, body in zip(calls, bodies, strict=True)]
        assert {thief.send(request).status_code for request in ask} == {200}
        with pair.publisher.installation.database.agent(pair.publisher.owners) as tx:
            tx.execute("UPDATE neurigraph.api_keys SET revoked_at = now() WHERE subject_id = %s", [THIRD_PARTY])
        assert {thief.send(request).status_code for request in ask} == {401}
    # The peer goes on with another key of the same grants.
    another = pair.publisher.key(Subject(SubjectType.THIRD_PARTY, THIRD_PARTY))
    subscriptions.give_key(pair.acting, "Laptop", another)
    pair.pull()
    pair.check_equal()
