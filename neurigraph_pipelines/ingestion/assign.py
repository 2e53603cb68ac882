"""Which node takes which messages: a model's placements turned into filings by fixed rules.

Pure decisions: no database, no provisioning. The rules: what exists is used, a new node needs confidence
and room above the depth limit, doubts of several segments add up to a confidence, a person exists once in the whole
graph and is linked from everywhere else, other names are learned only where they mean nobody else, and the filings of
a segment tile it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations, groupby
from uuid import UUID

from neurigraph_pipelines.graph.entities import OutlineIndex, with_filings
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.ingestion.placement_rules import PlacementRules
from neurigraph_pipelines.ingestion.records import failure_of
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
from neurigraph_pipelines.ports import LanguageModel

STEP = "assign_nodes"

MAX_LINKED_SPEAKERS = 12
"""Speakers of one segment who are linked with each other: a parliament would give thousands of edges."""

MAX_EDGES_OF_CANDIDATE = 8
"""Relations of one segment that wait for a candidate."""


def file_segment(segment: Segment, placements: Sequence[Placement], outline: Outline, threshold: float) -> list[Filing]:
    """Turn what a model proposed for one segment into filings.

    Args:
        segment: What is to be stored.
        placements: The model's answer. Overlapping ranges: the narrower placement takes the messages.
        outline: All nodes of the segment's user, planned ones included.
        threshold: Confidence from which a proposed node is made.

    Returns:
        Filings in message order that tile the segment: every message in exactly one. A placement that is
        cut in two by another gives two filings at one path; its edges and notes come with the first.
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
    told: set[int] = set()
    for path, run in groupby(zip(owners, segment.messages, strict=True), key=lambda pair: decided[pair[0]].path):
        pairs = list(run)
        fresh = [decided[number] for number in dict.fromkeys(number for number, _ in pairs) if number not in told]
        told.update(number for number, _ in pairs)
        filing = Filing(
            path=path,
            first_message=pairs[0][1].seq,
            last_message=pairs[-1][1].seq,
            edges=_distinct(edge for part in fresh for edge in part.edges),
            notes=tuple(dict.fromkeys(note for part in fresh for note in part.notes)),
            beside=tuple(node for part in fresh for node in part.beside),
            aliases=tuple(dict.fromkeys(alias for part in fresh for alias in part.aliases)),
            candidates=tuple(candidate for part in fresh for candidate in part.candidates),
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
) -> list[list[Filing] | ItemFailure]:
    """File a batch, oldest first for each user, so that later segments see the nodes that earlier ones need.

    A filing also carries the nodes on its path that another filing of the batch plans, so that it can be
    committed when that other one fails: provisioning must take a node that already exists as done.

    Args:
        segments: Of any users, in any order.
        outlines: The nodes of each user as the database has them; a missing user has none.
        model: Asked once a segment. With ``concurrency`` above 1 it is asked in threads, with the outlines as
            they were before the batch.
        threshold: Confidence from which a proposed node is made.
        on_item: Called after each segment, with its reference.

    Returns:
        In the order of ``segments``: the filings, or why there are none; one failure is one item's alone.
    """
    order = sorted(range(len(segments)), key=lambda i: (segments[i].occurred_at, segments[i].ref.first_message))
    current = {segment.ref.user_id: outlines.get(segment.ref.user_id, Outline()) for segment in segments}
    planned: dict[UUID, dict[tuple[str, ...], PlannedNode]] = {user_id: {} for user_id in current}
    results: dict[int, list[Filing] | ItemFailure] = {}

    def ask(number: int) -> Sequence[Placement] | ItemFailure:
        segment = segments[number]
        try:
            return model.place(segment, current[segment.ref.user_id])
        except Exception as error:  # an item's fault must not reach its neighbours
            return failure_of(segment.ref.trigger_id, STEP, error)

    def resolve(number: int, answer: Sequence[Placement] | ItemFailure) -> None:
        ref = segments[number].ref
        results[number] = answer if isinstance(answer, ItemFailure) else decide(number, answer)
        if on_item is not None:
            on_item(ref)

    def decide(number: int, placements: Sequence[Placement]) -> list[Filing] | ItemFailure:
        ref = segments[number].ref
        try:
            filings = file_segment(segments[number], placements, current[ref.user_id], threshold)
        except Exception as error:  # such as an unusable answer of a model
            return failure_of(ref.trigger_id, STEP, error)
        known = planned[ref.user_id]
        known.update((node.path, node) for filing in filings for node in (*filing.new_nodes, *filing.beside))
        current[ref.user_id] = with_filings(current[ref.user_id], filings)
        return [_self_contained(filing, known) for filing in filings]

    if model.concurrency > 1:
        with ThreadPoolExecutor(model.concurrency, thread_name_prefix=STEP) as pool:
            for number, answer in zip(order, list(pool.map(ask, order)), strict=True):
                resolve(number, answer)
    else:
        for number in order:
            resolve(number, ask(number))
    return [results[number] for number in range(len(segments))]


