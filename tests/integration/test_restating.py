"""What an answer says of a conversation that says the same again and again."""

from __future__ import annotations

from neurigraph_pipelines.model.errors import ProviderError
from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_ask import Memory
from tests.support.saying_model import SayingModel

AGAIN = "Mina's locker is number 47"


def lines(memory: Memory) -> list[str]:
    """Return the statements of an answer that quotes the best messages."""
    return memory.ask("Which number is Mina's locker?", SayingModel(fault=ProviderError("away"))).answer.splitlines()


def test_restatements_are_one_statement_that_says_so(shared_installation: Installation) -> None:
    again = tuple(f"#Family/Mina {AGAIN}, {word}." for word in ("yes", "really", "truly", "indeed"))
    memory = Memory(shared_installation, again, ("#Family/Mina Mina's locker is number 12, by the door.",))
    quoted = lines(memory)
    assert sum(AGAIN in line for line in quoted) == 1
    (restating,) = (line for line in quoted if AGAIN in line)
    assert restating.startswith("According to “")
    assert "which says so 4 times: " in restating
    (once,) = (line for line in quoted if "number 12" in line)
    assert not once.startswith("According to")


def test_conversations_that_agree_are_quoted_each(shared_installation: Installation) -> None:
    memory = Memory(shared_installation, *((f"#Family/Mina {AGAIN}, {word}.",) for word in ("yes", "really", "truly")))
    quoted = [line for line in lines(memory) if AGAIN in line]
    assert len(quoted) == 3
    assert not any(line.startswith("According to") for line in quoted)
