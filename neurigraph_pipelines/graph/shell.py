"""The shell of a node as it grows: counters, centroid, keywords, summary, other names.

The one place that changes these columns of the graph index, inside the transaction of a commit or of a change of the
graph, and without any model: everything follows from the structured keywords of the records. Reading a shell is in
``navigation``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH, name_key
from neurigraph_pipelines.graph.provisioning import NodeRef, resolve_path
from neurigraph_pipelines.model import ConceptKind, Keywords, PlannedAlias
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pgvector import Vector

MAX_NODE_KEYWORDS = 64
KEYWORDS_OF_RECORD = 6
"""Entities, and as many topics, that a record adds to its node's keywords."""

KEYWORD_HALF_LIFE = 64
"""Records after which what a keyword weighs is halved: what is not borne out again makes room."""

MAX_ALIASES = 16
SUBJECTS_SHOWN = 5
LABELS_SHOWN = 3
MAX_DEFINITION = 300
"""Characters of the sentence that says what a node is."""

UNTELLING = frozenset(["mentions", "talks with", "related to"])
"""Labels of edges that do not say what somebody is."""

_TELLING_RECORDS = 4 * KEYWORD_HALF_LIFE  # older ones weigh less than a sixteenth
_KEYWORD_FIELDS = tuple(each.name for each in fields(Keywords))
_QUERIES = statements("graph")
_GROWTH = re.compile(r"\s*\b(?:1 memory|[\d,]+ memories) from .*", re.DOTALL)
_RELATIONSHIP = re.compile(r"(?P<label>[^:]{1,60}): (?P<name>.+)")


@dataclass(frozen=True, slots=True)
class Addition:
    """One record that a node gained.

    Attributes:
        vector: ``(RECORD_DIMENSIONS,)`` float32 of unit length; None while the embedding is pending, or where it is
            not of the model in use: a centroid is a mean of vectors of one model.
    """

    node: NodeRef
    keywords: Keywords
    vector: NDArray[np.float32] | None


def update_shells(
    tx: Transaction, user_id: UUID, user_slug: str, additions: Sequence[Addition], aliases: Sequence[PlannedAlias]
) -> None:
    """Bring the shells of all nodes that a segment touched up to date.

    Nodes are locked in one order everywhere, for the rest of the transaction: commits to one node take turns.
    """
    gained: dict[UUID, list[Addition]] = {}
    for addition in additions:
        gained.setdefault(addition.node.node_id, []).append(addition)
    learned: dict[UUID, list[str]] = {}
    for planned in aliases:
        node = resolve_path(tx, user_id, user_slug, planned.path)
        if len(node.names) == len(planned.path):
            learned.setdefault(node.node_id, []).append(planned.alias)
    for node_id in sorted(gained.keys() | learned.keys()):
        row = tx.execute(_QUERIES["lock_shell"], {"node_id": node_id}).fetchone()
        assert row is not None
        shell = {**row, "aliases": _with_aliases(tx, user_id, row, learned.get(node_id, ()))}
        for addition in gained.get(node_id, ()):
            shell |= _with_record(shell, addition)
        count = shell["record_count"]
        if _stage(count) != _stage(row["record_count"]) and shell["concept_kind"] != ConceptKind.USER:
            shell["node_summary"] = _summary(tx, node_id, user_slug, shell)
        tx.execute(_QUERIES["update_shell"], {**shell, "node_id": node_id})


def _stage(count: int) -> tuple[int, int]:
    """Which stage of growth a node of ``count`` records is at: each record up to eight, then four to a doubling.

    The summary is renewed when it changes, so what that costs stays in proportion to what the node gained.
    """
    step = 1 << max(0, count.bit_length() - 3)
    return step, count // step


