"""Updates of a node's shell: counters, centroid, keywords, summary and aliases.

Only this module changes these columns of the graph index, in the transaction of a commit or a graph change. It calls no
model: everything is derived from the structured keywords of the records. ``navigation`` reads shells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.database.asking import rows_of, typed
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.aliases import LearnedName, learn_aliases
from neurigraph_pipelines.graph.describing import UNINFORMATIVE_LABELS, definition_in
from neurigraph_pipelines.graph.edges import Places, show_nodes
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.provisioning import NodeRef
from neurigraph_pipelines.graph.witnesses import Followers, Witness
from neurigraph_pipelines.model import ConceptKind, Keywords, PlannedAlias
from neurigraph_pipelines.model.ports import Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pgvector import Vector

MAX_NODE_KEYWORDS = 64
KEYWORDS_OF_RECORD = 6
"""Number of entities, and of topics, that a record adds to its node's keywords."""

KEYWORD_HALF_LIFE = 64
"""Number of records after which a keyword's weight is halved, so that unrepeated keywords make room."""

SUBJECTS_SHOWN = 5
LABELS_SHOWN = 3
MAX_DEFINITION = 300
"""Characters of the definition: the sentence that says what a node is."""

_RECORDS_WITH_WEIGHT = 4 * KEYWORD_HALF_LIFE  # keywords of older ones weigh less than a sixteenth
_KEYWORD_FIELDS = tuple(each.name for each in fields(Keywords))
_QUERIES = statements("graph")
_EVIDENCE = statements("evidence")
_RELATIONSHIP = re.compile(r"(?P<label>[^:]{1,60}): (?P<name>.+)")


@dataclass(frozen=True, slots=True)
class Addition:
    """One record added to a node.

    Attributes:
        vector: ``(RECORD_DIMENSIONS,)`` float32 of unit length. None while the embedding is pending, or if it is not
            of the user's current model, because a centroid is the mean of one model's vectors.
    """

    node: NodeRef
    keywords: Keywords
    vector: NDArray[np.float32] | None


class _Shell(NamedTuple):
    """The shell of a node that is locked."""

    node_id: UUID
    node_name: str
    concept_kind: str
    schema_name: str
    record_count: int
    centroid: Vector | None
    embedded_count: int
    node_keywords: list[str] | None
    keyword_weights: list[float]
    node_summary: str | None
    aliases: list[str]
    language: str
    is_hidden: bool

    @property
    def names(self) -> frozenset[str]:
        """The keys of its names."""
        return frozenset(map(name_key, (self.node_name, *self.aliases)))


class _Span(NamedTuple):
    """The number, times and usual language of some records."""

    records: int
    first: datetime
    last: datetime
    language: str | None


def _locked(tx: Transaction, node_id: UUID) -> _Shell:
    (row,) = rows_of(tx, _QUERIES["lock_shells"], _Shell, {"node_ids": [node_id]})
    return row


def update_shells(
    tx: Transaction, places: Places, additions: Sequence[Addition], aliases: Sequence[tuple[Witness, PlannedAlias]]
) -> None:
    """Update the shells of all nodes that a segment touched, with the names that its records use.

    Locks the nodes in id order for the rest of the transaction, so commits to one node take turns without deadlock.
    """
    gained: dict[UUID, list[Addition]] = {}
    for addition in additions:
        gained.setdefault(addition.node.node_id, []).append(addition)
    learned: dict[UUID, list[LearnedName]] = {}
    for witness, planned in aliases:
        node_id = places.find(planned.path)
        if node_id is not None:
            learned.setdefault(node_id, []).append((witness, planned.alias))
    locked = rows_of(tx, _QUERIES["lock_shells"], _Shell, {"node_ids": list(gained.keys() | learned.keys())})
    if hidden := {shell.node_id for shell in locked if shell.is_hidden}:
        show_nodes(tx, hidden)
    changed: list[tuple[_Shell, Iterable[DictRow] | None]] = []
    for before in locked:
        node_id = before.node_id
        names = learn_aliases(tx, places.user_id, node_id, before.node_name, learned.get(node_id, ()))
        shell = before._replace(aliases=[*before.aliases, *names])
        for addition in gained.get(node_id, ()):
            shell = _with_record(shell, addition)
        is_grown = _stage(shell.record_count) != _stage(before.record_count)
        changed.append((shell, _ask_span(tx, shell) if is_grown else None))
    for shell, span in changed:  # in a pipeline, the first waits for all
        described = _described(tx, places.user_slug, shell, span) if span is not None else shell
        tx.execute(_QUERIES["update_shell"], described._asdict())


def count_records(tx: Transaction, additions: Iterable[Addition]) -> None:
    """Count new records at their nodes, so that searches look there, and change nothing else of the shells."""
    added = Counter(addition.node.node_id for addition in additions)
    show_nodes(tx, added.keys())
    for node_id, count in sorted(added.items()):
        shell = _locked(tx, node_id)
        tx.execute(_QUERIES["update_shell"], shell._replace(record_count=shell.record_count + count)._asdict())


