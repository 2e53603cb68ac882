"""Answers of models that nothing forces into a schema."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from resources.providers.answer_formats import AnswerFormats
from resources.providers.answers import KeywordsAnswer, PlacementAnswer, SummaryAnswer

FORMATS = AnswerFormats(is_compatible=True)


@pytest.mark.parametrize(
    "content",
    [
        '{"title": "Boat", "summary": "Dave bought it."}',
        '<think>{"title": "no"}</think>{"title": "Boat", "summary": "Dave bought it."}',
        'reasoning without a beginning</think>\n{"title": "Boat", "summary": "Dave bought it."}',
        '```json\n{"title": "Boat", "summary": "Dave bought it."}\n```',
        'I use {braces}. {"title": "Boat", "summary": "Dave bought it."} Is that {fine}?',
        '{"title": "Boat", "summary": "Dave bought it.",}',
        "{'title': 'Boat', 'summary': 'Dave bought it.'}",
        '{"title": "Boat", "summary": "Dave bought it.", "confidence": 1}',
    ],
)
def test_object_is_found(content: str) -> None:
    answer = FORMATS.read(content, SummaryAnswer)
    assert (answer.title, answer.summary) == ("Boat", "Dave bought it.")


@pytest.mark.parametrize("content", ["", "I cannot do that.", "[1, 2]", "{", "null", '{"confidence": 1}' * 3])
def test_nothing_is_made_up(content: str) -> None:
    with pytest.raises(ValidationError):
        FORMATS.read(content, PlacementAnswer)


def test_missing_lists_are_empty() -> None:
    answer = FORMATS.read('{"entities": ["Dave"], "topics": null}', KeywordsAnswer)
    assert (answer.entities, answer.topics, answer.dates) == (["Dave"], [], [])


def test_openai_answers_are_not_repaired() -> None:
    with pytest.raises(ValidationError):
        AnswerFormats(is_compatible=False).read('{"title": "Boat", "summary": "s", "more": 1}', SummaryAnswer)
