"""Training data of the local embedder: their format, what must not be in them, and the texts the encoder reads."""

from __future__ import annotations

import gzip
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.bench import PROJECT_ROOT
from benchmarks.quality.questions import DATA, qmsum
from resources.minilm.embedder import NEURIGRAPH_SHA256, OwnEmbedder
from training.__main__ import CARD, main
from training.card import model_card
from training.material import read_all
from training.measures import Measured
from training.pairs import pairs_of
from training.talks import PUBLIC, TALKS, Asked, Said, Talk, TalkError, read_public, read_talks, written

SENTENCE = re.compile(r"[.!?。！？\n]+")
TELLING = 30
"""Characters of a sentence that two people do not say by chance."""

TALK: dict[str, Any] = {
    "id": "people-99",
    "language": "en",
    "kind": "chat",
    "messages": [
        {"speaker": "Ana", "at": "2024-01-01", "text": "What do you play these days?"},
        {"speaker": "Bo", "at": "2024-01-01", "text": "The cello, every Tuesday night."},
        {"speaker": "Ana", "at": "2024-01-02", "text": "Do you play for money?"},
        {"speaker": "Bo", "at": "2024-01-02", "text": "Never. Only for the neighbours."},
    ],
    "questions": [
        {"question": "Which instrument does Bo play?", "sources": [1]},
        {"question": "Why?", "sources": []},
    ],
    "remarks": [{"speaker": "Bo", "remark": "My Tuesdays are taken.", "explained_by": [1]}],
}

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data with LoCoMo, BEAM and QMSum is not here")


def saved(folder: Path, **changed: Any) -> Path:
    (folder / f"{changed.get('name', 'one')}.json").write_text(json.dumps({**TALK, **changed}), encoding="utf-8")
    return folder


def sentences(texts: Iterable[str]) -> set[str]:
    parts = (" ".join(part.lower().split()) for text in texts for part in SENTENCE.split(text))
    return {part for part in parts if len(part) >= TELLING}


def sentences_of(talks: Iterable[Talk]) -> set[str]:
    return sentences(
        text for talk in talks for text in (*(one.text for one in talk.messages), *(one.text for one in talk.asked))
    )


@cache
def trained_on() -> set[str]:
    return sentences_of([*read_talks(TALKS), *read_public(PUBLIC)])


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(item)


def data_of(folder: str) -> list[Any]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((DATA / folder).glob("*.json"))]


def sample_texts(path: Path) -> Iterator[str]:
    """The texts of a file of ``samples``, whichever format it has."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        yield from strings(json.loads(text))
    elif path.suffix == ".toml":
        yield from strings(tomllib.loads(text))
    elif path.suffix == ".jsonl":
        yield from strings([json.loads(line) for line in text.splitlines() if line])
    else:
        yield text


def test_talk_is_read(tmp_path: Path) -> None:
    (talk,) = read_talks(saved(tmp_path))
    assert talk.messages[1] == Said("Bo", "The cello, every Tuesday night.", "2024-01-01")
    assert talk.asked[2] == Asked("My Tuesdays are taken.", (1,), True, "Bo")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"messages": [{"speaker": "Ana", "at": "2024", "text": " "}]}, "'text' is not a text"),
        ({"questions": [{"question": "Who?", "sources": [4]}]}, "names message 4, and there are 4 from 0"),
        ({"questions": [{"question": "Who?", "sources": ["1"]}]}, "holds '1', which is no index"),
        ({"remarks": None}, "'remarks' is not a list"),
        ({"questions": [{"question": "Who?", "sources": [-1]}]}, "names message -1"),
    ],
)
def test_faulty_talk_is_named(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(TalkError, match=re.escape(said)) as error:
        read_talks(saved(tmp_path, **changed))
    assert "one.json" in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", "[" * 100_000, '{"id": "\xff"}'], ids=["empty", "list", "deep", "bytes"]
)
def test_file_that_is_no_talk_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "one.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(TalkError, match=r"one\.json"):
        read_talks(tmp_path)
    with pytest.raises(TalkError, match="absent is no folder"):
        read_talks(tmp_path / "absent")


def public_set(**changed: Any) -> bytes:
    turns = [{"speaker": "Ana", "text": "I do n't know ."}, {"speaker": "Bo", "text": "The cello ."}]
    item = {"id": "one", "turns": turns, "questions": [{"question": "Which ?", "evidence": [1]}], **changed}
    return gzip.compress(json.dumps(item).encode() + b"\n")


@pytest.mark.parametrize(
    "content",
    [
        b"junk",
        public_set()[:-9],
        gzip.compress(b"{"),
        public_set(turns=None),
        public_set(turns=[{"speaker": "Ana"}]),
        public_set(questions=[{"question": "Which ?", "evidence": [2]}]),
    ],
    ids=["no gzip", "cut", "no json", "no turns", "no text", "no such turn"],
)
def test_faulty_public_set_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "set.jsonl.gz").write_bytes(public_set())
    (talk,) = read_public(tmp_path)
    assert (talk.messages[0].text, talk.source, talk.asked[0].sources) == ("I don't know.", "set", (1,))
    (tmp_path / "set.jsonl.gz").write_bytes(content)
    with pytest.raises(TalkError, match=r"set\.jsonl\.gz"):
        read_public(tmp_path)


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> str:
    """Run ``python -m training train`` in this process, without public sets, and return what it ends with."""
    command = ["training", "--public", "absent", "--every-talk", *map(str, arguments), "train"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as end:
        main()
    return str(end.value)


def test_training_leaves_no_half_of_a_graph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is stopped while it trains (Ctrl-C); a place that cannot be written is found before."""
    talks, graphs = saved(tmp_path), tmp_path / "graphs"

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    tuning = ModuleType("training.tuning")
    tuning.tune = stop  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "training.tuning", tuning)
    assert ended(monkeypatch, "--talks", talks, "--graph", graphs / "own.onnx").startswith("stopped")
    assert list(graphs.iterdir()) == []
    assert f"{graphs} is a folder" in ended(monkeypatch, "--talks", talks, "--graph", graphs)
    assert "one.json" in ended(monkeypatch, "--talks", talks, "--graph", talks / "one.json" / "own.onnx")


