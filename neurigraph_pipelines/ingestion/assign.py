"""The first step's rules: turn a model's placements of messages into filings.

Pure functions without a database. The rules: existing nodes are used; a new node needs confidence and room above the
depth limit; weights of several segments add up; a person exists once in the whole graph and is linked from elsewhere;
an alias is learned only if no other node has it; and the filings of a segment cover each message exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from uuid import UUID

from neurigraph_pipelines.graph.entities import OutlineIndex, with_filings
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.ingestion.placement_plan import Plan, as_planned, plan_batch, with_plan
from neurigraph_pipelines.ingestion.placement_rules import PlacementRules
from neurigraph_pipelines.ingestion.records import failure_of
from neurigraph_pipelines.ingestion.time_limits import unlimited
from neurigraph_pipelines.model import (
    ConceptKind,
    Filing,
    ItemFailure,
    NodeCandidate,
    Outline,
    Placement,
    PlannedEdge,
    PlannedNode,
    Segment,
    SegmentRef,
)
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.ports import LanguageModel
from neurigraph_pipelines.text.hygiene import storable

STEP = "assign_nodes"

Limit = Callable[[SegmentRef], AbstractContextManager[None]]

MAX_LINKED_SPEAKERS = 12
"""Maximum number of speakers of one segment who are linked with each other; a parliament would give thousands."""

MAX_EDGES_OF_CANDIDATE = 8
"""Maximum number of relations of one segment that wait for a candidate."""


def file_segment(segment: Segment, placements: Sequence[Placement], outline: Outline, threshold: float) -> list[Filing]:
    """Turn the model's placements of one segment into filings.

    Args:
        segment: The segment to store.
        placements: The model's answer. Where ranges overlap, the narrower placement gets the messages.
        outline: All nodes of the segment's user, including planned ones.
        threshold: Minimum confidence for creating a proposed node.

    Returns:
        Filings in message order, with every message in exactly one. A placement that another one splits gives two
        filings at one path; the first has its edges and notes.
    """
    index = OutlineIndex(outline)
    owner = name_key(segment.ref.user_slug)
    placements = placements or [Placement((), segment.messages[0].seq, segment.messages[-1].seq)]
    owners = _owners(segment, placements)
    decided = {
        number: PlacementRules(index, threshold, owner).file(placements[number]) for number in dict.fromkeys(owners)
    }
    planned = {node.path: node for filing in decided.values() for node in (*filing.new_nodes, *filing.beside)}
    filings: list[Filing] = []
    reported: set[int] = set()
    places = {number: (one.path, one.proposals) for number, one in decided.items()}
    for (path, proposals), run in groupby(zip(owners, segment.messages, strict=True), key=lambda pair: places[pair[0]]):
        pairs = list(run)
        fresh = [decided[number] for number in dict.fromkeys(number for number, _ in pairs) if number not in reported]
        reported.update(number for number, _ in pairs)
        filing = Filing(
            path=path,
            first_message=pairs[0][1].seq,
            last_message=pairs[-1][1].seq,
            edges=_distinct(edge for part in fresh for edge in part.edges),
            notes=tuple(dict.fromkeys(note for part in fresh for note in part.notes)),
            beside=tuple(node for part in fresh for node in part.beside),
            aliases=tuple(dict.fromkeys(alias for part in fresh for alias in part.aliases)),
            candidates=tuple(candidate for part in fresh for candidate in part.candidates),
            endings=tuple(dict.fromkeys(ending for part in fresh for ending in part.endings)),
            proposals=proposals,
        )
        filings.append(_self_contained(filing, planned))
    links = _speaker_links(segment, index)
    filings[-1] = replace(filings[-1], edges=_distinct((*filings[-1].edges, *links)))
    return _counted_once(filings)


def assign_batch(
    segments: Sequence[Segment],
    outlines: Mapping[UUID, Outline],
    model: LanguageModel,
    threshold: float,
    on_item: Callable[[SegmentRef], None] | None = None,
    limited: Limit = unlimited,
) -> list[list[Filing] | ItemFailure]:
    """File a batch, oldest first for each user, so that later segments see the nodes of earlier ones.

    Each filing includes the nodes on its path that other filings of the batch plan, so that it can be committed if
    those fail. So provisioning must accept a planned node that already exists.

    Args:
        segments: Segments of any users, in any order.
        outlines: The nodes of each user in the database; a missing user has none.
        model: Called once per segment. If its ``concurrency`` is above 1, it plans the batch first and is then called
            in threads, with outlines that have the plan and the nodes of the segments filed so far.
        threshold: Minimum confidence for creating a proposed node.
        on_item: Called after each segment, with its reference.
        limited: Returns a context manager that ends the work on a segment if it takes too long.

    Returns:
        For each of ``segments``, in order: the filings, or the failure of this segment.
    """
    batch = _BatchFiling(segments, outlines, model, threshold, limited)
    order = sorted(range(len(segments)), key=lambda i: (segments[i].occurred_at, segments[i].ref.first_message))
    results: dict[int, list[Filing] | ItemFailure] = {}

    def resolve(number: int, answer: _Placed | ItemFailure) -> None:
        results[number] = answer if isinstance(answer, ItemFailure) else batch.file(segments[number], answer)
        if on_item is not None:
            on_item(segments[number].ref)

    if model.concurrency > 1:
        batch.plan([segments[number] for number in order])
        with ThreadPoolExecutor(model.concurrency, thread_name_prefix=STEP) as pool:
            answers = pool.map(batch.place, [segments[number] for number in order])
            for number, answer in zip(order, answers, strict=True):
                resolve(number, answer)
    else:
        for number in order:
            resolve(number, batch.place(segments[number]))
    return [results[number] for number in range(len(segments))]


@dataclass(frozen=True, slots=True)
class _Placed:
    """The placements of a segment, or the mark that a defect kept the model from giving any."""

    placements: Sequence[Placement] = ()
    left_out: Sequence[str] = ()


class _BatchFiling:
    """The outlines of a batch's users while its segments are filed."""

    def __init__(
        self,
        segments: Sequence[Segment],
        outlines: Mapping[UUID, Outline],
        model: LanguageModel,
        threshold: float,
        limited: Limit,
    ) -> None:
        self._model = model
        self._limited = limited
        self._threshold = threshold
        self._outlines = {each.ref.user_id: outlines.get(each.ref.user_id, Outline()) for each in segments}
        self._planned: dict[UUID, dict[tuple[str, ...], PlannedNode]] = {user_id: {} for user_id in self._outlines}
        self._plans: dict[UUID, Plan] = {user_id: {} for user_id in self._outlines}

    def plan(self, segments: Sequence[Segment]) -> None:
        """Let the model plan the nodes of each user's segments, which are in the order in which they are placed."""
        for user_id, outline in self._outlines.items():
            own = [segment for segment in segments if segment.ref.user_id == user_id]
            self._plans[user_id] = plan_batch(self._model, own, outline)

    def place(self, segment: Segment) -> _Placed | ItemFailure:
        """Ask the model for the placements of a segment."""
        left_out: list[str] = []

        def asked() -> Sequence[Placement]:
            user_id = segment.ref.user_id
            with self._limited(segment.ref):
                return storable(self._model.place(segment, with_plan(self._outlines[user_id], self._plans[user_id])))

        try:
            return _Placed(enriched("filing", asked, tuple, left_out), left_out)
        except Exception as error:  # one bad item must not fail the others
            return failure_of(segment.ref.trigger_id, STEP, error)

    def file(self, segment: Segment, placed: _Placed) -> list[Filing] | ItemFailure:
        """Turn placements into filings, and add their nodes to the outline for later segments."""
        left_out = list(placed.left_out)
        at_root = Filing((), segment.messages[0].seq, segment.messages[-1].seq)
        if left_out:
            return [replace(at_root, left_out=left_out[0])]
        try:
            filings = enriched("filing", lambda: self._filed(segment, placed), lambda: [at_root], left_out)
        except Exception as error:  # such as an unusable answer of the model
            return failure_of(segment.ref.trigger_id, STEP, error)
        return [replace(at_root, left_out=left_out[0])] if left_out else filings

    def _filed(self, segment: Segment, placed: _Placed) -> list[Filing]:
        user_id = segment.ref.user_id
        with self._limited(segment.ref):
            placements = as_planned(placed.placements, self._plans[user_id], self._threshold)
            filings = file_segment(segment, placements, self._outlines[user_id], self._threshold)
            outline = with_filings(self._outlines[user_id], filings)
        known = self._planned[user_id]
        known.update((node.path, node) for filing in filings for node in (*filing.new_nodes, *filing.beside))
        self._outlines[user_id] = outline
        return [_self_contained(filing, known) for filing in filings]


