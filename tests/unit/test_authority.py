"""Authority in the ranking: others yield to the owner, and a source pays for repeating itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from neurigraph_pipelines.model import OTHERS, Voice
from neurigraph_pipelines.retrieval.query.authority import (
    YIELDED,
    YIELDED_BY_PEOPLE,
    are_in_person,
    repeats_itself,
    shares_left,
    unrepeated,
)
from neurigraph_pipelines.text.search_segments import VOICES


def voices(*spoken: Voice | None) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    return np.array([VOICES.index(voice) for voice in spoken], np.int8)


def left(score: Sequence[float], covered: Sequence[float], *spoken: Voice | None) -> list[float] | None:
    found = shares_left(np.array(score), lambda: np.array(covered), voices(*spoken))
    return found.tolist() if found is not None else None


@pytest.mark.parametrize("voice", sorted(OTHERS))
def test_others_yield_to_what_the_owner_said(voice: Voice) -> None:
    spoken = (voice, Voice.OWNER, Voice.ASSISTANT)
    assert left([0.9, 0.6, 0.7], [1.0, 1.0, 1.0], *spoken) == [
        YIELDED_BY_PEOPLE if voice is Voice.OTHER_PERSON else YIELDED,
        1.0,
        1.0,
    ]


def test_stuffing_does_not_silence_the_owner() -> None:
    # Coverage counts each word of the question once, however often it was repeated.
    assert left([9.0, 0.6], [1.0, 1.0], Voice.TOOL, Voice.OWNER) == [YIELDED, 1.0]


def test_nobody_yields_where_the_owner_says_nothing_about_it() -> None:
    assert left([0.9, 0.8], [1.0, 0.5], Voice.TOOL, Voice.OWNER) is None
    assert left([0.9, 0.8], [1.0, 1.0], Voice.TOOL, Voice.ASSISTANT) is None


@pytest.mark.parametrize("voice", [*Voice, None])
def test_graph_of_one_voice_stays_as_it_is(voice: Voice | None) -> None:
    assert left([0.9, 0.8, -np.inf], [1.0, 1.0, 1.0], voice, voice, voice) is None


def test_what_is_left_out_does_not_speak() -> None:
    assert left([0.9, -np.inf], [1.0, 1.0], Voice.TOOL, Voice.OWNER) is None


def test_restatements_of_one_source_pay_and_of_several_do_not() -> None:
    same, other = np.eye(2, dtype=np.float32)
    vectors, score = np.array([same, same, same, other]), np.array([0.9, 0.8, 0.7, 0.6])
    paid = unrepeated(score, vectors, ["web", "web", "web", "web"])
    assert paid[0] == 0.9
    assert paid[3] == 0.6
    assert paid[1] < 0.6
    assert paid[2] < 0.7 * paid[1]
    assert unrepeated(score, vectors, ["monday", "tuesday", "friday", "friday"]).tolist() == score.tolist()


def test_what_is_unknown_repeats_nothing() -> None:
    score = np.array([0.9, 0.8])
    assert unrepeated(score, np.zeros((2, 3), np.float32), ["web", "web"]).tolist() == score.tolist()


def test_a_source_repeats_itself_beyond_its_share() -> None:
    same = np.ones((5, 1), np.float32)
    assert repeats_itself(lambda: same, ["web"] * 4 + ["a"])
    assert not repeats_itself(lambda: same, ["web"] * 3 + ["a", "b"])
    assert not repeats_itself(lambda: np.eye(5, dtype=np.float32), ["web"] * 5)
    assert not repeats_itself(lambda: np.zeros((0, 0), np.float32), [])


def test_role_of_a_document_or_persona_is_no_person() -> None:
    spoken = voices(Voice.OWNER, Voice.OTHER_PERSON, None, Voice.DOCUMENT, Voice.PERSONA, Voice.TOOL)
    assert are_in_person(spoken).tolist() == [True, True, True, False, False, False]