def _stage(count: int) -> tuple[int, int]:
    """Return the growth stage of a node: every record up to eight, then four stages per doubling.

    The summary is rewritten when the stage changes, which bounds the cost per added record.
    """
    step = 1 << max(0, count.bit_length() - 3)
    return step, count // step


def replace_vector(
    tx: Transaction,
    node_id: UUID,
    record_id: UUID,
    *,
    lost: NDArray[np.float32] | None = None,
    gained: NDArray[np.float32] | None = None,
) -> None:
    """Update a node's centroid after a record lost or gained a vector, or both, since its commit.

    Args:
        tx: A transaction of the pipeline; the node stays locked until it ends.
        node_id: The record's node.
        record_id: The record; of one in quarantine nothing is in the mean.
        lost: The vector to remove from the mean, as in an ``Addition``.
        gained: The vector to add to the mean.
    """
    from pgvector import Vector  # imports numpy, which most importers of this module do not need

    shell = _locked(tx, node_id)
    hidden = tx.execute(_QUERIES["is_quarantined"], {"record_id": record_id}).fetchone()
    if hidden is not None and hidden["quarantined"]:
        return
    count, centroid = shell.embedded_count, shell.centroid
    if lost is not None and centroid is not None:
        count -= 1
        centroid = Vector((centroid.to_numpy() * (count + 1) - lost) / count) if count else None
    if gained is not None:
        centroid = _mean_with(centroid, count, gained)
        count += 1
    set_centroid(tx, node_id, count, centroid)


def rebuild_shell(
    tx: Transaction,
    node_id: UUID,
    user_slug: str,
    *,
    definition: str | None = None,
) -> None:
    """Recompute a shell from the records of its node, after records left or entered it other than by a commit.

    Counts and centroid are exact. Keywords come from the newest records, weighted as if these had been added one by
    one. Records of private sources contribute no words.

    Args:
        tx: A transaction of the pipeline or the owner; the node stays locked until it ends.
        node_id: The node.
        user_slug: The slug of its user.
        definition: The sentence that says what the node is; None keeps the current one.
    """
    shell = _locked(tx, node_id)
    schema = sql.Identifier(shell.schema_name)
    if definition is not None:
        shell = shell._replace(node_summary=definition)
    (counted,) = tx.execute(_QUERIES["content_of_shell"].format(schema=schema), {"node_id": node_id})
    weights: dict[str, float] = {}
    limit = {"limit": _RECORDS_WITH_WEIGHT}
    newest = tx.execute(_QUERIES["keywords_of_newest"].format(schema=schema), limit).fetchall()
    for words in reversed(newest):
        keywords = Keywords(*(tuple(words[f"kw_{name}"] or ()) for name in _KEYWORD_FIELDS))
        weights = _updated_weights(weights, _words(keywords, shell.names))
    shell = shell._replace(**counted, node_keywords=list(weights), keyword_weights=list(weights.values()))
    tx.execute(_QUERIES["set_shell"], _described(tx, user_slug, shell, _ask_span(tx, shell))._asdict())


def rebuild_followers(tx: Transaction, followers: Followers, user_slug: str, *, keep_defined: bool = False) -> None:
    """Rebuild the shells that follow from records which were erased, hidden or shown again.

    Definitions that came from these records go.

    Args:
        keep_defined: The nodes stay known as made for these records, which may be shown again.
    """
    if followers.defined and not keep_defined:
        tx.execute(_EVIDENCE["undefine"], {"node_ids": list(followers.defined)})
    for node_id in sorted(followers.node_ids):
        rebuild_shell(tx, node_id, user_slug, definition="" if node_id in followers.defined else None)


def set_centroid(tx: Transaction, node_id: UUID, embedded_count: int, centroid: Vector | None) -> None:
    """Replace a node's centroid, the mean of ``embedded_count`` vectors of one model."""
    tx.execute(_QUERIES["set_centroid"], {"node_id": node_id, "embedded_count": embedded_count, "centroid": centroid})


def _mean_with(mean: Vector | None, count: int, vector: NDArray[np.float32]) -> Vector:
    """Return the mean of ``count + 1`` vectors, given the mean of the first ``count`` and one more vector."""
    from pgvector import Vector  # imports numpy, which most importers of this module do not need

    total = vector if mean is None else mean.to_numpy() * count + vector
    return Vector(total / (count + 1))


