"""The node below its area in which a segment belongs: a person, a project, or the subject in a few words.

A person or project is the subject if much of the segment is about them. Else it is a node that the user has, a subject
of ``topics.toml``, so that conversations about one thing meet in one node, or the owner's own words. If none of them is
clear, there is none: a memory lies better in its area than in a wrong node below it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neurigraph_pipelines.graph.naming import is_presentable, name_key
from neurigraph_pipelines.model import ConceptKind, NodeProposal, Outline, OutlineNode, Role
from resources.offline.areas import Fit
from resources.offline.cues import CueScores
from resources.offline.lexicon import english
from resources.offline.names import Names
from resources.offline.prose import Prose
from resources.offline.runs import Named

MAX_TALKERS = 4
"""With more speakers a segment is a meeting and not about one of them."""

MIN_SPEAKER_SHARE = 0.2

LEAST_OF_PERSON = 0.15
"""Share of sentences that name a person from which the segment may be about them."""

LEAST_SHARE = 0.35
"""Share of an area's subjects from which the first of them can be the subject of a segment."""

LEAST_CUES = 2
"""Cue words of a subject that the segment must have: similar meaning alone makes a dog a horse."""

LEAST_LEAD = 1.5
"""Least ratio of the first subject's share to that of the second."""

KNOWN_SUBJECT = 1.3
"""Factor for a subject that has a node."""

USED_SHARE = 0.4
USED_MESSAGES = 4
"""Messages, and their share, that use the name of a node that the user has from which the segment belongs there."""

MET_SHARE = 0.5
"""Cues of a node below the area, for each message, from which the segment belongs there."""

NEW_AREA_SHARE = 0.3
LEAST_NAMING = 2
"""Sentences, and their share, that use the phrase that names a new topic of layer 1."""

INDIVIDUALS: dict[str, tuple[str, ...] | None] = {
    "Travel": ("to", "in", "at", "from", "near", "around", "via"),
    "Pets": None,
}
"""Areas whose subjects have names, with the words one of which stands before the name."""

LEAST_MENTIONS = 3
"""Sentences that name a place or an animal from which it is the subject; a title counts for all of them."""

TITLE_SHARE = 0.5
"""Share of sentences or messages that a mention in the conversation's title counts for."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A person or project that a segment may be about."""

    named: Named
    kind: ConceptKind
    weight: float
    confidence: float


def main_person(prose: Prose, names: Names, cues: CueScores, topic: str, outline: Outline) -> Subject | None:
    """Return the person or project that the segment is mainly about within ``topic``."""
    candidates = _candidates(prose, names, topic, outline)
    mentioned = candidates[0] if candidates and candidates[0].confidence >= 0.6 else None
    speaker = _main_speaker(prose, names, cues, topic)
    if speaker is None:
        return None if len(names.speakers) > MAX_TALKERS else mentioned
    if mentioned is not None and mentioned.confidence >= 0.75 and mentioned.weight > 0.5 * len(prose.by_message):
        return mentioned
    return speaker


def exists_outside(subject: Subject, outline: Outline, topic: str) -> bool:
    """Return whether the person has a node, but not directly under ``topic``."""
    if subject.kind is not ConceptKind.PERSON:
        return False
    keys = {name_key(name) for name in (subject.named.name, *subject.named.aliases)}
    parents = [
        tuple(map(name_key, node.path[:-1]))
        for node in outline.nodes
        if node.kind is ConceptKind.PERSON and keys & {name_key(name) for name in (node.path[-1], *node.aliases)}
    ]
    return bool(parents) and (name_key(topic),) not in parents


def person_step(subject: Subject, names: Names, phrases: Sequence[str]) -> NodeProposal:
    """Return the step to a person or project."""
    one = subject.named
    labels = list(dict.fromkeys(r.label for r in names.relations if r.person == one.name and r.whose is None))
    what = {ConceptKind.PERSON: ", ".join(labels) or "a person", ConceptKind.PROJECT: "a project"}[subject.kind]
    keywords = (*labels, *phrases[:8])
    return NodeProposal(one.name, subject.kind, subject.confidence, f"{one.name}: {what}.", keywords, one.aliases)


