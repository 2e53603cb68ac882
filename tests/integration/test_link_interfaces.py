"""Links over HTTP and on the command line: stating, listing from both ends, deciding, ending and signing them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.knowledge.signing import ending_bytes, statement_bytes
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.cli_runs import ask, run
from tests.support.command_line import environment
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import inferred, link, plant_fact

SINCE = datetime(2026, 5, 1, tzinfo=UTC)


class Story:
    """A graph with two memories of one fact each, and its owner's client."""

    def __init__(self, here: Installation, address: str) -> None:
        self.graph: Graph = new_graph(here)
        self.records = self.graph.remember("#Work/Office It was too small.", "#Work/Move We moved.")
        self.small = plant_fact(here, self.records[0], "The office was small.")
        self.moved = plant_fact(here, self.records[1], "We moved.")
        key = issue_api_key(here.database, self.graph.user.user_id)
        headers = {"Authorization": f"Bearer {key}"}
        self.client = httpx.Client(base_url=address, timeout=60.0, headers=headers)

    def ask(self, method: str, path: str, body: Any = None, status: int = 200, key: str | None = None) -> Any:
        headers = {"Idempotency-Key": key} if key is not None else {}
        answer = self.client.request(method, f"/v1/{path}", json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def links(self, of: str, **filters: Any) -> list[dict[str, Any]]:
        answer = self.client.get(f"/v1/{of}/links", params=filters)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["links"]
        return found


@pytest.fixture(scope="module")
def address(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as found:
        yield found


@pytest.fixture
def story(shared_installation: Installation, address: str) -> Iterator[Story]:
    made = Story(shared_installation, address)
    with made.client:
        yield made


def test_links_read_from_both_ends(story: Story) -> None:
    body = {"from_fact_id": str(story.small), "relation": "led_to", "to_fact_id": str(story.moved), "reason": "So Ana."}
    made = story.ask("POST", "links", body, 201)
    assert story.ask("POST", "links", body) == {"link_id": made["link_id"], "created": False}
    (out,) = story.links(f"facts/{story.moved}")
    assert (out["relation"], out["forward"], out["direction"]) == ("caused_by", "was caused by", "out")
    assert (out["to_kind"], out["to_id"], out["to_text"]) == ("fact", str(story.small), "The office was small.")
    assert (out["reason"], out["attest"], out["verdict"], out["computed_from"]) == (
        "So Ana.", "unsigned", "unverified", None,
    )  # fmt: skip
    assert out["observed_by"] == f"user:{story.graph.user.user_id}"
    (back,) = story.links(f"facts/{story.small}")
    assert back == out | {"direction": "in"}
    assert back["backward"] == "led to"
    assert story.links(f"records/{story.records[0]}") == [back]
    assert story.links(f"facts/{story.small}", relation="supports") == []
    assert story.ask("GET", f"links/{made['link_id']}") == out
    (again,) = story.links(f"records/{story.records[1]}")
    assert again == out


def test_relations_of_the_users_own(story: Story) -> None:
    """A relation that is none of the known ones reads as its name, and is followed from fact to fact."""
    start, end = str(story.moved), str(story.small)
    story.ask("POST", "links", {"from_fact_id": start, "relation": "annoys_more_than", "to_fact_id": end}, 201)
    story.ask("POST", "links", {"from_fact_id": end, "relation": "annoys_more_than", "to_fact_id": start}, 201)
    found = story.links(f"facts/{start}", relation="annoys_more_than")
    assert [(one["direction"], one["forward"], one["backward"]) for one in found] == [
        ("in", "annoys more than", "← annoys more than"),
        ("out", "annoys more than", "← annoys more than"),
    ]
    asked = {"fact_id": start, "relations": ["annoys_more_than"]}
    (related,) = story.ask("POST", "facts/query", asked)["related"]
    assert (related["fact"]["fact_id"], related["links"][0]["relation"]) == (end, "annoys_more_than")
    assert "annoys more than" in related["path_description"]
    assert story.ask("POST", "facts/query", asked | {"relations": ["resolves"]})["related"] == []


def test_pages_of_links(story: Story) -> None:
    here, user = story.graph.here, story.graph.user.user_id
    relations = ("supports", "contradicts", "elaborates", "depends_on", "part_of")
    made = link(here, user, *(inferred(story.moved, story.small, one) for one in relations))
    found, cursor = [], None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = story.client.get(f"/v1/facts/{story.small}/links", params=params).json()
        found += [one["link_id"] for one in page["links"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert found == [str(one) for one in reversed(made)]


def test_people_decide_and_end(story: Story) -> None:
    (made,) = link(story.graph.here, story.graph.user.user_id, inferred(story.moved, story.small, "supports"))
    listed = f"facts/{story.moved}"
    assert story.ask("POST", f"links/{made}/confirm")["verdict"] == "confirmed"
    rejected = story.ask("POST", f"links/{made}/reject")
    assert (rejected["verdict"], rejected["verdict_by"]) == ("rejected", f"user:{story.graph.user.user_id}")
    assert (story.links(listed), len(story.links(listed, all=True))) == ([], 1)
    assert story.ask("POST", f"links/{made}/confirm")["verdict"] == "confirmed"
    ended = story.ask("POST", f"links/{made}/end", {"valid_until": "2026-06-01T00:00:00Z"}, key="ended")
    assert ended["valid_until"] == "2026-06-01T00:00:00Z"
    assert story.ask("POST", f"links/{made}/end", {"valid_until": "2026-06-01T00:00:00Z"}, key="ended") == ended
    story.ask("POST", f"links/{made}/end", {}, 409)
    assert (story.links(listed), len(story.links(listed, all=True))) == ([], 1)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"relation": "talks with"}, 422),
        ({"relation": "supersedes"}, 422),
        ({"to_record_id": "record"}, 422),
        ({"to_fact_id": None}, 422),
        ({"strength": 2}, 422),
        ({"to_fact_id": "00000000-0000-4000-8000-000000000000"}, 404),
        ({"signature": {"signing_key_id": "00000000-0000-4000-8000-000000000000", "value": "eA=="}}, 404),
        ({}, 201),
    ],
)
def test_refused_links(story: Story, change: dict[str, Any], status: int) -> None:
    body = {"from_fact_id": str(story.moved), "relation": "supports", "to_fact_id": str(story.small)} | change
    if "to_record_id" in change:
        body["to_record_id"] = str(story.records[0])
    answer = story.client.post("/v1/links", json=body)
    assert answer.status_code == status, answer.text
    if status != 201:
        assert_problem(answer, status)