def _owners(segment: Segment, placements: Sequence[Placement]) -> list[int]:
    """Return the number of each message's placement; messages without one go to the biggest placement."""
    owners = [-1] * len(segment.messages)
    by_width = sorted(range(len(placements)), key=lambda i: placements[i].last_message - placements[i].first_message)
    for number in by_width:
        first, last = placements[number].first_message, placements[number].last_message
        for position, message in enumerate(segment.messages):
            if owners[position] < 0 and first <= message.seq <= last:
                owners[position] = number
    placed = [owner for owner in owners if owner >= 0]
    biggest = max(sorted(set(placed)), key=placed.count, default=0)
    return [owner if owner >= 0 else biggest for owner in owners]


def _speaker_links(segment: Segment, index: OutlineIndex) -> list[PlannedEdge]:
    """Return edges between the speakers who have nodes."""
    persons = dict.fromkeys(p.path for p in (index.person([name]) for name in segment.speakers) if p)
    paths = list(persons)[:MAX_LINKED_SPEAKERS]
    return [PlannedEdge(min(one, other), max(one, other), "talks with") for one, other in combinations(paths, 2)]


def _distinct(edges: Iterable[PlannedEdge]) -> tuple[PlannedEdge, ...]:
    """Return one edge for each pair and relation, the strongest."""
    best: dict[tuple[tuple[str, ...], tuple[str, ...], str], PlannedEdge] = {}
    for edge in edges:
        key = (edge.from_path, edge.to_path, edge.relation)
        if key not in best or best[key].strength < edge.strength:
            best[key] = edge
    return tuple(best.values())


def _counted_once(filings: Sequence[Filing]) -> list[Filing]:
    """Merge the candidates of the filings: each counts once per segment, with its best weight and all relations."""
    best: dict[tuple[ConceptKind, str, tuple[str, ...]], NodeCandidate] = {}
    created = {
        (node.kind, name_key(node.path[-1])) for filing in filings for node in (*filing.new_nodes, *filing.beside)
    }
    for candidate in (candidate for filing in filings for candidate in filing.candidates):
        key = (candidate.kind, name_key(candidate.name), candidate.parent)
        if key[:2] in created:
            continue
        known = best.get(key, candidate)
        edges = _distinct((*known.edges, *candidate.edges))[:MAX_EDGES_OF_CANDIDATE]
        best[key] = replace(known, confidence=max(known.confidence, candidate.confidence), edges=edges)
    return [replace(filings[0], candidates=tuple(best.values())), *(replace(f, candidates=()) for f in filings[1:])]


def _self_contained(filing: Filing, planned: Mapping[tuple[str, ...], PlannedNode]) -> Filing:
    prefixes = (filing.path[:depth] for depth in range(1, len(filing.path) + 1))
    return replace(filing, new_nodes=tuple(planned[prefix] for prefix in prefixes if prefix in planned))
