"""Place a segment: its area of life, then the person, project or narrower topic that it is about.

``areas`` ranks the areas, ``subjects`` finds what is below. ``segmentation`` finds where a segment changes its topic or
person; each part is placed by itself. From the confidence given here, the domain decides whether a step becomes a node.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import (
    Alias,
    ConceptKind,
    NodeProposal,
    Outline,
    OutlineNode,
    Placement,
    Relation,
)
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.ports import Embedder
from resources.offline.areas import Areas, Fit
from resources.offline.cues import CueScores
from resources.offline.keywords import key_phrases
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose
from resources.offline.segmentation import Evidence, Part, split
from resources.offline.subjects import Subject, exists_outside, main_person, new_area, person_step, topic_step

CLEAR = 1.25
"""Least ratio of the first area's share to that of the second for a node below the area."""

ALIKE = 0.45
"""Cosine of the two sides of a topic change from which they count as one topic: it is 0.0 to 0.4 where LoCoMo's
sessions really change the topic, 0.4 to 0.7 where only the cue words suggest it."""

SIDE_MESSAGES = 6
SIDE_CHARACTERS = 200
"""Text of each side of a topic change that is compared: six messages, each cut to fit the local embedder."""

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
        cues = self._areas.cues(prose)
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
        aliases = tuple(Alias(name, alias) for name, alias in names.aliases)
        known = _known_project(prose, names, outline)
        if known is not None:
            steps = _steps_to(known, outline)
            return Placement(tuple(steps), first, last, _relations(names, None), aliases, names.endings)
        tops = {name_key(node.path[0]): node for node in outline.nodes if len(node.path) == 1}
        cues, phrases = self._areas.cues(prose, tops), key_phrases(prose, names)
        fits = self._areas.rank(prose, phrases, cues, tops)
        if not fits:
            unknown = new_area(prose, phrases)
            return Placement((unknown,) if unknown else (), first, last, aliases=aliases, endings=names.endings)
        area = fits[0]
        steps = [self._area_step(area, cues, tops)]
        person = None
        if len(fits) == 1 or area.share >= CLEAR * fits[1].share:
            person = main_person(prose, names, cues, area.name)
            if person is None or person.confidence < 0.75 or exists_outside(person, outline, area.name):
                topic = topic_step(prose, names, area, cues, outline)
                steps += [topic] if topic else []
            steps += [person_step(person, names, phrases)] if person else []
        return Placement(tuple(steps), first, last, _relations(names, person), aliases, names.endings)

    def _area_step(self, area: Fit, cues: CueScores, tops: Mapping[str, OutlineNode]) -> NodeProposal:
        topic = self._areas.topics.get(area.name)
        if topic is None:
            return NodeProposal(area.name, tops[name_key(area.name)].kind, 1.0)
        found = [word for word, _ in cues.words[area.name].most_common(8)]
        return NodeProposal(
            area.name, ConceptKind.TOPIC, area.confidence, topic.description, tuple(found), topic.aliases
        )


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


def _steps_to(node: OutlineNode, outline: Outline) -> list[NodeProposal]:
    """Return the steps to an existing node."""
    kinds = {other.path: other.kind for other in outline.nodes}
    prefixes = [node.path[:depth] for depth in range(1, len(node.path) + 1)]
    return [NodeProposal(path[-1], kinds.get(path, ConceptKind.TOPIC), 1.0) for path in prefixes]
