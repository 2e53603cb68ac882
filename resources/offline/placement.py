"""Place a segment: its area of life, then the person, project or narrower topic that it is about.

``areas`` ranks the areas, ``subjects`` finds what is below. ``segmentation`` finds where a segment changes its subject;
each part is placed by itself, and parts of one subject together. From the confidence given here, the domain decides
whether a step becomes a node.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import (
    Alias,
    ConceptKind,
    NodeProposal,
    Outline,
    OutlineNode,
    Placement,
    Relation,
    SourceKind,
)
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.ports import Embedder
from resources.offline.areas import CLEAR, Areas, Fit
from resources.offline.cohesion import Cohesion
from resources.offline.cues import CueScores
from resources.offline.keywords import key_phrases
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose
from resources.offline.segmentation import Part, split, subjects_of
from resources.offline.subjects import (
    Subject,
    children_of,
    exists_outside,
    main_person,
    named_node,
    new_area,
    person_step,
    topic_step,
)

CLEAR_BELOW = 1.25
"""Ratio of the first area's share to that of the second from which a segment has a node below the area."""

MUCH_SAID = 5.0
"""Weight of cue words from which the first area is right often enough, without a node below it."""

MEANING_CHARACTERS = 300
MEANING_WORDS = 40
"""Characters of a message whose meaning is read, and words beyond which it weighs no more."""

CERTAIN = 0.75
"""Confidence from which a single segment makes a node."""

STRENGTH_OF_STATED = 0.8
STRENGTH_OF_MENTION = 0.3
MAX_MENTIONED = 8
MENTIONS = "mentions"


