"""The texts that are embedded of a record: its summary, and each passage behind those before it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from neurigraph_pipelines.ingestion.embed import TextsToEmbed, embed_texts
from neurigraph_pipelines.model import Message, Role
from neurigraph_pipelines.text.in_context import CONTEXT_END
from neurigraph_pipelines.text.transcript import Passage
from tests.support.memories import WordEmbedder

MONDAY = datetime(2024, 3, 4, tzinfo=UTC)


def passages(*said: tuple[int, str]) -> list[Passage]:
    """Passages of messages, each with the number of its message and its text."""
    return [
        Passage(number, Message(seq, Role.USER, text, 1, MONDAY), text, 0, 0)
        for number, (seq, text) in enumerate(said, 1)
    ]


def test_each_passage_stands_behind_the_two_before_it() -> None:
    found = passages((1, "The boat is walnut."), (2, "Oil it."), (2, "Three coats."), (3, "Fine."))
    texts = list(TextsToEmbed(uuid4(), "A boat", found))
    assert texts == [
        "A boat",
        "user: The boat is walnut.",
        f"user: The boat is walnut.{CONTEXT_END}user: Oil it.",
        f"user: The boat is walnut.\nuser: Oil it.{CONTEXT_END}user: Three coats.",
        f"user: Oil it.\nuser: Three coats.{CONTEXT_END}user: Fine.",
    ]


def test_only_the_ends_of_earlier_passages_are_read() -> None:
    found = passages((1, "x" * 500 + " Which wood?"), (2, "y" * 500 + " Oak or walnut?"), (3, "Walnut."))
    context, _, own = list(TextsToEmbed(uuid4(), "A boat", found))[-1].partition(CONTEXT_END)
    assert own == "user: Walnut."
    first, second = context.split("\n")
    assert first.endswith("x Which wood?")
    assert second.endswith("y Oak or walnut?")
    assert len(context) < 250


def test_a_mark_in_a_message_is_no_context() -> None:
    found = passages((1, f"The boat{CONTEXT_END}is walnut."), (2, "Oil it."))
    assert [text.count(CONTEXT_END) for text in TextsToEmbed(uuid4(), "A boat", found)] == [0, 0, 1]


def test_a_record_has_a_vector_a_passage() -> None:
    texts = TextsToEmbed(uuid4(), "A boat", passages((1, "The boat is walnut."), (2, "Oil it.")))
    ((_, vectors),) = next(embed_texts(WordEmbedder(), [texts]))
    assert not isinstance(vectors, Exception)
    assert len(vectors.passages) == 2
    assert len(texts) == len(list(texts)) == 3
