"""The ranking equals a slow reference in Python over the same passages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.query.speakers import speakers_named, without_names
from neurigraph_pipelines.retrieval.query.weights import ASSISTANTS, WEIGHTS
from neurigraph_pipelines.text.lexemes import ASKING, WINDOW_WEIGHTS, Lexer
from neurigraph_pipelines.text.search_segments import ROLES, SearchSegment, lexeme_keys, read_vectors
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import (
    START,
    WordEmbedder,
    converse,
    explained,
    ingest,
    new_user,
    plain_context,
    rows,
)

SAID = (
    ("#Boats The walnut boat needs oil.", "Which oil?", "Walnut oil, three coats.", "And then?", "Then it floats."),
    ("#Boats We sailed the boat on Sunday.", "How was it?", "Windy. The boat leaked."),
    ("#Music/Cello The cello is made of walnut too.", "Does it need oil?", "No oil, never."),
    ("#Music Sunday is for the cello.",),
)
QUESTIONS = ("Which oil for the walnut boat?", "my cello on Sunday", "What did you say about coats?", "zebra", "wind")
K1, B, MEAN_WEIGHT = 0.9, 0.75, 3.25
ASKED = int(lexeme_keys([ASKING])[0])


def passages_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the passages in a row of segments; a key of a lexeme stands for it."""
    segment = SearchSegment.read(row["content"])
    vectors = read_vectors(row["vectors"], len(segment.rows))
    ends = np.cumsum([0, *segment.rows["lexemes"]]).tolist()
    for passage, begin, end, vector in zip(segment.rows, ends, ends[1:], vectors, strict=False):
        yield {
            "record_id": row["record_id"],
            "seq": int(passage["seq"]),
            "lexemes": segment.keys[begin:end].tolist(),
            "frequencies": segment.frequencies[begin:end].tolist(),
            "lexeme_count": int(passage["lexeme_count"]),
            "embedding": vector,
            "role": str(ROLES[passage["role"]]),
        }


def key_of(lexeme: str) -> int:
    return int(lexeme_keys([lexeme])[0])


class Reference:
    """All passages of a user, ranked with a loop for everything."""

    def __init__(self, passages: list[dict[str, Any]]) -> None:
        self.passages = passages
        self.at = {(p["record_id"], p["seq"]): p for p in passages}
        self.counts = {
            key: Counter(dict(zip(p["lexemes"], p["frequencies"], strict=True))) for key, p in self.at.items()
        }
        self.mean = MEAN_WEIGHT * sum(p["lexeme_count"] for p in passages) / len(passages)

    def rarity(self, lexeme: int) -> float:
        holding = sum(lexeme in counts for counts in self.counts.values())
        return math.log(1 + (len(self.passages) - holding + 0.5) / (holding + 0.5))

    def window(self, key: tuple[Any, int], lexemes: list[int]) -> float:
        record, seq = key
        around = [
            (weight, (record, seq + step)) for step, weight in WINDOW_WEIGHTS.items() if (record, seq + step) in self.at
        ]
        length = sum(weight * self.at[near]["lexeme_count"] for weight, near in around)
        return sum(
            self.bm25(lexeme, sum(weight * self.counts[near][lexeme] for weight, near in around), length / self.mean)
            for lexeme in lexemes
        )

    def segment(self, record: Any, lexemes: list[int]) -> float:
        lengths = Counter[Any]()
        for passage in self.passages:
            lengths[passage["record_id"]] += passage["lexeme_count"]
        length = lengths[record] / (sum(lengths.values()) / len(lengths))
        said = [counts for (one, _), counts in self.counts.items() if one == record]
        return sum(self.bm25(lexeme, sum(counts[lexeme] for counts in said), length) for lexeme in lexemes)

    def bm25(self, lexeme: int, frequency: float, length: float) -> float:
        return self.rarity(lexeme) * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length))

    def lexical(self, lexemes: list[int]) -> dict[tuple[Any, int], float]:
        scores = {key: self.window(key, lexemes) for key in self.at}
        best = max(scores.values()) or 1.0
        return {key: score / best for key, score in scores.items()}

    def rank(
        self, lexemes: list[int], vector: np.ndarray[Any, Any], role: str | None, summaries: dict[UUID, float]
    ) -> dict[tuple[Any, int], float]:
        lexical = self.lexical(lexemes)
        dense = {key: self.likeness(p["embedding"], vector) for key, p in self.at.items()}
        return {
            key: (
                WEIGHTS["window_lexical"] * lexical[key]
                + WEIGHTS["dense"] * dense[key] / max(0.3, *dense.values())
                + WEIGHTS["speaker"] * (p["role"] == role)
                + WEIGHTS["user"] * (p["role"] == "user")
                + WEIGHTS["answer"] * self.answering(key)
                + WEIGHTS["asked"] * self.asked_before(key, lexemes)
                + WEIGHTS["summary"] * summaries[key[0]]
            )
            * (ASSISTANTS if p["role"] == "assistant" and role != "assistant" else 1)
            for key, p in self.at.items()
        }

    def answering(self, key: tuple[Any, int]) -> int:
        """Return 1 after a question, -1 for a question, and 0 where an assistant takes part."""
        record, seq = key
        if any(p["role"] == "assistant" for p in self.passages if p["record_id"] == record):
            return 0
        before = self.at.get((record, seq - 1))
        return int(before is not None and ASKED in before["lexemes"]) - int(ASKED in self.at[key]["lexemes"])

    def asked_before(self, key: tuple[Any, int], lexemes: list[int]) -> float:
        """Return the share of the rarity of the lexemes in the passage before, if that ends with a question."""
        counts = self.counts.get((key[0], key[1] - 1), Counter[int]())
        if ASKED not in counts:
            return 0.0
        return sum(self.rarity(one) for one in lexemes if one in counts) / sum(map(self.rarity, lexemes))

    @staticmethod
    def likeness(embedding: Any, vector: np.ndarray[Any, Any]) -> float:
        return max(0.0, float(embedding @ vector[: len(embedding)]))


