"""What a forgotten text left elsewhere: in the shells of other nodes, in relations, in candidates for nodes.

None of these says which record it came from. So what counts is which of the forgotten words nothing says any more that
remains: whatever bears one of them goes, and shells are derived anew from the records that their nodes still hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.shell import definition_in, rebuild_shell
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.lexemes import Lexer

_QUERIES = statements("erasure")


class Traces:
    """Of one user's graph, in the transaction that forgets something of it; the graph is taken.

    Args:
        lexer: That made the lexemes of the passages.
    """

    def __init__(self, tx: Transaction, user_id: UUID, user_slug: str, lexer: Lexer) -> None:
        self._tx = tx
        self._user_id = user_id
        self._slug = user_slug
        self._lexer = lexer

    def remove(
        self, lexemes: Iterable[str], texts: Iterable[str], paths: Sequence[Sequence[str]], touched: Iterable[UUID]
    ) -> dict[str, int]:
        """Remove what is left of something, after its rows are gone.

        Args:
            lexemes: Of the passages that are gone.
            texts: Everything else that was said of it.
            paths: Names from layer 1 down of nodes that are gone.
            touched: Nodes whose shells are no longer right in any case.

        Returns:
            How many ``candidates`` and ``edges`` went.
        """
        words = set(lexemes).union(*(self._lexer.lexemes(text) for text in texts))
        rows = self._tx.execute(_QUERIES["vanished"], {"user_id": self._user_id, "lexemes": sorted(words)})
        vanished = frozenset(row["lexeme"] for row in rows)
        candidates = self._remove_candidates(vanished, [tuple(map(name_key, path)) for path in paths])
        ends = self._remove_relations(vanished)
        self._rebuild_shells(vanished, {*touched, *(end for pair in ends for end in pair)})
        return {"candidates": candidates, "edges": len(ends)}

    def _bears(self, text: str, vanished: frozenset[str]) -> bool:
        return bool(vanished) and not vanished.isdisjoint(self._lexer.lexemes(text))

    def _remove_candidates(self, vanished: frozenset[str], gone: Sequence[tuple[str, ...]]) -> int:
        """Those that bear a word, were met below a node that is gone, or are to be linked with one."""

        def below(path: Sequence[str]) -> bool:
            keys = tuple(map(name_key, path))
            return any(keys[: len(each)] == each for each in gone)

        doomed = [
            row["candidate_id"]
            for row in self._tx.execute(_QUERIES["candidates"], {"user_id": self._user_id}).fetchall()
            if below(row["parent_path"])
            or any(below(edge["from"]) for edge in row["edges"])
            or self._bears(" ".join([row["node_name"], *(edge["label"] for edge in row["edges"])]), vanished)
        ]
        self._tx.execute(_QUERIES["erase_candidates"], {"candidate_ids": doomed})
        return len(doomed)

    def _remove_relations(self, vanished: frozenset[str]) -> list[tuple[UUID, UUID]]:
        """Edges whose label bears a word; gives the ends of each."""
        labels = self._tx.execute(_QUERIES["relations"], {"user_id": self._user_id}).fetchall()
        borne = [row["relation"] for row in labels if self._bears(row["relation"], vanished)]
        rows = self._tx.execute(_QUERIES["erase_relations"], {"user_id": self._user_id, "relations": borne})
        return [(row["from_node_id"], row["to_node_id"]) for row in rows]

    def _rebuild_shells(self, vanished: frozenset[str], touched: set[UUID]) -> None:
        """Once from what is there, and once more without other names and sentences that still bear a word."""
        for node_id in sorted(touched):
            rebuild_shell(self._tx, node_id, self._slug)
        for row in self._tx.execute(_QUERIES["shells"], {"user_id": self._user_id}).fetchall():
            borne = vanished.difference(self._lexer.lexemes(row["node_name"]))  # the name stays in any case
            aliases = [alias for alias in row["aliases"] if not self._bears(alias, borne)]
            undefined = self._bears(definition_in(row["node_summary"]), borne)
            if (
                undefined
                or len(aliases) < len(row["aliases"])
                or self._bears(" ".join([row["node_summary"] or "", *(row["node_keywords"] or ())]), borne)
            ):
                definition = "" if undefined else None
                rebuild_shell(self._tx, row["node_id"], self._slug, aliases=aliases, definition=definition)
