"""Facts whose figures and names stand in the messages that they cite, and others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from neurigraph_pipelines.knowledge.grounding import Said
from neurigraph_pipelines.model import Message, Role
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.views.kinds import FactKind, StatedAs

SAID_AT = datetime(2025, 3, 4, 9, tzinfo=UTC)
SAID = ["We met Ana Ruiz in Porto yesterday.", "How much was it?", "The keel cost 1,200 euros.", "Fine.", "Nice hat."]


def messages() -> list[Message]:
    return [Message(n, Role.USER, text, 5, SAID_AT, "Bob") for n, text in enumerate(SAID, start=1)]


def fact(statement: str, first: int, last: int | None = None) -> ReadFact:
    return ReadFact(statement, first, last or first, "Bob", FactKind.EVENT, StatedAs.STATEMENT)


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        ("Bob met Ana Ruiz in Porto on 3 March 2025.", 1),
        ("Bob met Ana Ruiz in Porto on Monday, 2025-03-03.", 1),
        ("Bob's keel cost 1,200 euros.", 3),
        ("Yesterday Ana's visit cost nothing.", 2),
    ],
)
def test_what_was_said_is_grounded(statement: str, first: int) -> None:
    assert Said(messages()).grounds(fact(statement, first))


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        ("Bob met Ana Ruiz in Lisbon.", 1),
        ("The keel of Bob cost 1,300 euros.", 3),
        ("The keel cost 12 euros.", 3),
        ("The keel in Porto cost 1,200 euros.", 4),
        ("The keel of Bob cost 1,200 euros.", 1),
        ("They met Ana Ruiz at 9 in Porto.", 1),
    ],
)
def test_what_was_not_said_is_not(statement: str, first: int) -> None:
    assert not Said(messages()).grounds(fact(statement, first))


@pytest.mark.parametrize("role", [Role.TOOL, Role.SYSTEM])
def test_nothing_rests_on_tools_and_system_messages(role: Role) -> None:
    """What a search of ours returned is the result of a tool, too."""
    asked = Message(1, Role.USER, "When does the ferry to Faro leave?", 5, SAID_AT, "Bob")
    returned = Message(2, role, "The ferry to Faro leaves at 9.", 5, SAID_AT, None)
    told = Message(3, Role.ASSISTANT, "It leaves at 9, from Olhão.", 5, SAID_AT, None)
    ferry = "The ferry to Faro leaves at 9."
    assert not Said([asked, returned]).grounds(fact("The ferry leaves early.", 2))
    assert not Said([asked, returned]).grounds(fact(ferry, 1, 2)), "only the tool has said 9"
    assert Said([asked, returned, told]).grounds(fact(ferry, 2, 3)), "the assistant has said it, too"
