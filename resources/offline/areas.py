"""The area of life that a segment is about, and the subject within it.

Two kinds of weights add up: the cue words of ``topics.toml``, and, where there is an embedder and the text is English,
the similarity of pieces of the segment, its title and its key phrases to the subjects of each area and to sentences
about it (``examples.toml``). A single word decides nothing. ``placement`` makes nodes of what is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import ConceptKind, Outline, OutlineNode, Role
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.ports import Embedder
from resources.offline.cues import HINT_WEIGHT, CueScores, CueTable, Phrase
from resources.offline.lexicon import Topic, topics
from resources.offline.prose import Prose, Reader

PIECES = 8
"""Pieces of a segment whose meaning is compared; a single vector of all would blur its topics."""

WORDS_OF_PIECE = 120
LEAST_OF_MESSAGE = 20
MOST_OF_MESSAGE = 400
"""Words of a piece, and the fewest and the most of each message, the first ones, which say what it is about."""

ROOM = 0.75
"""Power of a message's length with which its share of the pieces grows. With equal shares (0), a long answer is read no
further than a short reply; 0.5 to 1 file one or two more of 42 labelled conversations where they belong."""

MAX_PHRASES = 15
PHRASES_OF_SUBJECT = 8
"""Phrases of a subject that are embedded with its name."""

SHARPNESS = 0.07
"""Difference of cosines at which one area is e times as likely as another (MiniLM: 0.1 to 0.6 for short texts)."""

SHARPNESS_WITHIN = 0.05
"""The same for the subjects of an area."""

NEAREST = 3
"""Sentences or subjects of an area that a text is compared with, the nearest ones: one alone may be near by chance."""

WEIGHTS = {"pieces": 1.0, "phrases": 0.3, "title": 0.15, "cues": 0.5, "cues of subjects": 0.7}
"""Factor of each kind of weights. Half or twice of each changes two areas of a hundred on the labelled conversations
of the development half and on LoCoMo."""

CLOSE = 0.3
"""Mean cosine of the nearest texts of an area below which the meaning of a text says nothing."""

FEW_CUES = 1.0
"""Weight of cue words that counts half beside the meaning: a single word decides nothing."""

LEAST_SAID = 4
"""Words that carry meaning of which a segment needs so many for its meaning to count."""

MAX_KNOWN_NODES = 400
"""Nodes of the user whose names and keywords are cues, the fullest first."""

MAX_KNOWN_WORDS = 20_000
"""Names and keywords whose stems are kept in memory."""

WEIGHT_OF_NAME = 1.0
WEIGHT_OF_KEYWORD = 0.7
WEIGHT_OF_PERSON = 0.5
"""Weight of the name of a topic or project, of a keyword, and of a person's name, who may be named in passing."""

CLEAR, DOUBTFUL, ALONE = 1.1, 1.2, 1.6
"""Least ratio of the first area's share to that of the second for a place in it: where words and meaning agree or a
title says what it is about, where they do not agree, and where only words speak. Below that a person decides, unless
much is said."""

MAX_OWN_TOPICS = 64
OWN_TOPIC_BONUS = 2.0
"""The user's own topic is preferred to an area that fits equally."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a segment fits an area.

    Attributes:
        share: 0 to 1, over all areas.
        confidence: 0 to 1, that it belongs there.
        subjects: Share of each subject of the area, best first.
        aliases: Other names under which the user may have the area.
        least_lead: Ratio of its share to that of the second area from which a segment lies there without doubt.
    """

    name: str
    share: float
    confidence: float
    subjects: dict[str, float]
    aliases: tuple[str, ...] = ()
    least_lead: float = ALONE


def subject_texts(topic: Topic) -> list[str]:
    """Return the texts whose meaning a segment is compared with: a topic's subjects, and itself as the last."""
    subjects = [f"{name}: {', '.join(some[:PHRASES_OF_SUBJECT])}" for name, some in topic.subtopics.items()]
    return [*subjects, f"{topic.name}: {topic.description}"]