class Placer:
    """Places segments. Caches the embeddings of the subjects of all areas."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._areas = Areas(embedder)

    def place(self, prose: Prose, outline: Outline) -> list[Placement]:
        """Return one placement for each part of a segment, in order; without steps if no topic fits."""
        names = find_names(prose)
        pieces = self._pieces(prose)
        messages = prose.segment.messages
        if len(pieces) == 1:
            return [self._place(prose, names, outline)]
        # If Anna is called Anna Smith once in the conversation, Anna in a later part is the same person.
        full = {alias: one.name for one in (*names.persons, *names.projects) for alias in one.aliases}
        placed: dict[tuple[Part, ...], Placement] = {}
        for _, said in pieces:
            if said not in placed:
                piece = _only(prose, said)
                placed[said] = self._place(piece, find_names(piece).known_as(full), outline)
        return [
            replace(placed[said], first_message=messages[part.start].seq, last_message=messages[part.end - 1].seq)
            for part, said in pieces
        ]

    def _pieces(self, prose: Prose) -> list[tuple[Part, tuple[Part, ...]]]:
        """Return the parts to place, each with all parts that tell its subject, to which a conversation may return."""
        whole = Part(0, len(prose.segment.messages))
        if prose.segment.ref.source_kind is SourceKind.UPLOAD:  # the file's name and its text are of one subject
            return [(whole, (whole,))]
        cohesion = Cohesion(prose, self._areas.cues(prose).by_message, self._vectors(prose))
        parts = split(cohesion)
        told: defaultdict[int, list[Part]] = defaultdict(list)
        numbers = subjects_of(cohesion, parts)
        for number, part in zip(numbers, parts, strict=True):
            told[number].append(part)
        return [(part, tuple(told[number])) for number, part in zip(numbers, parts, strict=True)]

    def _vectors(self, prose: Prose) -> NDArray[np.float64] | None:
        """Return the meaning of each message, zeros for those that nobody said; None if it is unknown."""
        messages = prose.segment.messages
        if self._embedder is None or len(messages) < 2:
            return None
        said = [number for number, one in enumerate(messages) if number in prose.by_message]
        texts = [messages[number].content[:MEANING_CHARACTERS] for number in said]
        try:
            found = self._embedder.embed(texts)
        except NeurigraphError:
            return None  # only the words decide: a provider that is down must not stop filing
        vectors = np.zeros((len(messages), found.shape[1]))
        weights = np.sqrt([min(len(text.split()), MEANING_WORDS) for text in texts])
        vectors[said] = found * weights[:, None]
        return vectors

    def _place(self, prose: Prose, names: Names, outline: Outline) -> Placement:
        first, last = prose.segment.messages[0].seq, prose.segment.messages[-1].seq
        aliases = tuple(Alias(name, alias) for name, alias in names.aliases)
        known = _known_project(prose, names, outline)
        if known is not None:
            steps = _steps_to(known, outline)
            return Placement(tuple(steps), first, last, _relations(names, None), aliases, names.endings)
        tops = {name_key(node.path[0]): node for node in outline.nodes if len(node.path) == 1}
        cues, phrases = self._areas.cues(prose, outline), key_phrases(prose, names)
        fits = self._areas.rank(prose, phrases, cues, tops)
        if not fits:
            unknown = new_area(prose, phrases)
            proposals = () if unknown else self._guesses(prose, names, phrases, cues, outline)
            steps = [unknown] if unknown else []
            return Placement(tuple(steps), first, last, (), aliases, names.endings, proposals)
        area = fits[0]
        if self._is_unsure(fits, sum(cues.topics.values()), has_title=prose.headline is not None):
            named = named_node(prose, fits[:2], outline)
            steps = _steps_to(named, outline) if named else []
            proposals = () if named else tuple(_known_path(fit, prose, names, cues, outline) for fit in fits[:2])
            return Placement(tuple(steps), first, last, _relations(names, None), aliases, names.endings, proposals)
        steps = [self._area_step(area, cues, tops)]
        person = None
        if len(fits) == 1 or area.share >= CLEAR_BELOW * fits[1].share:
            person = main_person(prose, names, cues, area.name, outline)
            if person is None or person.confidence < 0.75 or exists_outside(person, outline, area.name):
                topic = topic_step(prose, names, area, cues, outline)
                steps += [topic] if topic else []
            steps += [person_step(person, names, phrases)] if person else []
        is_known = name_key(area.name) in tops or area.confidence >= CERTAIN
        proposals = () if is_known else self._guesses(prose, names, phrases, cues, outline)
        return Placement(tuple(steps), first, last, _relations(names, person), aliases, names.endings, proposals)

    def _guesses(
        self, prose: Prose, names: Names, phrases: Sequence[str], cues: CueScores, outline: Outline
    ) -> tuple[tuple[str, ...], ...]:
        """Return the two likeliest nodes of a note without a clue, for a person to decide; else the user's fullest."""
        if prose.segment.ref.source_kind is not SourceKind.NOTE:
            return ()
        tops = {name_key(node.path[0]): node for node in outline.nodes if len(node.path) == 1}
        fits = self._areas.rank(prose, phrases, cues, tops, is_guess=True)[:2]
        if len(fits) == 2:
            return tuple(_known_path(fit, prose, names, cues, outline) for fit in fits)
        return tuple(one.path for one in sorted(tops.values(), key=lambda one: -one.record_count)[:2])

    def _is_unsure(self, fits: Sequence[Fit], said: float, *, has_title: bool) -> bool:
        """Return whether a person has to decide between the first two areas; never about the user's own topics."""
        if len(fits) < 2 or said >= MUCH_SAID or fits[0].name not in self._areas.topics:
            return False
        return fits[0].share < (CLEAR if has_title else fits[0].least_lead) * fits[1].share

    def _area_step(self, area: Fit, cues: CueScores, tops: Mapping[str, OutlineNode]) -> NodeProposal:
        topic = self._areas.topics.get(area.name)
        if topic is None:
            return NodeProposal(area.name, tops[name_key(area.name)].kind, 1.0)
        found = [word for word, _ in cues.words[area.name].most_common(8)]
        return NodeProposal(
            area.name, ConceptKind.TOPIC, area.confidence, topic.description, tuple(found), topic.aliases
        )


def _only(prose: Prose, parts: Sequence[Part]) -> Prose:
    """Return the messages of several parts, which need not be neighbours."""
    messages = prose.segment.messages
    chosen = tuple(message for part in parts for message in messages[part.start : part.end])
    return Prose(replace(prose.segment, messages=chosen), prose.language)


def _relations(names: Names, subject: Subject | None) -> tuple[Relation, ...]:
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


def _known_path(fit: Fit, prose: Prose, names: Names, cues: CueScores, outline: Outline) -> tuple[str, ...]:
    """Return the path of the narrowest node that the user has for a segment in an area, or of the area."""
    topic = topic_step(prose, names, fit, cues, outline)
    below = topic and next((node for node in children_of(fit, outline) if node.path[-1] == topic.name), None)
    if below:
        return below.path
    keys = {name_key(name) for name in (fit.name, *fit.aliases)}
    return next(
        (node.path for node in outline.nodes if len(node.path) == 1 and name_key(node.path[0]) in keys), (fit.name,)
    )


def _steps_to(node: OutlineNode, outline: Outline) -> list[NodeProposal]:
    """Return the steps to an existing node."""
    kinds = {other.path: other.kind for other in outline.nodes}
    prefixes = [node.path[:depth] for depth in range(1, len(node.path) + 1)]
    return [NodeProposal(path[-1], kinds.get(path, ConceptKind.TOPIC), 1.0) for path in prefixes]