def test_signed_links(story: Story) -> None:
    private, observer = Ed25519PrivateKey.generate(), f"user:{story.graph.user.user_id}"
    key = story.ask("POST", "signing-keys", {"public_key": _public(private)}, 201)
    assert (key["holder"], key["public_key"]) == (observer, _public(private))
    story.ask("POST", "signing-keys", {"public_key": _public(private)}, 409)
    ends = f"fact:{story.moved}", f"record:{story.records[0]}"
    said = statement_bytes(*ends, "supports", observer, SINCE)
    body = {
        "from_fact_id": str(story.moved), "relation": "supports", "to_record_id": str(story.records[0]),
        "valid_from": SINCE.isoformat(), "signature": _signed(key, private, said),
    }  # fmt: skip
    right = private.sign(said)
    flipped = base64.b64encode(right[:-1] + bytes([right[-1] ^ 1])).decode()
    story.ask("POST", "links", body | {"signature": body["signature"] | {"value": flipped}}, 422)  # type: ignore[operator]
    made = story.ask("POST", "links", body, 201)["link_id"]
    assert story.ask("GET", f"links/{made}")["attest"] == "self"
    until = datetime(2026, 7, 1, tzinfo=UTC)
    ending = _signed(key, private, ending_bytes(said, observer, until))
    ended = story.ask("POST", f"links/{made}/end", {"valid_until": until.isoformat(), "signature": ending})
    assert (ended["attest"], ended["end_attest"]) == ("self", "self")

    # A row that was changed behind the back of its observer counts as unsigned.
    change = "UPDATE neurigraph.links SET relation = %s WHERE link_id = %s"
    for relation, attest in (("elaborates", "unsigned"), ("supports", "self")):
        with story.graph.here.database.pipeline() as tx:
            tx.execute(change, [relation, made])
        assert [story.ask("GET", f"links/{made}")[name] for name in ("attest", "end_attest")] == [attest] * 2

    newer = Ed25519PrivateKey.generate()
    path = f"signing-keys/{key['signing_key_id']}"
    # A rotation whose new key cannot be registered leaves the old one as it is.
    story.ask("POST", f"{path}/rotate", {"public_key": _public(private)}, 409)
    assert [one["rotated_at"] for one in story.ask("GET", "signing-keys")["signing_keys"]] == [None]
    rotated = story.ask("POST", f"{path}/rotate", {"public_key": _public(newer)}, 201)
    assert story.ask("GET", "signing-keys")["signing_keys"] == [rotated]
    assert len(story.ask("GET", "signing-keys?all=true")["signing_keys"]) == 2
    assert story.ask("GET", f"links/{made}")["attest"] == "self"
    story.ask("POST", f"{path}/rotate", {"public_key": _public(Ed25519PrivateKey.generate())}, 409)
    assert story.ask("DELETE", path)["revoked_at"] is not None
    assert [story.ask("GET", f"links/{made}")[name] for name in ("attest", "end_attest")] == ["unsigned"] * 2
    story.ask("POST", "signing-keys", {"public_key": _public(Ed25519PrivateKey.generate()), "peer": "no spaces"}, 422)
    peer = story.ask("POST", "signing-keys", {"public_key": _public(Ed25519PrivateKey.generate()), "peer": "lab"}, 201)
    assert peer["holder"] == "peer:lab"


