"""Lexemes of lexical search."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.text.lexemes import ASKING, MAX_FREQUENCY, MAX_LEXEME_LENGTH, Lexer, name_words, plain

LEXER = Lexer()
anything = st.text(st.characters(), max_size=400)
written = st.text("aeiknstv'’ -_.漢字かなé🦊\u200d0", max_size=200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("running runs RAN", ["run", "run", "run"]),
        ("Dave's knees", ["dave", "knee"]),
        ("Dave’s knees", ["dave", "knee"]),
        ("The parents' house", ["parent", "hous"]),
        ("O'Brien said", ["o'brien", "say"]),
        ("I don't think they've bought it, we’ll see what Dave’ll take", ["think", "buy", "see", "dave", "take"]),
        ("What did we do there?", []),
        ("it's", []),
        ("2025-11-03", ["2025", "11", "03"]),
        ("snake_case", ["snake", "case"]),
        ("Ｗｉｄｅ ﬁsh", ["wide", "fish"]),
        ("漢字", ["漢字"]),
        ("漢字かな", ["漢字", "字か", "かな"]),
        ("東京の天気", ["東京", "京の", "の天", "天気"]),
        ("字", ["字"]),
        ("iPhone充電器", ["iphone", "充電", "電器"]),
        ("สมชาย", ["สม", "มช", "ชา", "าย"]),
        ("हिन्दी नमस्ते", ["हिन्दी", "नमस्ते"]),
        ("Fátima fatima FÁTIMA", ["fatima", "fatima", "fatima"]),
        ("İbrahim ibrahim IBRAHIM", ["ibrahim", "ibrahim", "ibrahim"]),
        ("Işıl IŞIL isil", ["isil", "isil", "isil"]),
        ("Łukasz Søren Đorđe", ["lukasz", "soren", "dord"]),
        ("e\u0301te\u0301 été", ["ete", "ete"]),
        ("Алёна Алена", ["алена", "алена"]),
        ("كَتَبَ كتب", ["كتب", "كتب"]),
        ("が か", ["が", "か"]),
        ("🦊🦊 👩‍👩‍👧 👍🏽 ❤️", ["🦊", "🦊", "👩", "👩", "👧", "👍", "❤"]),
        ("부산", ["부산"]),
        ("부산에서 회의는", ["부산", "산에", "에서", "부산에서", "회의", "의는", "회의는"]),
        ("iPhones을 3시에", ["iphon", "iphones을", "3", "시에", "3시에"]),
        ("", []),
        ("\x00 \u2028", []),
    ],
)
def test_counted_lexemes(text: str, expected: list[str]) -> None:
    assert LEXER.lexemes(text) == expected


def test_english_stop_words_are_dropped() -> None:
    assert LEXER.lexemes("the") == []
    assert Lexer("german").lexemes("the Häuser") == ["the", "haus"]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("german", "Wann sind die Häuser in Kitzbühel fertig?", ["haus", "kitzbuhel", "fertig"]),
        ("spanish", "¿Cuándo llegan los hornos del taller?", ["lleg", "horn", "tall"]),
        ("french", "Qu'est-ce que l'eau d’Aline, aujourd'hui ?", ["eau", "alin", "aujourd'hui"]),
        ("simple", "The domy są nowe", ["the", "domy", "sa", "nowe"]),
    ],
)
def test_words_of_other_languages(language: str, text: str, expected: list[str]) -> None:
    assert Lexer(language).lexemes(text) == expected


def test_stemmer_gets_accented_words() -> None:
    assert Lexer("hindi").lexemes("लड़का लड़के") == ["लड़क", "लड़क"]
    assert Lexer("spanish").lexemes("canción canciones cancion") == ["cancion"] * 3


def test_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="english"):
        Lexer("klingon")


def test_counted_lexemes_are_ordered() -> None:
    assert LEXER.count("Dave met Ana; Ana met DAVE's Dave") == (["ana", "dave", "meet"], [2, 3, 2], 7)
    assert LEXER.count("") == ([], [], 0)


def test_frequencies_are_bounded() -> None:
    assert LEXER.count("fox " * 40_000) == (["fox"], [MAX_FREQUENCY], 40_000)


@given(anything | written)
def test_lexemes_are_bounded(text: str) -> None:
    found = LEXER.lexemes(text)
    assert all(0 < len(lexeme) <= MAX_LEXEME_LENGTH for lexeme in found)
    assert not any(character.isspace() or character == "\x00" for lexeme in found for character in lexeme)


@given(written, written)
def test_question_and_document_agree(before: str, asked: str) -> None:
    document = LEXER.lexemes(f"{before}\n{asked}")
    assert document[len(document) - len(LEXER.lexemes(asked)) :] == LEXER.lexemes(asked)
    assert LEXER.lexemes(asked.upper()) == LEXER.lexemes(asked)


@given(anything | written)
def test_counts_agree_with_the_lexemes(text: str) -> None:
    distinct, frequencies, total = LEXER.count(text)
    assert distinct == sorted(set(LEXER.found_by(text)))
    assert sum(frequencies) == total == len(LEXER.found_by(text))
    assert LEXER.found_by(text)[: len(LEXER.lexemes(text))] == LEXER.lexemes(text)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("我们的猫叫豆豆", "猫"),
        ("父はパリで働いている", "父"),
        ("집은 크다", "집"),
        ("월세는 오십만 원이다", "월세"),
        ("내 동생 지영이는 부산에서 일한다", "동생이 어디서 일해?"),
        ("카카오톡으로 보냈다", "카카오톡"),
        ("아이폰15를 샀다", "아이폰15"),
        ("The hives are well 🐝🐝", "🐝"),
        ("Danke ❤️!", "❤"),
    ],
)
def test_texts_are_found_by_single_characters_and_without_particles(text: str, asked: str) -> None:
    assert not set(LEXER.count(text)[0]).isdisjoint(LEXER.lexemes(asked))


@pytest.mark.parametrize("unit", ["a", "漢", "a漢", "'", "a'", "🦊", "e\u0301", "_", "한", "a한"])
def test_repeated_character_is_linear(unit: str) -> None:
    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        started = time.process_time()
        LEXER.found_by(text)
        return time.process_time() - started

    seconds(1_000)
    quarter = seconds(125_000)
    # Quadratic work would take sixteen times as long; a busy machine may take twice its due.
    assert seconds(500_000) < 8 * quarter + 0.2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Dave", ["dave"]),
        ("  New   York\t", ["new", "york"]),
        ("New-York, N.Y.", ["new", "york", "n", "y"]),
        ("O'Brien’s", ["o", "brien", "s"]),
        ("snake_case", ["snake", "case"]),
        ("C++ & C#", ["c", "c"]),
        ("José JOSE\u0301", ["jose", "jose"]),
        ("Łódź İzmir Ærø", ["lodz", "izmir", "æro"]),
        ("Ｔｏｋｙｏ ﬁsh ²", ["tokyo", "fish", "2"]),
        ("東京 タワー", ["東京", "タワー"]),
        ("हिन्दी नमस्ते", ["हिन्दी", "नमस्ते"]),
        ("مُحَمَّد", ["محمد"]),
        ("בֵּית־סֵפֶר", ["בית", "ספר"]),
        ("a🎉b", ["a", "b"]),
        ("x\0y\ud800z", ["x", "y", "z"]),
        ("", []),
        ("... 🎉 \u0301", []),
    ],
)
def test_words_of_a_name(name: str, expected: list[str]) -> None:
    assert name_words(name) == expected


@given(anything)
def test_words_of_any_name(text: str) -> None:
    words = name_words(text)
    assert all(words)
    assert name_words(" ".join(words)) == words


@pytest.mark.parametrize(
    ("stem", "expected"),
    [("boat", "boat"), ("café", "cafe"), ("ıłøđ", "ilod"), ("\u0301", "\u0301"), ("東京", "東京"), ("", "")],
)
def test_stems_ignore_accents(stem: str, expected: str) -> None:
    assert plain(stem) == expected


@pytest.mark.parametrize("text", ["Which boat?", "Which boat? ", "哪条船？"])
def test_questions_are_marked(text: str) -> None:
    lexemes, frequencies, total = Lexer().count_passage("Ana", text)
    assert (lexemes[0], frequencies[0]) == (ASKING, 0)
    assert (lexemes[1:], frequencies[1:], total) == Lexer().count(f"Ana {text}")
    assert Lexer().count_passage(None, f"{text} The walnut one.")[0][0] != ASKING