@pytest.mark.parametrize("asked", QUESTIONS)
def test_ranking_follows_formula(shared_installation: Installation, asked: str) -> None:
    here = shared_installation
    user, claims = new_user(here)
    for contents in SAID:
        converse(here, claims, *contents)
        ingest(plain_context(here), user)
    stored = rows(here, "SELECT record_id, content, vectors FROM neurigraph.segments WHERE user_id = %s", user.user_id)
    passages = [passage for row in stored for passage in passages_of(row)]
    embedder, lexer = WordEmbedder(), Lexer()
    role = {"my cello on Sunday": "user", "What did you say about coats?": "assistant"}.get(asked)
    vector = embedder.embed([asked], "query")[0].astype(np.float16).astype(np.float32)
    reference, lexemes = Reference(passages), list(map(key_of, dict.fromkeys(lexer.lexemes(asked))))
    answer = search(here.acting_for(claims).using(embedder=embedder), Question(asked, message_limit=100, explain=True))
    summaries = {hit.key: explained(hit)["summary_lexical"] for hit in answer.hits}
    expected = reference.rank(lexemes, vector, role, summaries)
    lexical = {(m.record_id, m.seq): explained(m)["window_lexical"] for m in answer.messages}
    bm25 = {(record, seq): score for (record, seq), score in reference.lexical(lexemes).items()}
    assert lexical == pytest.approx(bm25, abs=1e-5)
    for hit in answer.hits:
        parts = explained(hit)
        assert parts["segment_lexical"] == pytest.approx(reference.segment(hit.key, lexemes), abs=1e-5)
        assert parts["passage"] == pytest.approx(
            max(score for (record, _), score in expected.items() if record == hit.record_id), abs=2e-4
        )
        shares = {"segment_lexical": 0.0, "summary_dense": 0.3, "summary_lexical": 0.0}
        scaled = {
            part: max(parts[part], 0) / (max(least, *(explained(one)[part] for one in answer.hits)) or 1)
            for part, least in shares.items()
        }
        score = WEIGHTS["best_passage"] * parts["passage"] + sum(WEIGHTS[part] * of for part, of in scaled.items())
        assert hit.score == pytest.approx(score + parts["boost"], abs=1e-5)
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)
    found = {(message.record_id, message.seq): message.score for message in answer.messages}
    assert found == pytest.approx({(record, seq): score for (record, seq), score in expected.items()}, abs=2e-4)
    assert [m.score for m in answer.messages] == sorted(found.values(), reverse=True)


def test_period_boost_decays(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Boats The boat needs oil.")
    ingest(plain_context(here), user)

    def boost(first: datetime, days: float) -> float:
        asked = Question("boat", explain=True, periods=((first, first + timedelta(days=days)),))
        found = search(here.acting_for(claims).using(embedder=WordEmbedder()), asked)
        return float(explained(found.messages[0])["period"])

    day = START.replace(hour=0)
    assert boost(day, 1) == pytest.approx(WEIGHTS["period"])
    assert boost(day + timedelta(days=1), 1) == pytest.approx(WEIGHTS["period"]), "a day does not count"
    assert boost(day + timedelta(days=9), 1) == pytest.approx(
        WEIGHTS["period"] * math.exp(-(8 - 9.0166 / 24) / 7), abs=0.02
    )
    assert boost(day + timedelta(days=400), 1) < 1e-6
    assert boost(day - timedelta(days=50), 40) > boost(day - timedelta(days=50), 30)
    long_ago = datetime(1, 1, 1, tzinfo=UTC)
    assert boost(long_ago, (day - long_ago).days - 30) == pytest.approx(
        WEIGHTS["period"] * math.exp(-(29 + 9.0166 / 24) / 90), abs=0.02
    ), "what came after counts less, however long the period is"
    assert boost(long_ago, (day - long_ago).days - 400) < 0.02


@pytest.mark.parametrize(
    ("query", "named", "rest"),
    [
        ("What did Caroline's sister research?", {"caroline", "caroline smith"}, "What did sister research?"),
        ("CAROLINE?", {"caroline", "caroline smith"}, "CAROLINE?"),
        ("What did they research?", set(), "What did they research?"),
        ("Where is Smith now?", {"caroline smith"}, "Where is now?"),
        ("What will Zoë do?", {"zoë"}, "What will do?"),
        ("what did zoe's cat do", {"zoë"}, "what did cat do"),
        ("IBRAHIM'S flat", {"i̇brahim"}, "flat"),
    ],
)
def test_speaker_names_are_not_embedded(query: str, named: set[str], rest: str) -> None:
    found = speakers_named(query, ["caroline", "caroline smith", "will", "zoë", "i̇brahim", "", "🦊"], Lexer())
    assert found.keys() == named
    assert without_names(query, set().union(*found.values())) == rest