def _owners(segment: Segment, placements: Sequence[Placement]) -> list[int]:
    """The number of the placement that takes each message; unclaimed ones go to the biggest placement."""
    owners = [-1] * len(segment.messages)
    by_width = sorted(range(len(placements)), key=lambda i: placements[i].last_message - placements[i].first_message)
    for number in by_width:
        first, last = placements[number].first_message, placements[number].last_message
        for position, message in enumerate(segment.messages):
            if owners[position] < 0 and first <= message.seq <= last:
                owners[position] = number
    claimed = [owner for owner in owners if owner >= 0]
    biggest = max(sorted(set(claimed)), key=claimed.count, default=0)
    return [owner if owner >= 0 else biggest for owner in owners]


def _speaker_links(segment: Segment, index: OutlineIndex) -> list[PlannedEdge]:
    """Who talks with whom, between speakers who are nodes."""
    persons = dict.fromkeys(p.path for p in (index.person([name]) for name in segment.speakers) if p)
    paths = list(persons)[:MAX_LINKED_SPEAKERS]
    return [PlannedEdge(min(one, other), max(one, other), "talks with") for one, other in combinations(paths, 2)]


def _distinct(edges: Iterable[PlannedEdge]) -> tuple[PlannedEdge, ...]:
    """One edge for each pair and relation, the strongest."""
    best: dict[tuple[tuple[str, ...], tuple[str, ...], str], PlannedEdge] = {}
    for edge in edges:
        key = (edge.from_path, edge.to_path, edge.relation)
        if key not in best or best[key].strength < edge.strength:
            best[key] = edge
    return tuple(best.values())


def _counted_once(filings: Sequence[Filing]) -> list[Filing]:
    """Filings in which a candidate counts once for the whole segment, with its best evidence and all its relations."""
    best: dict[tuple[ConceptKind, str, tuple[str, ...]], NodeCandidate] = {}
    made = {(node.kind, name_key(node.path[-1])) for filing in filings for node in (*filing.new_nodes, *filing.beside)}
    for candidate in (candidate for filing in filings for candidate in filing.candidates):
        key = (candidate.kind, name_key(candidate.name), candidate.parent)
        if key[:2] in made:
            continue
        known = best.get(key, candidate)
        edges = _distinct((*known.edges, *candidate.edges))[:MAX_EDGES_OF_CANDIDATE]
        best[key] = replace(known, confidence=max(known.confidence, candidate.confidence), edges=edges)
    return [replace(filings[0], candidates=tuple(best.values())), *(replace(f, candidates=()) for f in filings[1:])]


def _self_contained(filing: Filing, planned: Mapping[tuple[str, ...], PlannedNode]) -> Filing:
    prefixes = (filing.path[:depth] for depth in range(1, len(filing.path) + 1))
    return replace(filing, new_nodes=tuple(planned[prefix] for prefix in prefixes if prefix in planned))