def replace_vector(
    tx: Transaction,
    node_id: UUID,
    *,
    lost: NDArray[np.float32] | None = None,
    gained: NDArray[np.float32] | None = None,
) -> None:
    """Let a vector that a record has lost or gained after its commit, or both, count in its node's centroid.

    Args:
        tx: Of the pipeline; the node is locked for the rest of it.
        node_id: The record's node.
        lost: Counted until now, as of an ``Addition``.
        gained: Counts from now on.
    """
    from pgvector import Vector  # with numpy behind it: not for those who only look at what is due

    shell = tx.execute(_QUERIES["lock_shell"], {"node_id": node_id}).fetchone()
    assert shell is not None
    count, centroid = shell["embedded_count"], shell["centroid"]
    if lost is not None:
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
    aliases: Sequence[str] | None = None,
    definition: str | None = None,
) -> None:
    """Derive a shell anew from what its node holds, once records have left or entered it in another way than a commit.

    Counts and centroid are exact; keywords are those of the newest records, weighed as if these had come one by one.
    Records of private sources lend it no words.

    Args:
        tx: Of the pipeline or the owner; the node is locked for the rest of it.
        node_id: The node.
        user_slug: Of its user.
        aliases: Other names from now on; None leaves them as they are.
        definition: The sentence that says what the node is; None leaves it as it is.
    """
    row = tx.execute(_QUERIES["lock_shell"], {"node_id": node_id}).fetchone()
    assert row is not None
    schema = sql.Identifier(row["schema_name"])
    shell = {
        **row,
        "aliases": row["aliases"] if aliases is None else list(aliases),
        "node_summary": row["node_summary"] if definition is None else definition,
    }
    counted = tx.execute(_QUERIES["content_of_shell"].format(schema=schema), {"node_id": node_id}).fetchone()
    assert counted is not None
    weights: dict[str, float] = {}
    newest = tx.execute(_QUERIES["keywords_of_newest"].format(schema=schema), {"limit": _TELLING_RECORDS}).fetchall()
    for words in reversed(newest):
        keywords = Keywords(*(tuple(words[f"kw_{name}"] or ()) for name in _KEYWORD_FIELDS))
        weights = _weighed(weights, _words(keywords, _names(shell)))
    shell |= {**counted, "node_keywords": list(weights), "keyword_weights": list(weights.values())}
    if shell["concept_kind"] != ConceptKind.USER:
        shell["node_summary"] = _summary(tx, node_id, user_slug, shell)
    tx.execute(_QUERIES["set_shell"], {**shell, "node_id": node_id})


def set_centroid(tx: Transaction, node_id: UUID, embedded_count: int, centroid: Vector | None) -> None:
    """Replace a node's centroid, the mean of ``embedded_count`` vectors of one model."""
    tx.execute(_QUERIES["set_centroid"], {"node_id": node_id, "embedded_count": embedded_count, "centroid": centroid})


def _mean_with(mean: Vector | None, count: int, vector: NDArray[np.float32]) -> Vector:
    """The mean of ``count + 1`` vectors from the mean of the first ``count`` and one more."""
    from pgvector import Vector  # with numpy behind it: not for those who only look at what is due

    total = vector if mean is None else mean.to_numpy() * count + vector
    return Vector(total / (count + 1))


def _with_record(shell: Mapping[str, Any], addition: Addition) -> dict[str, Any]:
    """The columns that one more record changes."""
    count, centroid = shell["embedded_count"], shell["centroid"]
    if addition.vector is not None:
        centroid = _mean_with(centroid, count, addition.vector)
        count += 1
    weights = _weighed(
        dict(zip(shell["node_keywords"] or (), chain(shell["keyword_weights"], repeat(1.0)), strict=False)),
        _words(addition.keywords, _names(shell)),
    )
    return {
        "record_count": shell["record_count"] + 1,
        "embedded_count": count,
        "centroid": centroid,
        "node_keywords": list(weights),
        "keyword_weights": list(weights.values()),
    }


def _weighed(weights: Mapping[str, float], borne: Iterable[str]) -> dict[str, float]:
    """Decayed counts of keywords once a record bears ``borne``, heaviest first, the lightest dropped."""
    decay = 0.5 ** (1 / KEYWORD_HALF_LIFE)
    spelling: dict[str, str] = {}
    for word in weights:
        spelling.setdefault(name_key(word), word)
    after = {word: weight * decay for word, weight in weights.items()}
    for word in borne:
        known = spelling.setdefault(name_key(word), word)
        after[known] = after.get(known, 0.0) + 1.0
    return dict(sorted(after.items(), key=itemgetter(1), reverse=True)[:MAX_NODE_KEYWORDS])


