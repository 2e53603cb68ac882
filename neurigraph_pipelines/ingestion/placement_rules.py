"""One placement decided: which nodes its steps mean or make, what is linked, learned and remembered on the way.

Pure decisions over an outline. How the filings of a segment tile it, and a batch, are in ``assign``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from neurigraph_pipelines.graph.entities import OutlineIndex, as_outline_node, combined, evidence_of_segment
from neurigraph_pipelines.graph.naming import display_name, name_key, presentable
from neurigraph_pipelines.model import (
    MAX_LAYER_DEPTH,
    ConceptKind,
    Filing,
    NodeCandidate,
    NodeProposal,
    OutlineNode,
    Placement,
    PlannedAlias,
    PlannedEdge,
    PlannedNode,
    Relation,
)

EVIDENCE_OF_RELATION = 0.5
"""Confidence in a node for somebody at the other end of a relation of full strength: 0.4 for one that is stated, 0.15
for a mere mention, so that it takes two or three segments that state one, or eight or nine that mention a name."""

UNLABELLED = "mentions"
"""The label of a link when the content says no more than a name."""

MAX_NODE_KEYWORDS = 24
MAX_KEYWORD_LENGTH = 60


@dataclass(slots=True)
class Decision:
    """What is decided for one placement, step by step."""

    index: OutlineIndex
    threshold: float
    owner: str
    new: list[PlannedNode] = field(default_factory=list)
    beside: list[PlannedNode] = field(default_factory=list)
    edges: list[PlannedEdge] = field(default_factory=list)
    aliases: list[PlannedAlias] = field(default_factory=list)
    candidates: list[NodeCandidate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def file(self, placement: Placement) -> Filing:
        """Walk the steps of a placement down the outline; the range of the returned filing is not yet known."""
        path: tuple[str, ...] = ()
        topic: tuple[str, ...] = ()
        for number, step in enumerate(placement.steps):
            names = (step.name, *step.aliases)
            existing = self.index.child(path, names)
            if existing is None and step.kind is ConceptKind.PERSON:
                existing = self.index.person(names) or self.index.namesake(step.name, _labels(placement, names))
                if existing is not None and path and existing.path[:-1] != path:
                    self.learn(existing, names)
                    self.edges.append(PlannedEdge(path, existing.path, *_stated(placement.relations, names)))
                    self.notes.append(
                        f"{existing.path[-1]} is kept once, at {_shown(existing.path)}, and linked from here."
                    )
                    break
            if existing is None:
                existing = self.provision(step, path)
            else:
                self.learn(existing, names)
            if existing is None:
                if not path:
                    nearest = self.index.nearest_topic(placement.steps[number:])
                    path = nearest.path if nearest else ()
                break
            path = existing.path
            topic = path[:-1] if existing.kind is ConceptKind.PERSON else path
        for stated in placement.aliases:
            person = self.index.person((stated.name, stated.alias))
            if person is not None:
                self.learn(person, (stated.name, stated.alias))
        for relation in placement.relations:
            self.relate(relation, topic, path)
        return Filing(
            path,
            0,
            0,
            tuple(self.new),
            tuple(self.edges),
            tuple(self.notes),
            tuple(self.beside),
            tuple(self.aliases),
            tuple(self.candidates),
        )

    def provision(self, step: NodeProposal, parent: tuple[str, ...]) -> OutlineNode | None:
        """Plan a node for ``step``; None when it must not be made, or not yet."""
        shown = display_name(step.name)
        if not presentable(step.name):
            self.notes.append(f"A proposed name was refused: {shown[:40]!r}.")
            return None
        if len(parent) >= MAX_LAYER_DEPTH:
            self.notes.append(f"Depth limit {MAX_LAYER_DEPTH} met: {shown} is filed at {_shown(parent)}.")
            return None
        confidence = step.confidence
        # A confidence that is not a number compares false with everything, so it is asked this way round.
        if not confidence >= self.threshold:
            confidence = self.weigh(step.kind, (step.name, *step.aliases), parent, step.confidence)
        if not confidence >= self.threshold:
            self.notes.append(f"No node for {shown}: confidence {confidence:.2f} of {self.threshold:.2f}.")
            return None
        node = _planned(replace(step, confidence=confidence), parent)
        self.new.append(node)
        self.index.add(as_outline_node(node))
        return as_outline_node(node)

    def relate(self, relation: Relation, topic: tuple[str, ...], subject: tuple[str, ...]) -> None:
        """An edge for a stated relation, or, with somebody who is no node, evidence that there should be one.

        What the subject itself, or somebody else, is to the user hangs on the topic: the user has no node but the
        root.
        """
        other = self.index.anywhere(relation.other) or self.index.namesake(relation.other, [relation.label])
        if other is None and topic and relation.kind is not None and name_key(relation.other) != self.owner:
            origin = topic if relation.of_user else subject
            other = self.meet(relation.kind, relation, topic[:1], origin)
        elif other is not None and other.kind is ConceptKind.PERSON and relation.label != UNLABELLED:
            self.learn(other, [relation.other])
        if other is not None:
            origin = topic if relation.of_user or other.path == subject else subject
            if origin and origin != other.path:
                self.edges.append(PlannedEdge(origin, other.path, relation.label, relation.strength))

    def meet(
        self, kind: ConceptKind, relation: Relation, parent: tuple[str, ...], origin: tuple[str, ...]
    ) -> OutlineNode | None:
        """A node beside the path for whoever was met often enough; None, and remembered, until then."""
        if not presentable(relation.other):
            return None
        earlier = self.index.remembered(kind, [relation.other], parent)
        home = next((one.parent for one in earlier if self.index.at(one.parent)), parent)
        confidence = self.weigh(
            kind, [relation.other], parent, EVIDENCE_OF_RELATION * relation.strength, relation=relation, origin=origin
        )
        if not confidence >= self.threshold:
            return None
        label = "" if relation.label == UNLABELLED else relation.label
        name = display_name(relation.other)
        proposal = NodeProposal(name, kind, confidence, f"{name}: {label}." if label else "", (label,) if label else ())
        node = _planned(proposal, home)
        segments = 1 + sum(one.segments for one in earlier)
        self.notes.append(f"{name} was met in {segments} conversations and has a node now, at {_shown(node.path)}.")
        self.beside.append(node)
        self.index.add(as_outline_node(node))
        return as_outline_node(node)

    def weigh(
        self,
        kind: ConceptKind,
        names: Sequence[str],
        parent: tuple[str, ...],
        confidence: float,
        *,
        relation: Relation | None = None,
        origin: tuple[str, ...] = (),
    ) -> float:
        """The confidence with all that is remembered; short of the threshold, this segment's is remembered too."""
        earlier = self.index.remembered(kind, names, parent)
        own = evidence_of_segment(confidence)
        total = max(confidence, combined([own, *(one.confidence for one in earlier)])) if own else confidence
        if own and not total >= self.threshold:
            name = display_name(names[0])
            waiting = (
                (PlannedEdge(origin, (*parent, name), relation.label, relation.strength),)
                if relation and origin
                else ()
            )
            self.candidates.append(NodeCandidate(name, kind, parent, own, edges=waiting))
        return total

    def learn(self, node: OutlineNode, names: Iterable[str]) -> None:
        """Take in other names of a node, unless one of them is somebody else's."""
        known = {name_key(name) for name in (node.path[-1], *node.aliases)}
        for name in names:
            shown, meant = display_name(name), self.index.anywhere(name)
            # "my wife" is no name, however a model came by it.
            if (
                name_key(name) in known
                or not presentable(name)
                or (node.kind is ConceptKind.PERSON and shown[0].islower())
            ):
                continue
            if meant is not None and meant.path != node.path:
                self.notes.append(
                    f"{shown} is not learned as a name of {node.path[-1]}: {_shown(meant.path)} bears it."
                )
                continue
            known.add(name_key(name))
            self.aliases.append(PlannedAlias(node.path, shown))
            self.notes.append(f"{shown} is another name of {_shown(node.path)}.")
            self.index.add(replace(node, aliases=(*node.aliases, shown)))