def topic_step(prose: Prose, names: Names, area: Fit, cues: CueScores, outline: Outline) -> NodeProposal | None:
    """Return the step to a narrower topic: one that the user has, a place or an animal, or a usual subject."""
    children = _children(area, outline)
    usual = {name_key(name) for name in area.subjects}
    said = {word.stem for sentence in prose.sentences for word in sentence.words}
    own = (n for key, n in children.items() if key not in usual and said.issuperset(prose.stems(n.path[-1])))
    named = next((node for node in own if _uses(prose, node.path[-1]) >= USED_SHARE), None)
    if named is not None:
        return NodeProposal(named.path[-1], named.kind, 1.0)
    if met := _met_child(prose, area, cues, children):
        return NodeProposal(met.path[-1], met.kind, 1.0)
    individual = _individual_step(prose, names, area)
    if individual is not None:
        return individual
    shares = {
        name: share * (KNOWN_SUBJECT if name_key(name) in children else 1.0) for name, share in area.subjects.items()
    }
    first, second, *_ = [*sorted(shares.items(), key=lambda pair: -pair[1]), ("", 0.0), ("", 0.0)]
    if first[1] >= max(LEAST_SHARE, LEAST_LEAD * second[1]) and cues.subtopics[area.name][first[0]] >= LEAST_CUES:
        return _usual_step(first[0], area, cues, 0.6 + first[1])
    return None


def _met_child(prose: Prose, area: Fit, cues: CueScores, children: Mapping[str, OutlineNode]) -> OutlineNode | None:
    """Return the node below the area whose name and keywords the segment has most often, if it clearly leads."""
    counts = cues.subtopics[area.name]
    ranked = sorted(children.values(), key=lambda node: -counts[node.path[1]])
    if not ranked:
        return None
    most, next_most = counts[ranked[0].path[1]], counts[ranked[1].path[1]] if len(ranked) > 1 else 0
    least = max(1.0, MET_SHARE * len(prose.by_message))
    return ranked[0] if most >= least and most > next_most else None


def _individual_step(prose: Prose, names: Names, area: Fit) -> NodeProposal | None:
    """Return a step to the place that a trip goes to, or to the animal: people file these by name."""
    if area.name not in INDIVIDUALS:
        return None
    speaking = {name_key(name) for name in names.speakers.values()}
    related = {relation.person for relation in names.relations}
    weights = {}
    for one in (*names.others, *names.persons):
        if name_key(one.name) in speaking or one.name in related or not is_presentable(one.name):
            continue
        before = INDIVIDUALS[area.name]
        sentences = [prose.sentences[number].text for number in one.sentences]
        if before is not None:
            sentences = [text for text in sentences if any(f" {word} {one.name}" in f" {text}" for word in before)]
        titled = prose.headline is not None and one.name in prose.headline.text
        weights[one.name] = len(sentences) + LEAST_MENTIONS * titled
    ranked = sorted(weights.items(), key=lambda pair: -pair[1])
    if not ranked or ranked[0][1] < LEAST_MENTIONS or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    name = ranked[0][0]
    return NodeProposal(name, ConceptKind.TOPIC, 0.8, f"{name}, a part of {area.name.lower()}.")


def _usual_step(name: str, area: Fit, cues: CueScores, confidence: float) -> NodeProposal:
    found = tuple(word for word, _ in cues.words[area.name].most_common(6))
    about = f"{name}, a part of {area.name.lower()}."
    return NodeProposal(name, ConceptKind.TOPIC, min(0.95, confidence), about, found)


def new_area(prose: Prose, phrases: Sequence[str]) -> NodeProposal | None:
    """Return a topic of layer 1 for a segment that fits no area: the name in most of its sentences.

    A word that only the assistant uses, such as "noted", names nothing.
    """
    name = next(iter(phrases), "")
    stems = set(prose.stems(name))
    used = [one for one in prose.sentences if stems <= {word.stem for word in one.words}]
    if not is_presentable(name) or len(used) < max(LEAST_NAMING, NEW_AREA_SHARE * len(prose.sentences)):
        return None
    if all(prose.message(one).role is Role.ASSISTANT for one in used):
        return None
    shown = name[0].upper() + name[1:]
    return NodeProposal(shown, ConceptKind.TOPIC, 0.8, f"{shown}.", tuple(phrases[:8]))


def named_node(prose: Prose, areas: Sequence[Fit], outline: Outline) -> OutlineNode | None:
    """Return the only node directly below some areas whose name a segment uses as a name; none in German."""
    said = [sentence.words for sentence in prose.sentences if sentence.language != "de"]

    def is_said(name: str) -> bool:
        stems = prose.stems(name)
        found = (one[at : at + len(stems)] for one in said for at in range(len(one)) if one[at].text[0].isupper())
        return bool(stems) and any(tuple(word.stem for word in words) == stems for words in found)

    below = [node for area in areas for node in children_of(area, outline)]
    found = [node for node in below if any(map(is_said, (node.path[-1], *node.aliases)))]
    return found[0] if len(found) == 1 else None


