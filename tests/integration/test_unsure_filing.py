"""Memories that are filed above two places because the offline model is unsure, until a person decides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.ingestion.filing_again import file_again
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import owners_key
from tests.support.api_calls import store
from tests.support.api_server import serving
from tests.support.command_line import describe
from tests.support.memories import new_user

BANK = "Trout on the bank at dusk."
AGAIN = "At dusk, trout on the bank again."


@pytest.fixture(scope="module")
def address(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as made:
        yield made


class Owner:
    """An owner with a node about fishing and one about a bank, over HTTP."""

    def __init__(self, here: Installation, address: str) -> None:
        self.here, self.address = here, address
        self.user: User
        self.user, claims = new_user(here)
        self.claims = claims
        self.key = owners_key(here, self.user)
        self.note("Trout rods at the lake.", path="Hobbies/Fishing")
        self.note("The bank account costs 5 euros a month.", path="Finance/Bank")

    def call(self, method: str, address: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = httpx.request(method, f"{self.address}/v1/{address}", json=body or None, headers=headers, timeout=60)
        assert answer.is_success, answer.text
        return answer.json()

    def note(self, text: str, **more: Any) -> str:
        note = self.call("POST", "notes", content=text, **more)
        store(self.here)
        (record_id,) = self.call("GET", f"notes/{note['note_id']}")["record_ids"]
        return str(record_id)

    def path(self, record_id: str) -> str:
        return str(self.call("GET", f"records/{record_id}")["node_path"]).removeprefix(self.user.slug).lstrip("/")

    def waiting(self) -> list[Any]:
        found = self.call("GET", "actions?kind=move")["actions"]
        assert {one["reason"] for one in found} <= {"unsure"}
        return list(found)

    def vote(self, **body: Any) -> Any:
        (action,) = self.waiting()
        return self.call("POST", f"actions/{action['action_id']}/votes", **body)


@pytest.fixture
def owner(shared_installation: Installation, address: str) -> Owner:
    return Owner(shared_installation, address)


def test_one_decision_moves_it_and_the_next_like_it_goes_there(owner: Owner) -> None:
    record_id = owner.note(BANK)
    assert owner.path(record_id) == ""
    (action,) = owner.waiting()
    places = [place.removeprefix(f"{owner.user.slug}/") for place in action["places"]]
    assert sorted(places) == ["Finance/Bank", "Hobbies/Fishing"]
    done = owner.vote(approves=True, second=places[1] == "Hobbies/Fishing")
    assert (done["state"], owner.path(record_id)) == ("executed", "Hobbies/Fishing")
    assert owner.path(owner.note(AGAIN)) == "Hobbies/Fishing"
    assert owner.waiting() == []


@pytest.mark.parametrize(
    "text", ["Sow the tomatoes in March.", "The blue folder has the old letters.", "Marta mag Oliven."]
)
def test_a_note_without_a_clue_waits_with_two_proposals(owner: Owner, text: str) -> None:
    assert owner.path(owner.note(text)) == ""
    (action,) = owner.waiting()
    assert len(set(action["places"])) == 2


def test_what_is_left_or_moved_by_hand_waits_no_more(owner: Owner) -> None:
    left = owner.note(BANK)
    assert owner.vote(approves=False)["state"] == "rejected"
    assert owner.path(left) == ""
    moved = owner.note(AGAIN)
    (action,) = owner.waiting()
    bank = owner.call("GET", "nodes?name=Bank")["nodes"][0]["node_id"]
    owner.call("POST", "records/move", record_ids=[moved], node_id=bank)
    assert (owner.path(moved), owner.waiting()) == ("Finance/Bank", [])
    assert owner.call("GET", f"actions/{action['action_id']}")["state"] == "rejected"


def test_a_command_moves_it_to_an_area_that_has_no_node_yet(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record_id = owner.note("The gate code of the workshop is 9922.")
    describe(owner.here.settings, monkeypatch)
    assert owner.path(record_id) == ""
    (action,) = owner.waiting()
    assert action["places"] == ["Home", "Business"]
    assert entry.run(["action", "list", "--user", owner.user.slug]) == 0
    assert "Home, Business" in capsys.readouterr().out
    command = ["action", "approve", action["action_id"], "--second", "--user", owner.user.slug, "--json"]
    assert entry.run(command) == 0
    assert json.loads(capsys.readouterr().out)["places"] == ["Business", "Home"]
    assert owner.path(record_id) == "Business"


def test_proposal_outlives_filing_again(owner: Owner) -> None:
    record_id = owner.note(BANK)
    end = datetime.now(UTC) + timedelta(days=1)
    done = file_again(owner.here.context, None, end, owner.user.user_id)
    assert (done.stayed, done.moved, done.failed) == (1, [], [])
    assert (owner.vote(approves=True)["state"], owner.path(record_id) != "") == ("executed", True)
