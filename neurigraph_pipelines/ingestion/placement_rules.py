"""Placement rules: turn one placement into a filing, with its new nodes, edges, aliases and candidates.

Pure functions over an outline. ``assign`` combines the filings of a segment and of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from neurigraph_pipelines.graph.entities import OutlineIndex, as_outline_node, combined, weight_of_segment
from neurigraph_pipelines.graph.naming import display_name, is_presentable, name_key
from neurigraph_pipelines.model import (
    MAX_LAYER_DEPTH,
    Alias,
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

WEIGHT_OF_RELATION = 0.5
"""Confidence in a node for the other end of a relation of full strength. A stated relation gives 0.4 and a mention
0.15, so a node takes two or three segments that state a relation, or eight or nine that mention the name."""

UNLABELLED = "mentions"
"""The label of an edge if the content gives only a name."""

MAX_NODE_KEYWORDS = 24
MAX_KEYWORD_LENGTH = 60


@dataclass(slots=True)
class PlacementRules:
    """Applies the placement rules to one placement and collects the results."""

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
        """Follow the steps of a placement down the outline; return a filing without its message range."""
        path: tuple[str, ...] = ()
        topic: tuple[str, ...] = ()
        for number, step in enumerate(placement.steps):
            names = (step.name, *step.aliases)
            existing, roles = self.index.child(path, names), _labels(placement, names, of_user=True)
            if existing is not None and self.index.is_somebody_else(existing, names, roles):
                self.notes.append(f"{_in_words(existing.path)} is somebody else of that name.")
                break
            if existing is None and step.kind is ConceptKind.PERSON:
                existing = self.index.person(names, roles)
                existing = existing or self.index.same_first_name(step.name, _labels(placement, names))
                if existing is not None and existing.path == path:
                    continue  # the person is a step below themselves
                if existing is not None and path and existing.path[:-1] != path:
                    self.learn(existing, names)
                    self.edges.append(PlannedEdge(path, existing.path, *_relation_to(placement.relations, names)))
                    self.notes.append(
                        f"{existing.path[-1]} is kept once, at {_in_words(existing.path)}, and linked from here."
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
        self.learn_stated(placement.aliases)
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
            placement.endings,
            () if path in placement.proposals else self.proposed(placement),
        )

    def proposed(self, placement: Placement) -> tuple[tuple[str, ...], ...]:
        """Return the paths of two nodes between which a person decides; none unless both may be filed at."""
        open_ones = [path for path in placement.proposals if not self.index.is_closed(path)]
        return tuple(open_ones[:2]) if len(open_ones) > 1 else ()

    def provision(self, step: NodeProposal, parent: tuple[str, ...]) -> OutlineNode | None:
        """Plan a node for ``step``; return None if the name, the depth or the confidence forbids it."""
        shown = display_name(step.name)
        if not is_presentable(step.name):
            self.notes.append(f"Refused a proposed name: {shown[:40]!r}.")
            return None
        if self.index.is_closed((*parent, shown)):
            self.notes.append(f"{shown} is a persona, whose keys read it: the words of others are filed above it.")
            return None
        if len(parent) >= MAX_LAYER_DEPTH:
            self.notes.append(f"Depth limit {MAX_LAYER_DEPTH} met: {shown} is filed at {_in_words(parent)}.")
            return None
        confidence = step.confidence
        # NaN compares false with everything, so the comparison is negated.
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
        """Plan an edge for a relation or, if the other end has no node, add weight to a candidate.

        A relation to the user starts at the topic, because the user has no node but the root.
        """
        roles = [relation.label] if relation.of_user else []
        other = self.index.anywhere(relation.other, roles)
        other = other or self.index.same_first_name(relation.other, [relation.label])
        if other is None and topic and relation.kind is not None and name_key(relation.other) != self.owner:
            origin = topic if relation.of_user else subject
            other = self.node_beside(relation.kind, relation, topic[:1], origin)
        elif other is not None and other.kind is ConceptKind.PERSON and relation.label != UNLABELLED:
            self.learn(other, [relation.other])
        if other is not None:
            origin = topic if relation.of_user or other.path == subject else subject
            if origin and origin != other.path:
                self.edges.append(PlannedEdge(origin, other.path, relation.label, relation.strength))

    def node_beside(
        self, kind: ConceptKind, relation: Relation, parent: tuple[str, ...], origin: tuple[str, ...]
    ) -> OutlineNode | None:
        """Plan a node off the path once its weight suffices; until then store a candidate and return None."""
        if not is_presentable(relation.other):
            return None
        earlier = self.index.candidates(kind, [relation.other], parent)
        place = next((one.parent for one in earlier if self.index.at(one.parent)), parent)
        name = display_name(relation.other)
        if self.index.is_closed((*place, name)) or self.index.child(place, [name]) is not None:
            return None  # a persona, or somebody else of that name
        confidence = self.weigh(
            kind, [relation.other], parent, WEIGHT_OF_RELATION * relation.strength, relation=relation, origin=origin
        )
        if not confidence >= self.threshold:
            return None
        label = "" if relation.label == UNLABELLED else relation.label
        proposal = NodeProposal(name, kind, confidence, f"{name}: {label}." if label else "", (label,) if label else ())
        node = _planned(proposal, place)
        segments = 1 + sum(one.segments for one in earlier)
        self.notes.append(f"{name} was met in {segments} conversations and has a node now, at {_in_words(node.path)}.")
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
        """Return the confidence with all earlier weights; below the threshold, add this segment's to a candidate."""
        earlier = self.index.candidates(kind, names, parent)
        own = weight_of_segment(confidence)
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

    def learn_stated(self, aliases: Iterable[Alias]) -> None:
        """Add the names that the content says are those of one person."""
        for alias in aliases:
            person = self.index.person((alias.name, alias.alias))
            if person is not None:
                self.learn(person, (alias.name, alias.alias))

    def learn(self, node: OutlineNode, names: Iterable[str]) -> None:
        """Add aliases to a node, except those that name another node."""
        known = {name_key(name) for name in (node.path[-1], *node.aliases)}
        for name in names:
            shown, bearer = display_name(name), self.index.anywhere(name)
            # "my wife" is not a name, even if a model proposes it.
            if (
                name_key(name) in known
                or not is_presentable(name)
                or (node.kind is ConceptKind.PERSON and shown[0].islower())
            ):
                continue
            if bearer is not None and bearer.path != node.path:
                self.notes.append(
                    f"{shown} is not learned as a name of {node.path[-1]}: {_in_words(bearer.path)} has that name."
                )
                continue
            known.add(name_key(name))
            self.aliases.append(PlannedAlias(node.path, shown))
            self.notes.append(f"{shown} is another name of {_in_words(node.path)}.")
            self.index.add(replace(node, aliases=(*node.aliases, shown)))