class Areas:
    """Ranks the areas of life for segments. Caches the cue tables and the embeddings of the subjects."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._seen: dict[str, NDArray[np.float32]] = {}
        self._stems: dict[tuple[str, str], Phrase] = {}
        self.topics = {topic.name: topic for topic in topics()}

    def cues(self, prose: Prose, outline: Outline | None = None) -> CueScores:
        """Count the cue words of a segment; names and keywords of the nodes that the user has are cues, too."""
        own = self._known(outline) if outline is not None else []
        if not own:
            return CueScores(prose, table_of)
        extended = _extended(table_of(prose.language), own, lambda text: self._stems_of(prose, text))
        return CueScores(prose, lambda language: extended if language == prose.language else table_of(language))

    def rank(
        self,
        prose: Prose,
        phrases: Sequence[str],
        cues: CueScores,
        tops: Mapping[str, OutlineNode],
        *,
        is_guess: bool = False,
    ) -> list[Fit]:
        """Return the areas and the user's own topics that a segment fits, best first; empty if nothing is known.

        Args:
            is_guess: Also those whose meaning is only nearer than that of others.
        """
        own = self._own(tops)
        names = [*self.topics, *(node.path[0] for node in own)]
        total = sum(cues.topics.values())
        by_words = np.array([cues.topics.get(name, 0.0) / total if total else 0.0 for name in names])
        meaning = self._meaning(prose, phrases, own, least=0 if is_guess else LEAST_SAID)
        merit, least = by_words, 1e-6
        if meaning is not None:
            doubt = total / (total + FEW_CUES)
            merit = (WEIGHTS["cues"] * doubt * by_words + meaning.areas) / (WEIGHTS["cues"] + meaning.weight)
            least = 1e-6 if is_guess or meaning.closest >= CLOSE or total >= 1 else 1.0
        agreed = None if meaning is None or meaning.areas.argmax() != by_words.argmax() else by_words.argmax()
        merit = merit * np.array([1.0] * len(self.topics) + [OWN_TOPIC_BONUS] * len(own))
        found = []
        for index in np.argsort(-merit, kind="stable"):
            if merit[index] >= least:
                name, weight = names[index], cues.topics.get(names[index], 0.0)
                by_cues = 0.5 + 0.25 * min(1.0, weight / 2) + 0.2 * float(by_words[index])
                by_meaning = 0.7 + 0.4 * float(merit[index]) if meaning is not None else 0.0
                confidence = min(0.97, max(by_cues, by_meaning))
                aliases = self.topics[name].aliases if name in self.topics else ()
                subjects = self._subjects(name, cues, meaning)
                lead = ALONE if meaning is None else CLEAR if index == agreed else DOUBTFUL
                found.append(Fit(name, float(merit[index]), confidence, subjects, aliases, lead))
        return found

    def _own(self, tops: Mapping[str, OutlineNode]) -> list[OutlineNode]:
        """Return the user's own topics among the top nodes, the fullest first: those that are no area's other name."""
        own = [node for key, node in tops.items() if key not in areas_by_key() and node.kind is ConceptKind.TOPIC]
        return sorted(own, key=lambda node: -node.record_count)[:MAX_OWN_TOPICS]

    def _known(self, outline: Outline) -> list[tuple[str, OutlineNode]]:
        """Return the nodes of the user, each with its area or the user's own topic, the fullest first."""
        nodes = sorted(outline.nodes, key=lambda node: -node.record_count)[:MAX_KNOWN_NODES]
        return [(areas_by_key().get(name_key(node.path[0]), node.path[0]), node) for node in nodes]

    def _stems_of(self, prose: Prose, text: str) -> Phrase:
        """Return the stems of a name or keyword, which segment after segment needs."""
        key = (prose.language, text)
        found = self._stems.get(key)
        if found is None:
            if len(self._stems) >= MAX_KNOWN_WORDS:
                self._stems.clear()
            found = self._stems[key] = prose.stems(text)
        return found

    def _meaning(self, prose: Prose, phrases: Sequence[str], own: Sequence[OutlineNode], least: int) -> _Meaning | None:
        """Compare the segment with the subjects of all areas; None if its meaning is unknown."""
        if self._embedder is None or prose.language != "en":
            return None
        pieces, title = _pieces(prose), [prose.headline.text] if prose.headline else []
        phrases = phrases[:MAX_PHRASES]
        said = sum(len(sentence.content) for sentence in prose.sentences)
        if not pieces or said < least:
            return None
        described = [f"{node.path[0]}: {', '.join(node.keywords[:PHRASES_OF_SUBJECT])}" for node in own]
        seen = {text: vector for text, vector in self._seen.items() if text in set(described)}
        unknown = [text for text in dict.fromkeys(described) if text not in seen]
        try:
            subjects, areas, examples = self._described
            vectors = self._embedder.embed([*pieces, *phrases, *title, *unknown])
        except NeurigraphError:
            return None  # only the cue words decide: a provider that is down must not stop filing
        texts = len(pieces) + len(phrases) + len(title)
        seen.update(zip(unknown, vectors[texts:], strict=True))
        self._seen = seen
        subjects = np.concatenate([subjects, *(seen[text][None] for text in described)])
        areas = np.concatenate([areas, len(self.topics) + np.arange(len(own))])
        examples = np.concatenate([examples, np.zeros(len(own), bool)])
        weights = np.concatenate(
            [
                np.full(len(pieces), WEIGHTS["pieces"] / len(pieces)),
                _falling(len(phrases), WEIGHTS["phrases"]),
                np.full(len(title), WEIGHTS["title"]),
            ]
        )
        return _Meaning.of(vectors[:texts] @ subjects.T, weights, areas, examples)

    @cached_property
    def _described(self) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_]]:
        """The vectors of all subjects and examples, the number of the area of each, and whether it is an example."""
        assert self._embedder is not None
        texts = [[*subject_texts(topic), *topic.examples] for topic in self.topics.values()]
        areas = np.repeat(np.arange(len(texts)), list(map(len, texts)))
        are_examples = [text in topic.examples for topic, some in zip(topics(), texts, strict=True) for text in some]
        return self._embedder.embed([text for some in texts for text in some]), areas, np.array(are_examples)

    def _subjects(self, name: str, cues: CueScores, meaning: _Meaning | None) -> dict[str, float]:
        topic = self.topics.get(name)
        if topic is None or not topic.subtopics:
            return {}
        counts = cues.subtopics[name]
        total = max(sum(counts.values()), sum(cues.words[name].values()), 1)
        shares = np.array([counts[subject] / total for subject in topic.subtopics])
        if meaning is not None:
            near = meaning.subjects[meaning.areas_of_subjects == list(self.topics).index(name)][: len(shares)]
            weight = WEIGHTS["cues of subjects"]
            shares = (weight * shares + near) / (weight + meaning.weight)
        ranked = sorted(zip(topic.subtopics, map(float, shares), strict=True), key=lambda pair: -pair[1])
        return {subject: share for subject, share in ranked if share > 0}


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The similarity of a segment to all subjects.

    Attributes:
        areas: Weighted share of each area.
        subjects: Weighted share of each subject within its area.
        closest: The highest mean cosine of any text and the nearest texts of an area.
    """

    areas: NDArray[np.float32]
    subjects: NDArray[np.float32]
    areas_of_subjects: NDArray[np.int64]
    weight: float
    closest: float

    @classmethod
    def of(
        cls,
        cosines: NDArray[np.float32],
        weights: NDArray[np.float64],
        areas: NDArray[np.int64],
        are_examples: NDArray[np.bool_],
    ) -> _Meaning:
        """Turn cosines, ``(texts, subjects and examples)``, into shares; examples have none within their area."""
        by_area = [cosines[:, areas == area] for area in range(int(areas.max()) + 1)]
        near = np.stack([np.sort(some, axis=1)[:, -NEAREST:].mean(axis=1) for some in by_area], axis=1)
        shares = np.exp((near - near.max(axis=1, keepdims=True)) / SHARPNESS)
        shares /= shares.sum(axis=1, keepdims=True)
        within = np.exp((cosines - cosines.max(axis=1, keepdims=True)) / SHARPNESS_WITHIN) * ~are_examples
        for area in range(len(by_area)):
            within[:, areas == area] /= within[:, areas == area].sum(axis=1, keepdims=True)
        return cls(weights @ shares, weights @ within, areas, float(weights.sum()), float(near.max()))


def _falling(count: int, total: float) -> NDArray[np.float64]:
    """Return weights that fall with the rank, with the sum ``total``."""
    weights: NDArray[np.float64] = 1 / np.sqrt(1.0 + np.arange(count, dtype=np.float64))
    return weights * (total / float(weights.sum())) if count else weights


def _pieces(prose: Prose) -> list[str]:
    """Return the beginnings of the messages, in at most ``PIECES`` texts of about the same length."""
    said = [
        message.content[: 20 * MOST_OF_MESSAGE].split()[:MOST_OF_MESSAGE]
        for message in prose.segment.messages
        if message.role in (Role.USER, Role.ASSISTANT)
    ]
    shares = np.array([len(words) for words in said]) ** ROOM
    room = PIECES * WORDS_OF_PIECE * shares / max(1.0, float(shares.sum()))
    most = np.maximum(LEAST_OF_MESSAGE, np.round(room)).astype(int)
    read = [word for words, count in zip(said, most, strict=True) for word in words[:count]]
    size = max(LEAST_OF_MESSAGE, -(-len(read) // PIECES))
    return [" ".join(read[start : start + size]) for start in range(0, len(read), size)]


@cache
def areas_by_key() -> dict[str, str]:
    """Return the areas by the keys of their names and of the other names that they have."""
    return {name_key(name): topic.name for topic in topics() for name in (topic.name, *topic.aliases)}


@cache
def table_of(language: str) -> CueTable:
    """Return the cues of a language; the English ones are not those of another language."""
    found: dict[Phrase, dict[str, float]] = {}
    subtopics: dict[tuple[str, Phrase], list[str]] = {}
    stems = _stemmer(language)
    for topic in topics():
        for text, weight in _phrases(topic, language):
            found.setdefault(stems(text), {}).setdefault(topic.name, weight)
        for name, texts in topic.subtopics.items() if language == "en" else ():
            for text in texts:
                subtopics.setdefault((topic.name, stems(text)), []).append(name)
    found.pop((), None)
    # A cue of several topics weighs less for each (the idea of inverse document frequency).
    weighed = {
        phrase: [(name, weight / len(entries) ** 0.5) for name, weight in entries.items()]
        for phrase, entries in found.items()
    }
    return CueTable(weighed, subtopics, language == "de")


def _phrases(topic: Topic, language: str) -> list[tuple[str, float]]:
    if language == "en":
        return [*((cue, 1.0) for cue in topic.cues), *((hint, HINT_WEIGHT) for hint in topic.hints)]
    return [(cue, 1.0) for cue in topic.foreign.get(language, ())]


def _stemmer(language: str) -> Callable[[str], Phrase]:
    reader = Reader(language)
    return lambda text: tuple(word.stem for word in reader.words(text))


def _extended(table: CueTable, known: Sequence[tuple[str, OutlineNode]], stems: Callable[[str], Phrase]) -> CueTable:
    """Return a table with the names, aliases and keywords of the nodes that the user has."""
    own: dict[Phrase, dict[str, float]] = {}
    subtopics = {key: list(names) for key, names in table.subtopics.items()}
    persons = {name_key(node.path[-1]) for _, node in known if node.kind is ConceptKind.PERSON}
    for area, node in known:
        weight_of_name = WEIGHT_OF_PERSON if node.kind is ConceptKind.PERSON else WEIGHT_OF_NAME
        named = ((name, weight_of_name) for name in (node.path[-1], *node.aliases))
        kept = ((word, WEIGHT_OF_KEYWORD) for word in node.keywords if name_key(word) not in persons)
        for text, weight in (*named, *kept):
            if phrase := stems(text):
                weights = own.setdefault(phrase, {})
                weights[area] = max(weight, weights.get(area, 0.0))
                if len(node.path) > 1:
                    subtopics.setdefault((area, phrase), []).append(node.path[1])
    found = dict(table.topics)
    for phrase, weights in own.items():
        entries = dict(found.get(phrase, ()))
        for area, weight in weights.items():
            entries[area] = max(entries.get(area, 0.0), weight / len(weights) ** 0.5)
        found[phrase] = list(entries.items())
    return CueTable(found, subtopics, table.has_compounds)
