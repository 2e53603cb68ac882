"""Place a segment: its topic, then the person or project that it is mainly about.

Topics are scored by cue words, by the similarity of their description if there is an embedder, and by the nodes of the
outline. ``segmentation`` finds where a segment changes its topic or person; each part is placed by itself. From the
confidence given here, the domain decides whether a step becomes a node.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.graph.naming import is_presentable, name_key
from neurigraph_pipelines.model import (
    Alias,
    ConceptKind,
    NodeProposal,
    Outline,
    OutlineNode,
    Placement,
    Relation,
)
from neurigraph_pipelines.ports import Embedder
from resources.offline.cues import HINT_WEIGHT, CueScores, Phrase
from resources.offline.keywords import key_phrases
from resources.offline.lexicon import english, topics
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose, Reader
from resources.offline.runs import Named
from resources.offline.segmentation import Evidence, Part, split
from resources.offline.summaries import summarize

COSINE_FLOOR = 0.15
"""Cosine of a summary and an unrelated description with MiniLM; lower values mean nothing."""

COSINE_WEIGHT = 0.8
CLOSE_ENOUGH = 0.2
"""Scaled similarity from which a topic without any cue is considered: a cosine of 0.4."""

CENTROID_WEIGHT = 0.15
ALIKE = 0.45
"""Cosine of the two sides of a topic change from which they count as one topic: it is 0.0 to 0.4 where LoCoMo's
sessions really change the topic, 0.4 to 0.7 where only the cue words suggest it."""

SIDE_MESSAGES = 6
SIDE_CHARACTERS = 200
"""Text of each side of a topic change that is compared: six messages, each cut to fit the local embedder."""

MAX_TALKERS = 4
"""With more speakers a segment is a meeting and not about one of them."""

MIN_SPEAKER_SHARE = 0.2
STRENGTH_OF_STATED = 0.8
STRENGTH_OF_MENTION = 0.3
MAX_MENTIONED = 8
MENTIONS = "mentions"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A person or project that a segment may be about."""

    named: Named
    kind: ConceptKind
    weight: float
    confidence: float