def _planned(step: NodeProposal, parent: tuple[str, ...]) -> PlannedNode:
    name = display_name(step.name)
    keywords = dict.fromkeys(display_name(word)[:MAX_KEYWORD_LENGTH] for word in step.keywords[:MAX_NODE_KEYWORDS])
    aliases = {name_key(alias): display_name(alias) for alias in step.aliases if is_presentable(alias)}
    aliases.pop(name_key(name), None)
    return PlannedNode(
        path=(*parent, name),
        kind=step.kind,
        confidence=min(1.0, step.confidence),
        summary=step.summary,
        keywords=tuple(word for word in keywords if word),
        aliases=tuple(aliases.values()),
    )


def _relation_to(relations: Iterable[Relation], names: Iterable[str]) -> tuple[str, float]:
    """Return the label and strength of the first relation to one of ``names``, else those of a mention."""
    keys = {name_key(name) for name in names}
    return next(((r.label, r.strength) for r in relations if name_key(r.other) in keys), (UNLABELLED, 0.5))


def _labels(placement: Placement, names: Iterable[str], *, of_user: bool = False) -> list[str]:
    """Return the labels of stated relations to one of ``names``, or only of those of the user."""
    keys = {name_key(name) for name in names}
    stated = (r for r in placement.relations if r.of_user or not of_user)
    return [r.label for r in stated if name_key(r.other) in keys and r.label != UNLABELLED]


def _in_words(path: tuple[str, ...]) -> str:
    return " / ".join(path) or "the root"