def _planned(step: NodeProposal, parent: tuple[str, ...]) -> PlannedNode:
    name = display_name(step.name)
    keywords = dict.fromkeys(display_name(word)[:MAX_KEYWORD_LENGTH] for word in step.keywords[:MAX_NODE_KEYWORDS])
    aliases = {name_key(alias): display_name(alias) for alias in step.aliases if presentable(alias)}
    aliases.pop(name_key(name), None)
    return PlannedNode(
        path=(*parent, name),
        kind=step.kind,
        confidence=min(1.0, step.confidence),
        summary=step.summary,
        keywords=tuple(word for word in keywords if word),
        aliases=tuple(aliases.values()),
    )


def _stated(relations: Iterable[Relation], names: Iterable[str]) -> tuple[str, float]:
    """The label and strength that the content gives for whoever bears one of ``names``."""
    keys = {name_key(name) for name in names}
    return next(((r.label, r.strength) for r in relations if name_key(r.other) in keys), (UNLABELLED, 0.5))


def _labels(placement: Placement, names: Iterable[str]) -> list[str]:
    """What the content says that whoever bears one of ``names`` is."""
    keys = {name_key(name) for name in names}
    return [r.label for r in placement.relations if name_key(r.other) in keys and r.label != UNLABELLED]


def _shown(path: tuple[str, ...]) -> str:
    return " / ".join(path) or "the root"
