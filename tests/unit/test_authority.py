"""Authority in the ranking: others yield to the owner, and a source pays for repeating itself."""

from __future__ import annotations

import numpy as np
import pytest

from neurigraph_pipelines.model import Voice
from neurigraph_pipelines.retrieval.index.layers import VOICES
from neurigraph_pipelines.retrieval.query.authority import are_in_person, repeats_itself, unrepeated, yielded


def voices(*spoken: Voice | None) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    return np.array([VOICES.index(voice) for voice in spoken], np.int8)


@pytest.mark.parametrize(
    "voice", [Voice.TOOL, Voice.DOCUMENT, Voice.FETCHED, Voice.PERSONA, Voice.OTHER_PERSON, Voice.SYSTEM]
)
def test_others_yield_to_what_the_owner_said(voice: Voice) -> None:
    score = yielded(np.array([0.9, 0.8]), voices(voice, Voice.OWNER))
    assert score.argmax() == 1
    assert score[1] == 0.8


def test_nobody_yields_where_the_owner_says_nothing_about_it() -> None:
    score = np.array([0.9, 0.2, 0.4])
    assert yielded(score, voices(Voice.TOOL, Voice.OWNER, Voice.ASSISTANT)) is score


@pytest.mark.parametrize("voice", [Voice.OWNER, Voice.ASSISTANT, Voice.OTHER_PERSON, Voice.TOOL, None])
def test_graph_of_one_voice_stays_as_it_is(voice: Voice | None) -> None:
    score = np.array([0.9, 0.8, -np.inf])
    assert yielded(score, voices(voice, voice, voice)) is score


def test_what_is_left_out_stays_out() -> None:
    assert yielded(np.array([-np.inf, 0.8]), voices(Voice.TOOL, Voice.OWNER))[0] == -np.inf


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
    assert repeats_itself(["web"] * 4 + ["a", "b"])
    assert not repeats_itself(["web"] * 3 + ["a", "b"])
    assert not repeats_itself([])


def test_role_of_a_document_or_persona_is_no_person() -> None:
    spoken = voices(Voice.OWNER, Voice.OTHER_PERSON, None, Voice.DOCUMENT, Voice.PERSONA, Voice.TOOL)
    assert are_in_person(spoken).tolist() == [True, True, True, False, False, False]