class Placer:
    """Places segments. Caches the cue tables and the embeddings of the topics."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._reader = Reader()
        self._topics = {topic.name: topic for topic in topics()}

    def place(self, prose: Prose, outline: Outline) -> list[Placement]:
        """Return one placement for each part of a segment, in order; without steps if no topic fits."""
        names = find_names(prose)
        parts = self._parts(prose, names)
        if len(parts) == 1:
            return [self._place(prose, names, outline)]
        messages = prose.segment.messages
        pieces = [prose.within(messages[part.start].seq, messages[part.end - 1].seq) for part in parts]
        # If Anna is called Anna Smith once in the conversation, Anna in a later part is the same person.
        full = {alias: one.name for one in (*names.persons, *names.projects) for alias in one.aliases}
        return [self._place(piece, find_names(piece).known_as(full), outline) for piece in pieces]

    def _parts(self, prose: Prose, names: Names) -> list[Part]:
        """Split the segment where the topic changes and, within a topic, where the person or project changes."""
        cues = CueScores(prose, self._topic_cues, self._subtopic_cues)
        mentions = _mentions(prose, names)
        return [
            one
            for part in split(prose, cues.by_message, self._alike(prose))
            for one in split(prose, mentions, lambda _one, _other: False, part)
        ]

    def _alike(self, prose: Prose) -> Callable[[Part, Part], bool]:
        """Return a function that says whether two parts are similar in meaning; always False without an embedder."""

        def side(start: int, end: int) -> str:
            return " ".join(message.content[:SIDE_CHARACTERS] for message in prose.segment.messages[start:end])

        def alike(one: Part, other: Part) -> bool:
            if self._embedder is None:
                return False
            before = side(max(one.start, one.end - SIDE_MESSAGES), one.end)
            after = side(other.start, min(other.end, other.start + SIDE_MESSAGES))
            try:
                vectors = self._embedder.embed([before, after])
            except NeurigraphError:
                return False  # only the cue words decide: a provider that is down must not stop filing
            return float(vectors[0] @ vectors[1]) >= ALIKE

        return alike

    def _place(self, prose: Prose, names: Names, outline: Outline) -> Placement:
        first, last = prose.segment.messages[0].seq, prose.segment.messages[-1].seq
        tops = {name_key(node.path[0]): node for node in outline.nodes if len(node.path) == 1}
        cues = CueScores(prose, self._cues(prose, tops), self._subtopic_cues)
        aliases = tuple(Alias(name, alias) for name, alias in names.aliases)
        known = _known_project(prose, names, outline)
        if known is not None:
            steps = _steps_to(known, outline)
            return Placement(tuple(steps), first, last, _relations(names, None), aliases)
        scored = self._rank(prose, cues, tops)
        topic = next(iter(scored), None)
        if topic is None:
            return Placement((), first, last, aliases=aliases)
        phrases = key_phrases(prose, names)
        steps = [self._topic_step(topic, scored[topic], cues, tops)]
        subject = _subject(prose, names, _candidates(prose, names, topic), cues, topic)
        elsewhere = subject is not None and _exists_outside(subject, outline, topic)
        if subject is None or elsewhere or subject.confidence < 0.75:
            subtopic = cues.subtopic(topic)
            if subtopic is not None:
                steps.append(subtopic)
        if subject is not None:
            steps.append(_subject_step(subject, names, phrases))
        return Placement(tuple(steps), first, last, _relations(names, subject), aliases)

    def _cues(self, prose: Prose, tops: Mapping[str, OutlineNode]) -> dict[Phrase, list[tuple[str, float]]]:
        """Return phrases as stems, each with its topics and weights; top nodes of the outline are topics, too."""
        table = self._topic_cues
        foreign = [node for key, node in tops.items() if key not in self._known_keys and node.kind is ConceptKind.TOPIC]
        if not foreign:
            return table
        table = {phrase: list(entries) for phrase, entries in table.items()}
        for node in foreign:
            for text, weight in [
                (node.path[0], 1.0),
                *((a, 1.0) for a in node.aliases),
                *((k, 0.5) for k in node.keywords),
            ]:
                phrase = prose.stems(text)
                if phrase:
                    table.setdefault(phrase, []).append((node.path[0], weight))
        return table

    @cached_property
    def _known_keys(self) -> frozenset[str]:
        return frozenset(name_key(name) for topic in self._topics.values() for name in (topic.name, *topic.aliases))

    @cached_property
    def _topic_cues(self) -> dict[Phrase, list[tuple[str, float]]]:
        table: dict[Phrase, list[tuple[str, float]]] = {}
        for topic in self._topics.values():
            for text, weight in [*((cue, 1.0) for cue in topic.cues), *((hint, HINT_WEIGHT) for hint in topic.hints)]:
                entries = table.setdefault(self._stems(text), [])
                if topic.name not in (name for name, _ in entries):
                    entries.append((topic.name, weight))
        # A cue of several topics is weaker evidence for each (the idea of inverse document frequency).
        return {
            phrase: [(name, weight / len(entries) ** 0.5) for name, weight in entries]
            for phrase, entries in table.items()
        }

    @cached_property
    def _subtopic_cues(self) -> dict[tuple[str, Phrase], list[str]]:
        table: dict[tuple[str, Phrase], list[str]] = {}
        for topic in self._topics.values():
            for name, cues in topic.subtopics.items():
                for cue in cues:
                    table.setdefault((topic.name, self._stems(cue)), []).append(name)
        return table

    def _stems(self, text: str) -> Phrase:
        return tuple(word.stem for word in self._reader.words(text))

    def _rank(self, prose: Prose, cues: CueScores, tops: Mapping[str, OutlineNode]) -> dict[str, float]:
        """Return topics with their confidence, best first."""
        similar = self._similarities(prose, tops)
        total = sum(cues.topics.values())
        merit, confidence = {}, {}
        for name in dict.fromkeys((*self._topics, *cues.topics, *similar)):
            evidence, close = cues.topics.get(name, 0.0), similar.get(name, 0.0)
            share = evidence / total if total else 0.0
            merit[name] = share + close
            confidence[name] = min(0.97, 0.5 + 0.25 * min(1.0, evidence / 2) + 0.2 * share + 0.4 * min(0.5, close))
        ranked = [name for name in merit if cues.topics.get(name) or merit[name] >= CLOSE_ENOUGH]
        ranked.sort(key=lambda name: -merit[name])
        return {name: confidence[name] for name in ranked}

    def _similarities(self, prose: Prose, tops: Mapping[str, OutlineNode]) -> dict[str, float]:
        """Return the similarity of the segment to each topic, scaled like shares; empty if unknown."""
        if self._embedder is None:
            return {}
        try:
            vector = self._embedder.embed([summarize(prose, 150).text])[0]
            described = self._described @ vector
        except NeurigraphError:
            return {}  # only the cue words decide: a provider that is down must not stop filing
        close = {
            name: COSINE_WEIGHT * max(0.0, float(cosine) - COSINE_FLOOR)
            for name, cosine in zip(self._topics, described, strict=True)
        }
        for node in tops.values():
            if node.centroid is not None and node.kind is ConceptKind.TOPIC:
                cosine = _cosine(vector, node.centroid)
                close[node.path[0]] = close.get(node.path[0], 0.0) + CENTROID_WEIGHT * max(0.0, cosine)
        return close

    @cached_property
    def _described(self) -> NDArray[np.float32]:
        """Embeddings of the topics' descriptions, ``(topics, dimensions)``."""
        assert self._embedder is not None
        return self._embedder.embed([f"{topic.name}: {topic.description}" for topic in self._topics.values()])

    def _topic_step(
        self, name: str, confidence: float, cues: CueScores, tops: Mapping[str, OutlineNode]
    ) -> NodeProposal:
        topic = self._topics.get(name)
        if topic is None:
            return NodeProposal(name, tops[name_key(name)].kind if name_key(name) in tops else ConceptKind.TOPIC, 1.0)
        found = [word for word, _ in cues.words[name].most_common(8)]
        return NodeProposal(name, ConceptKind.TOPIC, confidence, topic.description, tuple(found), topic.aliases)


