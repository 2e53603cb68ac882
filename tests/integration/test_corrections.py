"""Corrections of memories: what somebody writes in the place of a summary's words reaches answers and facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.ingestion.revision import Revision, revise
from neurigraph_pipelines.knowledge import fact_lists
from neurigraph_pipelines.knowledge.reading import read_again, read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.knowledge.undoing import undo
from neurigraph_pipelines.model import Claims, Statement
from neurigraph_pipelines.retrieval.ask import CHANGED, ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.transcript import quotable_text
from tests.support.agents import call_over_http, owners_key, text_of
from tests.support.api_calls import store
from tests.support.api_server import serving
from tests.support.memories import new_user
from tests.support.saying_model import SayingModel

OLD, NEW = "The user's passport expires on 9 March 2026.", "The user's passport now expires on 9 March 2036."
WHEN = "When does my passport expire?"


@pytest.fixture(scope="module")
def address(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as made:
        yield made


class Notes:
    """What an owner notes and corrects over HTTP."""

    def __init__(self, here: Installation, address: str) -> None:
        self.here, self.address = here, address
        self.user: User
        self.claims: Claims
        self.user, self.claims = new_user(here)
        self.key = owners_key(here, self.user)

    def call(self, method: str, path: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = httpx.request(method, f"{self.address}/v1/{path}", json=body, headers=headers, timeout=60)
        assert answer.is_success, answer.text
        return answer.json()

    def note(self, text: str) -> UUID:
        note = self.call("POST", "notes", content=text)
        store(self.here)
        (record_id,) = self.call("GET", f"notes/{note['note_id']}")["record_ids"]
        return UUID(record_id)

    def correct(self, record_id: UUID, summary: str) -> None:
        assert self.call("PATCH", f"records/{record_id}", summary=summary)["summary"] == summary

    def read_facts(self) -> None:
        context = self.here.context
        assert not read_waiting(context, user_id=self.user.user_id).failed
        assert not reconcile_waiting(context, user_id=self.user.user_id).failed

    def facts(self) -> dict[str, str]:
        found = fact_lists.list_facts(self.here.listing(self.claims, limit=100), fact_lists.FactFilter())
        return {one.statement: one.status for one in found.items}


@pytest.fixture
def notes(shared_installation: Installation, address: str) -> Notes:
    return Notes(shared_installation, address)


def test_an_answer_puts_the_correction_first(notes: Notes) -> None:
    record_id = notes.note("My passport expires on 9 March 2026.")
    before = notes.call("POST", "ask", query=WHEN)
    assert "2026" in before["answer"]
    notes.correct(record_id, NEW)
    reply = notes.call("POST", "ask", query=WHEN)
    first, second = reply["answer"].split("\n")
    assert first.startswith("Correction, ")
    assert first.endswith(f"{NEW} [1]")
    assert second.startswith("Before that, ")
    assert "expires on 9 March 2026. [2]" in second
    assert CHANGED in reply["notes"]
    assert [one["text"] for one in reply["citations"]] == [NEW, "My passport expires on 9 March 2026."]
    agent = text_of(call_over_http(notes.address, notes.key, "get_context", query=WHEN, answer=True))
    assert agent.index("now expires on 9 March 2036") < agent.index("expires on 9 March 2026")


def test_a_model_is_told_what_was_corrected(notes: Notes) -> None:
    notes.correct(notes.note("My passport expires on 9 March 2026."), NEW)
    stale = "Your passport expires on 9 March 2026."
    for statements, expected in (
        ([Statement(stale, (2,))], [NEW, f"Before that, {stale} [2]"]),
        (
            [Statement(stale, (2,)), Statement("It was renewed.", (1,))],
            ["It was renewed. [1]", f"Before that, {stale}"],
        ),
        ([Statement("In 2036, not in 2026.", (1, 2))], ["In 2036, not in 2026. [1][2]"]),
    ):
        model = SayingModel(*statements)
        reply = ask(notes.here.context.using(language_model=model).acting_for(notes.claims), Question(WHEN))
        correction, said = model.given
        assert (correction.text, correction.is_correction, said.is_correction) == (NEW, True, False)
        assert "Correction [correction]" in quotable_text(model.given)
        lines = reply.answer.split("\n")
        assert len(lines) == len(expected)
        assert all(part in line for part, line in zip(expected, lines, strict=True)), lines


def test_other_words_of_a_revised_memory_stand(notes: Notes) -> None:
    record_id = notes.note("My passport expires on 9 March 2026. The green suitcase lies in the attic.")
    summary = notes.call("GET", f"records/{record_id}")["summary"]
    assert "2026" in summary
    notes.correct(record_id, summary.replace("March 2026", "March 2036"))
    told = notes.call("POST", "ask", query="Where is the green suitcase?")["answer"]
    first, second = told.split("\n")
    assert "attic" in first
    assert second.startswith("Correction, ")
    assert notes.call("POST", "ask", query=WHEN)["answer"].startswith("Correction, ")


def test_facts_of_corrected_words_are_superseded(notes: Notes) -> None:
    record_id = notes.note("My passport expires on 9 March 2026.")
    notes.read_facts()
    assert notes.facts() == {OLD: "active"}
    notes.correct(record_id, NEW)
    notes.read_facts()
    assert notes.facts() == {OLD: "superseded", NEW: "active"}
    newest = NEW.replace("2036", "2037")
    notes.correct(record_id, newest)
    notes.read_facts()
    expected = {OLD: "superseded", NEW: "superseded", newest: "active"}
    assert notes.facts() == expected
    assert not read_again(notes.here.context, [record_id]).failed
    notes.read_facts()
    assert notes.facts() == expected, "reading again brings no old words back"
    superseded = [one for one in notes.call("POST", "ask", query=WHEN)["notes"] if one.startswith("Superseded: ")]
    assert [OLD.rstrip(".") in one for one in superseded].count(True) == 1


def test_a_correction_before_the_facts_are_read_counts(notes: Notes) -> None:
    notes.correct(notes.note("My passport expires on 9 March 2026."), NEW)
    notes.read_facts()
    assert notes.facts() == {OLD: "superseded", NEW: "active"}


def test_an_owner_takes_the_effect_of_a_correction_back(notes: Notes) -> None:
    record_id = notes.note("My passport expires on 9 March 2026.")
    notes.correct(record_id, NEW)
    notes.read_facts()
    owner = notes.here.context.acting_for(notes.claims)
    found = fact_lists.list_facts(notes.here.listing(notes.claims, limit=100), fact_lists.FactFilter())
    undo(owner, next(one.fact_id for one in found.items if one.statement == OLD))
    revise(owner, record_id, Revision(summary=f"{NEW} It is blue."))
    notes.read_facts()
    assert notes.facts()[OLD] == "active"


def test_a_corrected_value_takes_the_place_of_the_old_one_in_doubts(notes: Notes) -> None:
    code, when = "The gate code of the workshop is {}.", "What is the gate code of the workshop?"
    first = notes.note(code.format(4711))
    second = notes.note(code.format(9922))
    notes.read_facts()
    notes.correct(second, code.format(9923))
    for _ in range(2):  # before and after the facts are read again
        reply = notes.call("POST", "ask", query=when)
        lines = [re.sub(r"^(\w+).*(\d{4}).*$", r"\1 \2", line) for line in reply["answer"].split("\n")]
        assert lines == ["Correction 9923", "Before 9922", "Before 4711"]
        (doubt,) = [one for one in reply["notes"] if one.startswith("Perhaps outdated")]
        assert ("4711" in doubt, "9922" in doubt, "9923" in doubt) == (True, False, True)
        notes.read_facts()
    (asked,) = [one for one in notes.call("GET", "actions")["actions"] if one["kind"] == "supersede"]
    notes.correct(first, code.format(4712))
    notes.read_facts()
    (again,) = [one for one in notes.call("GET", "actions")["actions"] if one["kind"] == "supersede"]
    assert asked["action_id"] != again["action_id"]
    notes.correct(first, "The gate code of the house is 4712.")
    notes.read_facts()
    assert not [one for one in notes.call("GET", "actions")["actions"] if one["kind"] == "supersede"]
    assert not [one for one in notes.call("POST", "ask", query=when)["notes"] if one.startswith("Perhaps")]
