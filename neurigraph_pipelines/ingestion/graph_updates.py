"""The consequences of new records in the graph: edges and candidates with their evidence, mentions, names, and shells.

Each part is written in a savepoint of its own, so that a defect in one leaves the records stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from neurigraph_pipelines.graph.candidates import add_candidates, promote_candidates
from neurigraph_pipelines.graph.edges import Places, write_edges, write_endings
from neurigraph_pipelines.graph.proposed_places import propose_places
from neurigraph_pipelines.graph.shell import Addition, count_records, update_shells
from neurigraph_pipelines.graph.witnesses import Said, Witness, define_nodes, write_mentions
from neurigraph_pipelines.model import Filing, Keywords, PlannedAlias
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.ports import Transaction

StatedAlias = tuple[Witness, PlannedAlias]


def update_graph(
    tx: Transaction,
    places: Places,
    filed: Sequence[tuple[Witness, Filing]],
    said: Callable[[], Sequence[Said]],
    additions: Sequence[Addition],
) -> list[str]:
    """Write the consequences of new records.

    Args:
        tx: The transaction that stores them.
        places: The nodes of their user.
        filed: The records, each with its filing.
        said: Returns which nodes they speak of.
        additions: The values that they add to shells.

    Returns:
        What a defect left out.
    """
    left_out: list[str] = []

    def linked() -> None:
        with tx.transaction():
            _link(tx, places, filed, said())

    def described() -> None:
        with tx.transaction():
            update_shells(tx, places, additions, _aliases(filed))

    def counted() -> None:
        with tx.transaction():
            update_shells(tx, places, [replace(one, keywords=Keywords()) for one in additions], ())

    enriched("links", linked, lambda: None, left_out)
    barely = partial(count_records, tx, additions)
    enriched("description of nodes", described, lambda: enriched("keywords of nodes", counted, barely), left_out)
    return left_out


def _link(tx: Transaction, places: Places, filed: Sequence[tuple[Witness, Filing]], said: Sequence[Said]) -> None:
    promote_candidates(tx, places, (node for _, filing in filed for node in (*filing.new_nodes, *filing.beside)))
    add_candidates(tx, places, [(witness, one) for witness, filing in filed for one in filing.candidates])
    ends = write_edges(tx, places, [(witness, edge) for witness, filing in filed for edge in filing.edges])
    write_endings(tx, places.user_id, [(witness, one) for witness, filing in filed for one in filing.endings])
    for witness, filing in filed:
        propose_places(tx, places, witness.record_id, filing.proposals)
        paths = [node.path for node in (*filing.new_nodes, *filing.beside)]
        define_nodes(tx, witness.record_id, [found for path in paths if (found := places.find(path))])
    write_mentions(tx, places.user_id, [*ends, *said])


def _aliases(filed: Sequence[tuple[Witness, Filing]]) -> list[StatedAlias]:
    made = [(witness, node) for witness, filing in filed for node in (*filing.new_nodes, *filing.beside)]
    names = [(witness, PlannedAlias(node.path, name)) for witness, node in made for name in node.aliases]
    return names + [(witness, alias) for witness, filing in filed for alias in filing.aliases]
