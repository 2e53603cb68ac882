"""Invisible characters and look-alike letters: what is indexed is what a reader sees."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.text.disguises import undisguised
from neurigraph_pipelines.text.lexemes import Lexer


@pytest.mark.parametrize(
    "disguised",
    [
        "den\u200btist",
        "den\u00adtist",
        "\u202eden\u2060tist\u202c",
        "dent\u200d\u200cist",
        "d\U000e0065entist",
        "dеntіst",
        "ＤＥＮтist",
        "Dεntιsτ",
    ],
)
def test_disguised_word_is_indexed_as_it_looks(disguised: str) -> None:
    assert Lexer().lexemes(f"the {disguised} called") == Lexer().lexemes("the dentist called")


@pytest.mark.parametrize(
    "text",
    ["сорока и ухо", "το νερό", "μm", "kΩ", "می\u200cخواهم", "क्\u200dष", "résumé", "naïve Ærø"],
)
def test_honest_text_stays(text: str) -> None:
    assert undisguised(text) == text
