"""What is known of one space is no trace in another: links, beliefs, paths, counts, versions, digests and actions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.access import spaces
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.knowledge.digesting import digest_of_records
from neurigraph_pipelines.knowledge.linking import state_link
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.views.kinds import ActionKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.told_people import People

SECRET, GARDEN, KITCHEN = "zanzibar", "garden", "kitchen"
_TABLES = ("facts", "links", "fact_verdicts", "digests", "digest_records", "actions", "mentions", "record_index")


class Spaces:
    """A graph with two memories in the garden; what is learned in the kitchen has to do with each of their facts."""

    def __init__(self, here: Installation, url: str) -> None:
        self.people = People(here)
        self.owner: Claims = self.people.claims
        self.bound = self.owner.within([GARDEN])
        added = (
            spaces.add_space(here.acting_for(self.owner), GARDEN),
            spaces.add_space(here.acting_for(self.owner), KITCHEN),
        )
        self.spaces = {one.container_tag: one.space_id for one in added}
        self.shown = [self.tell(GARDEN, "Ana lives in Porto.", 1), self.tell(GARDEN, "Ana has two dogs.", 2)]
        self.context = here.acting_for(self.owner)
        self.link = state_link(
            self.context, StatedLink(LinkEnd.fact(self.fact(1)), LinkEnd.fact(self.fact(0)), "supports")
        ).link_id
        self.url = url
        self.owners = issue_api_key(here.database, self.owner.user_id)
        issued = httpx.post(
            f"{url}/v1/keys",
            json={"label": "app", "container_tags": [GARDEN]},
            headers={"Authorization": f"Bearer {self.owners}"},
        )
        self.key: str = issued.json()["api_key"]

    def tell(self, tag: str, statement: str, day: int) -> tuple[UUID, UUID]:
        """Store a memory in a space, with a fact; return the ids of both."""
        source, record = self.people.record()
        spaces.add_sources(self.people.here.database, self.owner, self.spaces[tag], [source])
        return record, self.people.tell(record, statement, day)

    def fact(self, number: int) -> UUID:
        return self.shown[number][1]

    def learn(self) -> list[UUID]:
        """Learn in the kitchen what supersedes, repeats, rests on and is linked with what the garden has."""
        here = self.people.here
        moved = self.tell(KITCHEN, "Ana now lives in Zanzibar.", 30)
        again = self.tell(KITCHEN, "Ana has two dogs.", 31)
        secret = self.tell(KITCHEN, "Ana owns a villa in Zanzibar.", 32)
        assert self.people.reconcile().superseded == 1
        for start, relation, end in (
            (secret[1], "caused_by", self.fact(0)), (self.fact(1), "influenced_by", secret[1]),
            (again[1], "elaborates", self.fact(1)),
        ):  # fmt: skip
            state_link(self.context, StatedLink(LinkEnd.fact(start), LinkEnd.fact(end), relation))
        digest_of_records(self.context, [self.shown[0][0], secret[0]])
        doubt = Doubt(
            ActionKind.RESOLVE, self.owner.user_id, "contradiction", "belief", fact_id=secret[1],
            other_fact_id=self.fact(1),
        )  # fmt: skip
        with here.database.pipeline() as tx:
            propose(tx, doubt)
        return [*moved, *again, *secret]

    def seen_over_http(self, key: str) -> dict[str, tuple[int, Any]]:
        """Everything that a key is answered about the garden and about secrets, without times of the server."""
        records, facts = zip(*self.shown, strict=True)
        node = self.people.rows("SELECT node_id FROM neurigraph.record_index WHERE user_id = %s LIMIT 1")[0]["node_id"]
        asked: list[tuple[str, str, dict[str, Any] | None]] = [
            ("GET", "/v1/facts", None), ("GET", "/v1/digests", None), ("GET", f"/v1/digests?node_id={node}", None),
            ("GET", "/v1/actions?all=true", None), ("GET", f"/v1/facts?node_id={node}", None),
            ("GET", "/v1/tree", None), ("GET", f"/v1/links/{self.link}", None),
            ("POST", "/v1/duplicates", {"text": "Ana owns a villa in Zanzibar."}),
            ("POST", "/v1/duplicates", {"text": "Ana has two dogs."}),
            *(("GET", f"/v1/facts/{one}{more}", None)
              for one in facts for more in ("", "/links", "/links?computed=true", "/belief", "/history")),
            *(("GET", f"/v1/records/{one}/{more}", None) for one in records for more in ("facts", "links")),
            *(("GET", f"/v1/digests?record_id={one}", None) for one in records),
            *(("POST", "/v1/facts/query", {"fact_id": str(one), "kind": kind, "include_graph": True})
              for one in facts for kind in ("why", "changed", "connected")),
            ("POST", "/v1/facts/query", {"query": "Ana", "kind": "about", "include_graph": True}),
            ("POST", "/v1/facts/query", {"query": SECRET, "kind": "search"}),
            ("POST", "/v1/search", {"query": "Where does Ana live?", "include": ["facts"]}),
            ("POST", "/v1/ask", {"query": "Where does Ana live?"}),
        ]  # fmt: skip
        with httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
            answers = [(f"{verb} {path} {body}", client.request(verb, path, json=body)) for verb, path, body in asked]
        return {name: (answer.status_code, _without_times(answer.json())) for name, answer in answers}

    def rows_seen(self, claims: Claims) -> dict[str, list[str]]:
        """The rows of the tables that SQL with these claims sees."""
        with self.people.here.database.agent(claims) as tx:
            return {
                table: sorted(repr(row) for row in tx.execute(f"SELECT * FROM neurigraph.{table}").fetchall())
                for table in _TABLES
            }


@pytest.fixture
def told(installation: Installation) -> Iterator[Spaces]:
    with serving(installation) as url:
        yield Spaces(installation, url)


def test_another_space_leaves_no_trace(told: Spaces) -> None:
    before, rows_before = told.seen_over_http(told.key), told.rows_seen(told.bound)
    owners, rows_of_owner = told.seen_over_http(told.owners), told.rows_seen(told.owner)
    secrets = told.learn()
    after, rows_after = told.seen_over_http(told.key), told.rows_seen(told.bound)
    for name, answer in before.items():
        assert after[name] == answer, name
    assert [name for name, (status, _) in before.items() if status != 200] == []
    assert SECRET not in repr([answer for name, answer in after.items() if "villa" not in name]).lower()
    assert not any(str(secret) in repr(after) for secret in secrets)
    # The owner's answers about the same things all differ, so that each of them could have told.
    now = told.seen_over_http(told.owners)
    told_something = {name for name, answer in now.items() if answer != owners[name]}
    assert {name.split("/")[2].split("?")[0].split(" ")[0] for name in told_something} >= {
        "facts", "digests", "actions", "duplicates", "records", "search", "tree",
    }  # fmt: skip
    assert SECRET in repr(now).lower()
    assert rows_after == rows_before
    grown = told.rows_seen(told.owner)
    assert {table for table in _TABLES if grown[table] != rows_of_owner[table]} >= set(_TABLES) - {"mentions"}


def _without_times(answer: Any) -> Any:
    """Return an answer without what differs from call to call."""
    if isinstance(answer, dict):
        left = {"took_ms", "retrieval_id", "search_id", "asked_at", "timings"}
        return {name: _without_times(value) for name, value in answer.items() if name not in left}
    return [_without_times(one) for one in answer] if isinstance(answer, list) else answer