@pytest.mark.parametrize("passes", ["0", "-1", "nan", "inf", "many"])
def test_passes_are_a_number_above_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, passes: str) -> None:
    assert ended(monkeypatch, "--talks", saved(tmp_path), f"--epochs={passes}") == "2"


def test_card_of_own_weights_claims_nothing_of_the_shipped_ones(tmp_path: Path) -> None:
    graph = tmp_path / "ours.onnx"
    graph.write_bytes(b"a graph")
    own, shipped = (model_card("counts", Measured({}, {}), graph, 0.7, is_own=is_own) for is_own in (True, False))
    assert own.startswith(f"# Model card: {OwnEmbedder(graph).model}\n")
    for text in ("POST /v1/duplicates", "A second run", "a test checks"):
        assert (text in own, text in shipped) == (False, True)
    assert NEURIGRAPH_SHA256 in CARD.read_text(encoding="utf-8")


def test_pairs_have_answers_and_others(tmp_path: Path) -> None:
    (talk,) = read_talks(saved(tmp_path))
    question, remark = sorted(pairs_of([talk], 1), key=lambda pair: pair.asked, reverse=True)
    assert (question.asked, remark.asked) == ("Which instrument does Bo play?", "My Tuesdays are taken.")
    assert question.answer == ("people-99", 1)
    assert question.negative != question.answer
    assert pairs_of([talk], 1) == pairs_of([talk], 1)


def test_samples_are_not_trained_on() -> None:
    files = [path for path in (PROJECT_ROOT / "samples").rglob("*") if path.is_file()]
    told = sentences(text for path in files for text in sample_texts(path))
    assert len(told) > 4_000
    assert not told & trained_on()


def test_held_out_talks_are_not_trained_on() -> None:
    learned, held = read_all(TALKS, PUBLIC, every_talk=False)
    told = sentences_of(held)
    assert len(told) > 1_000
    assert not told & sentences_of(learned)
    only_measured = {talk.language for talk in held} - {talk.language for talk in learned}
    assert only_measured == set("ar hi ko nl pl ru tr zh".split()), "the card, docs/limits.md and docs/models.md say so"


@needs_data
def test_evaluation_data_are_not_trained_on() -> None:
    """Neither messages nor questions, answers, summaries and noted facts, whichever the measures use."""
    told = sentences(text for name in ("locomo", "beam") for item in data_of(name) for text in strings(item))
    assert len(told) > 15_000
    assert not told & trained_on()


@needs_data
def test_meetings_that_measure_are_not_trained_on() -> None:
    """Their sentences are compared with written talks only: a parliament says "the committee adjourns" in each."""
    trained = {talk.name.lower() for talk in read_public(PUBLIC)}
    assert len(trained) > 300
    assert not trained & {meeting.name for meeting in qmsum()}
    told = sentences(text for item in data_of("qmsum") for text in map(written, strings(item)))
    assert len(told) > 4_000
    assert not told & sentences_of(read_talks(TALKS))
    asked = [item[kind] for item in data_of("qmsum") for kind in ("specific_query_list", "general_query_list")]
    assert not sentences(map(written, strings(asked))) & trained_on()


def test_written_talks_are_as_many_as_the_card_says() -> None:
    talks = read_talks(TALKS)
    questions, remarks = (
        [one for talk in talks for one in talk.asked if one.is_remark is kind] for kind in (False, True)
    )
    assert len([one for one in questions if one.sources]) >= 1_500
    assert len([one for one in remarks if one.sources]) >= 800
    assert all(one.sources for one in remarks)
    assert len([one for one in questions if not one.sources]) / len(questions) > 0.05
    assert {talk.language for talk in talks} >= {
        "en",
        "de",
        "es",
        "fr",
        "it",
        "pt",
        "nl",
        "ru",
        "ja",
        "zh",
        "ko",
        "ar",
        "hi",
    }
