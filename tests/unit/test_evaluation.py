"""Evaluations: reading questions and published formats, comparing answers, and reports of hostile texts."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.runtime.evaluation.own_questions import MOST_QUESTIONS, read_questions
from neurigraph_pipelines.runtime.evaluation.published import Published, count_questions, read_published
from neurigraph_pipelines.runtime.evaluation.report import as_html, as_markdown
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion
from neurigraph_pipelines.runtime.evaluation.scoring import compared
from neurigraph_pipelines.text.lexemes import Lexer
from tests.support import published_files

FORMATS: tuple[Published, ...] = ("locomo", "longmemeval", "beam", "personamem")


def made(name: Published, folder: Path) -> Path:
    path: Path = getattr(published_files, name)(folder)
    return path


def test_locomo_has_sources_and_false_questions(tmp_path: Path) -> None:
    (sample,) = read_published("locomo", made("locomo", tmp_path))
    assert [len(one.messages) for one in sample.conversations] == [2, 2]
    key, sold, false = sample.questions
    assert (key.sources, key.answer, key.category) == (frozenset({"D1:1"}), "under the blue pot", "single-hop")
    assert (sold.is_unanswerable, false.is_unanswerable, false.answer) == (False, True, "")


def test_longmemeval_has_a_history_for_each_question(tmp_path: Path) -> None:
    named, unsaid = read_published("longmemeval", made("longmemeval", tmp_path))
    (asked,) = named.questions
    assert [named.messages[one].content for one in asked.sources] == ["I named my sourdough Bruno."]
    assert len(named.messages) == 3, "an empty turn is no message, and sessions of one id are two"
    assert asked.asked_at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert named.conversations[1].started_at == datetime(2023, 5, 21, tzinfo=UTC)
    assert [(one.is_unanswerable, one.sources) for one in unsaid.questions] == [(True, frozenset())]


def test_beam_finds_its_questions(tmp_path: Path) -> None:
    (sample,) = read_published("beam", made("beam", tmp_path))
    assert sample.name == "beam-7"
    assert sample.messages["0"].content == "My kiln reaches 1,240 degrees."
    assert [(one.category, one.sources, one.is_unanswerable) for one in sample.questions] == [
        ("information extraction", {"0"}, False),
        ("abstention", frozenset(), True),
    ]


def test_personamem_ends_where_its_question_is_asked(tmp_path: Path) -> None:
    whole, beginning = read_published("personamem", made("personamem", tmp_path))
    assert [len(one.messages) for one in whole.conversations] == [3, 2]
    assert [one.content for one in beginning.messages.values()][1:] == ["I adore jazz concerts.", "Noted."]
    (asked,) = whole.questions
    assert asked.answer.startswith("(b) Go to jazz")
    assert len(asked.options) == 2


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("content", ["", "{", "[]", "[5]", '[{"a": 1}]', '{"qa": {"b": []}}', "\x00\xff", "a,b\n1,2\n"])
def test_broken_file_is_named(name: Published, content: str, tmp_path: Path) -> None:
    path = made(name, tmp_path)
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InvalidInputError, match=path.name):
        count_questions(name, path, None)


@pytest.mark.parametrize(("name", "before", "after"), [
    ("locomo", '"Where is the spare key of Ida?"', "7"),
    ("locomo", "1:56 pm on 1 May, 2023", "yesterday"),
    ("longmemeval", "2023/05/20 (Sat) 02:21", "2023/13/20"),
    ("longmemeval", '"role": "user"', '"role": "wizard"'),
    ("beam", "March-15-2024", "soon"),
    ("personamem", "(b),", "(z),"),
    ("personamem", "c1", "c2"),
])  # fmt: skip
def test_broken_value_is_named(name: Published, before: str, after: str, tmp_path: Path) -> None:
    path = made(name, tmp_path)
    assert count_questions(name, path, 1) == 1
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(InvalidInputError):
        count_questions(name, path, 1)


def own(folder: Path, *lines: Any) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines), encoding="utf-8")
    return path


GOOD = {"question": "Where is the key?", "answer": "Under the mat", "sources": ["the mat"]}


def test_own_questions_are_read(tmp_path: Path) -> None:
    path = own(tmp_path, GOOD, "", {"question": "And the dog?", "answer": None, "category": "pets"})
    key, dog = read_questions(path)
    assert (key.answer, key.sources, key.is_unanswerable) == ("Under the mat", frozenset({"the mat"}), False)
    assert (dog.category, dog.is_unanswerable) == ("pets", True)
    assert read_questions(path, 1) == [key]


@pytest.mark.parametrize(("line", "said"), [
    ("{", "it is not JSON"),
    ("[]", "expected an object"),
    ('{"question": "\\ud800"', "it is not JSON"),
    ({"question": "x"}, "give an answer, sources or both"),
    ({**GOOD, "anwser": "x"}, "anwser: Extra inputs"),
    ({**GOOD, "question": " "}, "question: String should have at least 1"),
    ({**GOOD, "question": "x" * 4_001}, "question: String should have at most 4000"),
    ({**GOOD, "asked_at": "2023-05-08T10:00"}, "asked_at: Input should have timezone"),
    ("x" * (1 << 20), "longer than"),
])  # fmt: skip
def test_broken_line_has_its_number_and_a_remedy(line: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=rf"questions\.jsonl, line 2.*{said}.*rite"):
        read_questions(own(tmp_path, GOOD, line))


def test_set_has_bounds(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="has no question: write one a line"):
        read_questions(own(tmp_path, ""))
    many = own(tmp_path, *[GOOD] * (MOST_QUESTIONS + 1))
    with pytest.raises(InvalidInputError, match="or give --limit"):
        read_questions(many)
    assert len(read_questions(many, 3)) == 3


@pytest.mark.parametrize(("asked", "answer", "kind", "is_right"), [
    (LabelledQuestion("?", frozenset(), "", "Under the mat"), "under the mat.", "exact", True),
    (LabelledQuestion("?", frozenset(), "", "red mats"), "The mat that is red lies there.", "contained", True),
    (LabelledQuestion("?", frozenset(), "", "a red mat"), "The mat lies there.", "other", False),
    (LabelledQuestion("?", frozenset(), "", "7"), "At 17 past.", "other", False),
    (LabelledQuestion("?", frozenset(), "", "a red mat"), "", "declined", False),
    (LabelledQuestion("?", frozenset(), "", is_unanswerable=True), "", "declined", True),
    (LabelledQuestion("?", frozenset(), "", is_unanswerable=True), "A mat.", "other", False),
    (LabelledQuestion("?", frozenset({"x"}), ""), "A mat.", "other", None),
    (LabelledQuestion("?", frozenset(), "", "(b) A mat", options=("(a) x", "(b) A mat")), "It is (B).", "exact", True),
    (LabelledQuestion("?", frozenset(), "", "(b) A mat", options=("(a) x", "(b) A mat")), "(a) or (b)", "other", False),
])  # fmt: skip
def test_answers_are_compared(asked: LabelledQuestion, answer: str, kind: str, is_right: bool | None) -> None:
    outcome = compared(asked, answer, Lexer())
    assert (outcome.kind, outcome.is_right) == (kind, is_right)


def test_report_makes_no_markup_of_texts() -> None:
    hostile = "<script>alert(1)</script> | **x** [a](javascript:b)\n# `c` \u202e"
    case = dict.fromkeys(("sample", "question", "category", "expected", "answer", "kind"), hostile)
    figures = {
        **dict.fromkeys(("subject", "counted_by", "embedder", "reader", "judge"), hostile),
        **dict.fromkeys(("questions", "questions_with_sources", "sources_not_found", "block_tokens"), 1),
        **{f"sources_{name}": {} for name in ("within_tokens", "among_first")},
        **{name: {} for name in ("answers", "categories", "latency_ms", "cost")},
        "not_run": [hostile],
        "worst": [{**case, "sources": 0.5, "missed": [hostile], "sources_not_found": [hostile]}],
    }
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            tags.append(tag)

    page = as_html(figures)
    Tags().feed(page)
    assert {"script", "a", "img"}.isdisjoint(tags)
    assert "default-src 'none'" in page
    markdown = as_markdown(figures)
    assert not re.search(r"<script|(?<!\\)\*\*|(?<!\\)\]\(|(?<!\\)`|\u202e", markdown)
    assert all(row.count("|") - row.count("\\|") == 3 for row in markdown.splitlines() if row.startswith("| missed"))