def _words(keywords: Keywords, names: frozenset[str]) -> list[str]:
    """What a record says that its node is about: its first entities and topics, and what the node is to others."""
    words = (
        *(label for label, _ in _labels(keywords.relationships, names)),
        *keywords.entities[:KEYWORDS_OF_RECORD],
        *keywords.topics[:KEYWORDS_OF_RECORD],
    )
    distinct = {name_key(word): word for word in reversed(words) if name_key(word) and name_key(word) not in names}
    return list(reversed(distinct.values()))


def _labels(relationships: Iterable[str], names: frozenset[str]) -> list[tuple[str, str]]:
    """Label and name of relationships such as ``coworker: Dave`` with whoever bears one of ``names``."""
    matches = (_RELATIONSHIP.fullmatch(relationship) for relationship in relationships)
    return [(match["label"], match["name"]) for match in matches if match and name_key(match["name"]) in names]


def _names(shell: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(map(name_key, (shell["node_name"], *shell["aliases"])))


def _with_aliases(tx: Transaction, user_id: UUID, shell: Mapping[str, Any], learned: Iterable[str]) -> list[str]:
    """The aliases with those of ``learned`` that no other node of the user bears, as a name or an alias."""
    aliases = {name_key(alias): alias for alias in shell["aliases"]}
    for alias in learned:
        key = name_key(alias)
        if not key or key == name_key(shell["node_name"]) or key in aliases or len(aliases) >= MAX_ALIASES:
            continue
        others = tx.execute(
            _QUERIES["name_borne_elsewhere"],
            {"user_id": user_id, "node_id": shell["node_id"], "name_key": key, "alias": alias},
        ).fetchone()
        assert others is not None
        if not others["borne"]:
            aliases[key] = alias[:MAX_NAME_LENGTH]
    return list(aliases.values())


def definition_in(summary: str | None) -> str:
    """The part of a node's summary that says what it is, without what follows from its records."""
    return _GROWTH.sub("", summary or "").strip()


def _summary(tx: Transaction, node_id: UUID, user_slug: str, shell: Mapping[str, Any]) -> str:
    """What the node is, as it was proposed or as people say, and from when and about what its memories are."""
    schema = sql.Identifier(shell["schema_name"])
    span = tx.execute(_QUERIES["span_of_records"].format(schema=schema)).fetchone()
    assert span is not None
    definition = _definition(tx, node_id, schema, shell)
    count = span["records"]
    if count == 0:
        return definition
    own = {word for name in (*_names(shell), name_key(user_slug)) for word in (name, *name.split())}
    subjects = [word for word in shell["node_keywords"] if name_key(word) not in own][:SUBJECTS_SHOWN]
    memories = "1 memory" if count == 1 else f"{count:,} memories"
    about = f", mostly about {_listed(subjects)}" if subjects else ""
    return f"{definition} {memories} from {_period(span['first'], span['last'])}{about}.".strip()


def _definition(tx: Transaction, node_id: UUID, schema: sql.Identifier, shell: Mapping[str, Any]) -> str:
    name, before = shell["node_name"], definition_in(shell["node_summary"])
    if shell["concept_kind"] != ConceptKind.PERSON or not (before == "" or before.startswith(f"{name}: ")):
        return before[:MAX_DEFINITION]
    stated = [row["relationship"] for row in tx.execute(_QUERIES["relationships_of_records"].format(schema=schema))]
    counts = Counter(label for label, _ in _labels(stated, _names(shell)))
    for edge in tx.execute(_QUERIES["edges_to_person"], {"node_id": node_id, "untelling": list(UNTELLING)}):
        of_person = edge["concept_kind"] == ConceptKind.PERSON
        counts[f"{edge['node_name']}'s {edge['relation']}" if of_person else edge["relation"]] += edge["evidence_count"]
    labels = [label for label, _ in counts.most_common(LABELS_SHOWN)]
    return f"{name}: {_listed(labels)}." if labels else before[:MAX_DEFINITION]


def _period(first: datetime, last: datetime) -> str:
    """Months, such as ``May 2025`` or ``March to October 2025``."""
    first, last = first.astimezone(UTC), last.astimezone(UTC)
    if (first.year, first.month) == (last.year, last.month):
        return f"{last:%B} {last.year}"
    return f"{first:%B} {'' if first.year == last.year else f'{first.year} '}to {last:%B} {last.year}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