def children_of(area: Fit, outline: Outline) -> list[OutlineNode]:
    """Return the nodes directly below an area."""
    keys = {name_key(name) for name in (area.name, *area.aliases)}
    return [node for node in outline.nodes if len(node.path) == 2 and name_key(node.path[0]) in keys]


def _children(area: Fit, outline: Outline) -> dict[str, OutlineNode]:
    """Return the topics and projects directly below an area, by the keys of their names."""
    found = (node for node in children_of(area, outline) if node.kind is not ConceptKind.PERSON)
    return {name_key(node.path[1]): node for node in found}


def _uses(prose: Prose, phrase: str) -> float:
    """Return the share of messages that use a phrase; 0 if they are too few."""
    stems = prose.stems(phrase)
    size = len(stems)
    if not stems:
        return 0.0
    messages = set()
    for sentence in prose.sentences:
        if sentence.message not in messages:
            found = [word.stem for word in sentence.words]
            if any(tuple(found[at : at + size]) == stems for at in range(len(found) - size + 1)):
                messages.add(sentence.message)
    titled = prose.headline is not None and set(stems) <= {word.stem for word in prose.headline.words}
    enough = len(messages) >= (2 if titled else USED_MESSAGES)
    return (TITLE_SHARE * titled + len(messages) / len(prose.by_message)) if enough else 0.0


def _candidates(prose: Prose, names: Names, topic: str, outline: Outline) -> list[Subject]:
    """Return named persons and projects, except speakers, that could become a node below ``topic``."""
    sentences = max(1, len(prose.sentences))
    homes = english().relations
    # Relatives belong under Family; a mention elsewhere does not make them the subject of that topic.
    stated = {r.person for r in names.relations if topic == "Family" or homes.get(r.label.split()[-1]) != "Family"}
    speaking = set(names.speakers.values())
    known_keys = {name_key(name) for node in outline.nodes for name in (node.path[-1], *node.aliases)}
    headline = {name_key(word.text) for word in prose.headline.words} if prose.headline else set()
    found = []
    for kind, group in ((ConceptKind.PROJECT, names.projects), (ConceptKind.PERSON, names.persons)):
        for one in group:
            if not is_presentable(one.name) or one.name in speaking:
                continue
            if name_key(one.name) == name_key(prose.segment.ref.user_slug):
                continue
            titled = bool(headline & {name_key(form) for form in (one.name, *one.aliases)})
            share = len(one.sentences) / sentences + TITLE_SHARE * titled
            if kind is ConceptKind.PERSON and share < LEAST_OF_PERSON:
                continue
            in_passing = len(one.sentences) < LEAST_NAMING and not titled and one.name not in stated
            if in_passing and name_key(one.name) not in known_keys:
                continue
            known = 0.2 if kind is ConceptKind.PERSON and one.name in stated else 0.0
            base = 0.45 if kind is ConceptKind.PROJECT else 0.35
            confidence = min(0.97, base + known + 0.6 * min(1.0, 2 * share))
            found.append(Subject(one, kind, one.mentions + 4 * known, confidence))
    return sorted(found, key=lambda c: -c.weight)


def _main_speaker(prose: Prose, names: Names, cues: CueScores, topic: str) -> Subject | None:
    """Return the speaker who says most about ``topic``; None if the account's user or a whole meeting speaks."""
    persons = {author: name for author, name in names.speakers.items() if is_presentable(name)}
    authors = {message.author for message in prose.segment.messages if message.author}
    # Messages of friends to the owner are about the owner's life as well, and lie with their subject.
    if not persons or names.owner is not None or len(authors) > MAX_TALKERS:
        return None
    weights: defaultdict[str, float] = defaultdict(float)
    for number, sentences in prose.by_message.items():
        author = prose.segment.messages[number].author
        if author in persons:
            own = sum(any(word.lower in {"i", "my", "i'm", "i've"} for word in s.words) for s in sentences)
            weight = cues.by_message[number].get(topic, 0.0)
            weights[author] += weight * (1.0 if own else 0.4) + 0.1 * own
    if not weights:
        return None
    author, most = max(weights.items(), key=lambda item: item[1])
    share = most / sum(weights.values()) if most else 0.0
    if share < MIN_SPEAKER_SHARE:
        return None
    messages = sum(message.author == author for message in prose.segment.messages)
    confidence = min(0.97, 0.6 + 0.3 * share + 0.1 * min(1.0, messages / 4))
    named = next((one for one in names.persons if one.name == persons[author]), None)
    return Subject(named, ConceptKind.PERSON, most, confidence) if named else None