def _mentions(prose: Prose, names: Names) -> Evidence:
    """Return the persons and projects of each message; empty with several speakers, who talk about themselves."""
    if len(names.speakers) > 1:
        return {}
    found: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for one in (*names.persons, *names.projects):
        if one.name not in names.speakers.values():
            for number in one.sentences:
                found[prose.sentences[number].message][one.name] = 1.0
    return found


def _candidates(prose: Prose, names: Names, topic: str) -> list[_Candidate]:
    """Return named persons and projects, except speakers, that could become a node below ``topic``."""
    messages = max(1, len(prose.by_message))
    homes = english().relations
    # Relatives belong under Family; a mention elsewhere does not make them the subject of that topic.
    stated = {r.person for r in names.relations if topic == "Family" or homes.get(r.label.split()[-1]) != "Family"}
    speaking = set(names.speakers.values())
    found = []
    for kind, group in ((ConceptKind.PROJECT, names.projects), (ConceptKind.PERSON, names.persons)):
        for one in group:
            if not is_presentable(one.name) or one.name in speaking:
                continue
            if name_key(one.name) == name_key(prose.segment.ref.user_slug):
                continue
            where = {prose.sentences[number].message for number in one.sentences}
            share = min(1.0, len(where) / messages * 1.5)
            known = 0.25 if kind is ConceptKind.PERSON and one.name in stated else 0.0
            base = 0.45 if kind is ConceptKind.PROJECT else 0.4
            step = 0.15 if kind is ConceptKind.PROJECT else 0.1
            confidence = min(0.97, base + known + step * min(3, one.mentions) + 0.15 * share)
            found.append(_Candidate(one, kind, one.mentions + 4 * known, confidence))
    return sorted(found, key=lambda c: -c.weight)


def _subject(
    prose: Prose, names: Names, candidates: Sequence[_Candidate], cues: CueScores, topic: str
) -> _Candidate | None:
    """Return the person or project that the segment is mainly about within ``topic``."""
    mentioned = candidates[0] if candidates and candidates[0].confidence >= 0.6 else None
    speaker = _main_speaker(prose, names, cues, topic)
    if speaker is None:
        return None if len(names.speakers) > MAX_TALKERS else mentioned
    if mentioned is not None and mentioned.confidence >= 0.75 and mentioned.weight > 0.5 * len(prose.by_message):
        return mentioned
    return speaker