def test_links_signed_on_the_command_line(story: Story, tmp_path: Path) -> None:
    env, user = environment(story.graph.here.settings), ("--user", story.graph.user.slug)
    private, file, other = Ed25519PrivateKey.generate(), tmp_path / "key.pem", tmp_path / "other.pem"
    file.write_bytes(_pem(private))
    other.write_bytes(_pem(X25519PrivateKey.generate()))
    said = f"fact:{story.moved}", "led_to", f"fact:{story.small}", "--valid-from", "2026-05-01", "--key"
    run(env, "fact", "link", "add", *said, file, *user, code=3)  # its public half is not registered
    key = ask(env, "fact", "link", "key", "add", _public(private), *user)["signing_key_id"]
    run(env, "fact", "link", "add", *said, other, *user, code=2)
    wrong = run(env, "fact", "link", "add", "node:Family", "led_to", f"fact:{story.small}", *user, code=2).stderr
    assert "'node:Family' is no end of a link: give one of fact:ID, record:ID" in wrong
    made = ask(env, "fact", "link", "add", *said, file, *user)["link_id"]
    assert ask(env, "fact", "link", "show", made, *user)["attest"] == "self"
    run(env, "fact", "link", "end", made, "--key", file, *user)
    shown = ask(env, "fact", "link", "show", made, *user)
    assert (shown["attest"], shown["end_attest"]) == ("self", "self")
    run(env, "fact", "link", "key", "remove", key, *user)
    run(
        env,
        "fact",
        "link",
        "add",
        f"fact:{story.moved}",
        "supports",
        f"fact:{story.small}",
        "--key",
        file,
        *user,
        code=3,
    )


def _pem(private: Ed25519PrivateKey | X25519PrivateKey) -> bytes:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public(private: Ed25519PrivateKey) -> str:
    return base64.b64encode(private.public_key().public_bytes_raw()).decode()


def _signed(key: dict[str, Any], private: Ed25519PrivateKey, message: bytes) -> dict[str, str]:
    value = base64.b64encode(private.sign(message)).decode()
    return {"signing_key_id": key["signing_key_id"], "value": value}