def _with_record(shell: _Shell, addition: Addition) -> _Shell:
    """Return a shell with an added record."""
    count, centroid = shell.embedded_count, shell.centroid
    if addition.vector is not None:
        centroid = _mean_with(centroid, count, addition.vector)
        count += 1
    weights = _updated_weights(
        dict(zip(shell.node_keywords or (), chain(shell.keyword_weights, repeat(1.0)), strict=False)),
        _words(addition.keywords, shell.names),
    )
    return shell._replace(
        record_count=shell.record_count + 1,
        embedded_count=count,
        centroid=centroid,
        node_keywords=list(weights),
        keyword_weights=list(weights.values()),
    )


def _updated_weights(weights: Mapping[str, float], words: Iterable[str]) -> dict[str, float]:
    """Return the decayed counts of keywords after a record with ``words``, heaviest first, the lightest dropped."""
    decay = 0.5 ** (1 / KEYWORD_HALF_LIFE)
    spelling: dict[str, str] = {}
    for word in weights:
        spelling.setdefault(name_key(word), word)
    after = {word: weight * decay for word, weight in weights.items()}
    for word in words:
        known = spelling.setdefault(name_key(word), word)
        after[known] = after.get(known, 0.0) + 1.0
    return dict(sorted(after.items(), key=itemgetter(1), reverse=True)[:MAX_NODE_KEYWORDS])


def _words(keywords: Keywords, names: frozenset[str]) -> list[str]:
    """Return a record's keywords for its node: the node's relationship labels, first entities and first topics."""
    words = (
        *(label for label, _ in _labels(keywords.relationships, names)),
        *keywords.entities[:KEYWORDS_OF_RECORD],
        *keywords.topics[:KEYWORDS_OF_RECORD],
    )
    distinct = {name_key(word): word for word in reversed(words) if name_key(word) and name_key(word) not in names}
    return list(reversed(distinct.values()))


def _labels(relationships: Iterable[str], names: frozenset[str]) -> list[tuple[str, str]]:
    """Return label and name of relationships such as ``coworker: Dave`` to one of ``names``."""
    matches = (_RELATIONSHIP.fullmatch(relationship) for relationship in relationships)
    return [(match["label"], match["name"]) for match in matches if match and name_key(match["name"]) in names]


def _ask_span(tx: Transaction, shell: _Shell) -> Iterable[DictRow]:
    """Ask for the span of a node's records."""
    return tx.execute(_QUERIES["span_of_records"].format(schema=sql.Identifier(shell.schema_name)))


def _described(tx: Transaction, user_slug: str, shell: _Shell, asked: Iterable[DictRow]) -> _Shell:
    """Return a shell with the summary of its node, except of a root, and the language of most of its memories."""
    (span,) = typed(asked, _Span)
    shell = shell._replace(language=span.language or shell.language)
    if shell.concept_kind == ConceptKind.USER:
        return shell
    return shell._replace(node_summary=_summary(tx, user_slug, shell, span))


def _summary(tx: Transaction, user_slug: str, shell: _Shell, span: _Span) -> str:
    """Return the summary of a node: its definition, then the number, period and subjects of its memories."""
    definition = _definition(tx, shell)
    if span.records == 0:
        return definition
    own = {word for name in (*shell.names, name_key(user_slug)) for word in (name, *name.split())}
    subjects = [word for word in shell.node_keywords or () if name_key(word) not in own][:SUBJECTS_SHOWN]
    memories = "1 memory" if span.records == 1 else f"{span.records:,} memories"
    about = f", mostly about {_listed(subjects)}" if subjects else ""
    return f"{definition} {memories} from {_period(span.first, span.last)}{about}.".strip()


def _definition(tx: Transaction, shell: _Shell) -> str:
    name, before = shell.node_name, definition_in(shell.node_summary)
    if shell.concept_kind != ConceptKind.PERSON or not (before == "" or before.startswith(f"{name}: ")):
        return before[:MAX_DEFINITION]
    query = _QUERIES["relationships_of_records"].format(schema=sql.Identifier(shell.schema_name))
    stated = [row["relationship"] for row in tx.execute(query)]
    counts = Counter(label for label, _ in _labels(stated, shell.names))
    values = {"node_id": shell.node_id, "uninformative": list(UNINFORMATIVE_LABELS)}
    for edge in tx.execute(_QUERIES["edges_to_person"], values):
        of_person = edge["concept_kind"] == ConceptKind.PERSON
        counts[f"{edge['node_name']}'s {edge['relation']}" if of_person else edge["relation"]] += edge["evidence_count"]
    labels = [label for label, _ in counts.most_common(LABELS_SHOWN)]
    return f"{name}: {_listed(labels)}." if labels else before[:MAX_DEFINITION]


def _period(first: datetime, last: datetime) -> str:
    """Return a period in months, such as ``May 2025`` or ``March to October 2025``."""
    first, last = first.astimezone(UTC), last.astimezone(UTC)
    if (first.year, first.month) == (last.year, last.month):
        return f"{last:%B} {last.year}"
    return f"{first:%B} {'' if first.year == last.year else f'{first.year} '}to {last:%B} {last.year}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