def _main_speaker(prose: Prose, names: Names, cues: CueScores, topic: str) -> _Candidate | None:
    """Return the speaker who says most about ``topic``; None if only the account's user or a whole meeting speaks."""
    persons = {
        author: name for author, name in names.speakers.items() if author != names.owner and is_presentable(name)
    }
    authors = {message.author for message in prose.segment.messages if message.author}
    if not persons or len(authors) > MAX_TALKERS:
        return None
    weights: defaultdict[str, float] = defaultdict(float)
    for number, sentences in prose.by_message.items():
        author = prose.segment.messages[number].author
        if author in persons:
            own = sum(any(word.lower in {"i", "my", "i'm", "i've"} for word in s.words) for s in sentences)
            evidence = cues.by_message[number].get(topic, 0.0)
            weights[author] += evidence * (1.0 if own else 0.4) + 0.1 * own
    if not weights:
        return None
    author, most = max(weights.items(), key=lambda item: item[1])
    share = most / sum(weights.values()) if most else 0.0
    if share < MIN_SPEAKER_SHARE:
        return None
    messages = sum(message.author == author for message in prose.segment.messages)
    confidence = min(0.97, 0.6 + 0.3 * share + 0.1 * min(1.0, messages / 4))
    named = next((one for one in names.persons if one.name == persons[author]), None)
    return _Candidate(named, ConceptKind.PERSON, most, confidence) if named else None


def _subject_step(subject: _Candidate, names: Names, phrases: Sequence[str]) -> NodeProposal:
    one = subject.named
    labels = list(dict.fromkeys(r.label for r in names.relations if r.person == one.name and r.whose is None))
    what = {ConceptKind.PERSON: ", ".join(labels) or "a person", ConceptKind.PROJECT: "a project"}[subject.kind]
    keywords = (*labels, *phrases[:8])
    return NodeProposal(one.name, subject.kind, subject.confidence, f"{one.name}: {what}.", keywords, one.aliases)


def _relations(names: Names, subject: _Candidate | None) -> tuple[Relation, ...]:
    """Return stated relations of the user and of the placed person, and mentions of other persons."""
    placed = subject.named.name if subject and subject.kind is ConceptKind.PERSON else None
    stated = [
        Relation(relation.person, relation.label, STRENGTH_OF_STATED, relation.whose is None, ConceptKind.PERSON)
        for relation in names.relations
        if relation.whose is None or relation.whose == placed
    ]
    known = {relation.other for relation in stated} | set(names.speakers.values()) | {placed}
    mentioned = [one.name for one in names.persons if one.name not in known and one.mentions][:MAX_MENTIONED]
    person = ConceptKind.PERSON
    return (*stated, *(Relation(name, MENTIONS, STRENGTH_OF_MENTION, True, person) for name in mentioned))


def _known_project(prose: Prose, names: Names, outline: Outline) -> OutlineNode | None:
    """Return the outline's project that the title names, or that the content names at least as often as any person."""
    projects = {
        name_key(name): node
        for node in reversed(outline.nodes)
        if node.kind is ConceptKind.PROJECT
        for name in (node.path[-1], *node.aliases)
    }
    if not projects:
        return None
    counts: Counter[tuple[str, ...]] = Counter()
    headline = {name_key(word.text) for word in prose.headline.words} if prose.headline else set()
    least = max((one.mentions for one in names.persons if one.name not in names.speakers.values()), default=0)
    for one in (*names.projects, *names.others):
        forms = [name_key(form) for form in (one.name, *one.aliases)]
        node = next((projects[form] for form in forms if form in projects), None)
        if node is not None:
            counts[node.path] += one.mentions + (least if headline.intersection(forms) else 0)
    path, weight = max(counts.items(), key=lambda item: item[1], default=((), 0))
    return next(node for node in projects.values() if node.path == path) if weight >= max(2, least) else None


def _steps_to(node: OutlineNode, outline: Outline) -> list[NodeProposal]:
    """Return the steps to an existing node."""
    kinds = {other.path: other.kind for other in outline.nodes}
    prefixes = [node.path[:depth] for depth in range(1, len(node.path) + 1)]
    return [NodeProposal(path[-1], kinds.get(path, ConceptKind.TOPIC), 1.0) for path in prefixes]


def _exists_outside(subject: _Candidate, outline: Outline, topic: str) -> bool:
    """Whether the person has a node, but not directly under ``topic``."""
    if subject.kind is not ConceptKind.PERSON:
        return False
    keys = {name_key(name) for name in (subject.named.name, *subject.named.aliases)}
    parents = [
        tuple(map(name_key, node.path[:-1]))
        for node in outline.nodes
        if node.kind is ConceptKind.PERSON and keys & {name_key(name) for name in (node.path[-1], *node.aliases)}
    ]
    return bool(parents) and (name_key(topic),) not in parents


def _cosine(vector: NDArray[np.float32], centroid: Sequence[float]) -> float:
    other = np.asarray(centroid[: len(vector)], dtype=np.float32)
    length = float(np.linalg.norm(other))
    return float(vector[: len(other)] @ other) / length if length else 0.0
