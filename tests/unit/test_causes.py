"""Causes, decisions and ended states that plain sentences state, and the facts that the offline model makes of them."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.text.causes import causes_of, decided_by
from neurigraph_pipelines.text.ended import ends
from resources.offline.reasons import reasons_of


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("The basement flooded because the pump had failed.", "The pump had failed."),
        ("Because the bridge was closed, Hanna missed the ferry.", "The bridge was closed."),
        ("The pump failed, so the basement flooded.", "The pump failed."),
        ("The heating failed, which is why the school closed.", "The heating failed."),
        ("The concert was cancelled due to the power cut.", "There was a power cut."),
        ("We plant quinces, because they survive frost.", "Quinces survive frost."),
    ],
)
def test_a_reason_is_a_sentence_of_its_own(sentence: str, reason: str) -> None:
    assert list(reasons_of(sentence)) == [reason]


@pytest.mark.parametrize(
    "sentence",
    [
        "Since I moved to Porto, I have been happy.",
        "Would it be because the pump failed?",
        "He laughed because she did that to it, he said.",
        "It is so cold.",
        "",
    ],
)
def test_no_reason_is_made_up(sentence: str) -> None:
    assert [one for one in reasons_of(sentence) if one.split()[0] in ("She", "He", "It", "That")] == []
    if "Since" in sentence or "?" in sentence:
        assert list(causes_of(sentence)) == []


def test_a_sentence_names_the_cause_before_it() -> None:
    (found,) = causes_of("That is why we carried the sofa.", "The lift was broken.")
    assert (found.effect, found.cause) == ("we carried the sofa", "The lift was broken")
    (found,) = causes_of("The reason was the damp wall.", "The paint peeled off.")
    assert (found.effect, found.cause) == ("The paint peeled off", "the damp wall")


@pytest.mark.parametrize(
    ("sentence", "who"),
    [
        ("Maria and I decided to sell the boat.", ("Maria", "I")),
        ("We decided with Ruth to sell the caravan.", ("We", "Ruth")),
        ("Maria has not called.", None),
        ("Did Maria and Tom decide it?", None),
    ],
)
def test_who_decided(sentence: str, who: tuple[str, ...] | None) -> None:
    found = decided_by(sentence)
    assert (found.who if found else None) == who


@pytest.mark.parametrize(
    ("later", "earlier", "is_ended"),
    [
        ("We switched from the Malmö server to a host in Turku.", "Ana streams from a server in Malmö.", True),
        ("Pitbull now uses JWT instead of SAML.", "Pitbull uses SAML.", True),
        ("The user no longer takes the night bus.", "The user takes the night bus.", True),
        ("The user no longer takes the night bus.", "The night train is late.", False),
        ("The user took the train instead of the plane.", "The plane was invented in 1903.", False),
    ],
)
def test_what_no_longer_holds(later: str, earlier: str, is_ended: bool) -> None:
    assert ends(later, earlier) is is_ended
