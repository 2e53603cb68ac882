"""Traces of erased text in shells of other nodes, in relations and in candidates for nodes.

None of these refers to the record that it came from. Therefore a word counts as a trace if it was in the erased text
and no remaining text contains it, whatever the language of either. Candidates and relations with such a word are
erased, and shells are rebuilt from the remaining records of their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.shell import definition_in, rebuild_shell
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.lexemes import LANGUAGE_MARK, Lexer, is_language, lexemes_of_words, lexer_of

_QUERIES = statements("erasure")


class Traces:
    """Removes traces from one user's graph, in the transaction of the erasure, which holds the graph's lock.

    Args:
        lexer: The lexer of the installation's language.
    """

    def __init__(self, tx: Transaction, user_id: UUID, user_slug: str, lexer: Lexer) -> None:
        self._tx = tx
        self._user_id = user_id
        self._slug = user_slug
        self._lexers = [lexer]
        self._remaining: frozenset[str] = frozenset()

    def remove(
        self, lexemes: Iterable[str], texts: Iterable[str], paths: Sequence[Sequence[str]], touched: Iterable[UUID]
    ) -> dict[str, int]:
        """Remove the traces of erased rows.

        Args:
            lexemes: Lexemes of the erased passages.
            texts: All other erased texts.
            paths: Names from layer 1 down of erased nodes.
            touched: Nodes whose shells must be rebuilt in any case.

        Returns:
            The numbers of erased ``candidates`` and ``edges``.
        """
        said = frozenset(lexemes)
        self._lexers += self._further_lexers(said)
        words = [word for text in texts for word in lexemes_of_words(text, self._lexers)]
        asked = said.union(*words)
        rows = self._tx.execute(
            _QUERIES["lexemes_without_passages"], {"user_id": self._user_id, "lexemes": sorted(asked)}
        )
        gone = frozenset(row["lexeme"] for row in rows)
        self._remaining = asked - gone
        vanished = (said & gone).union(*(word for word in words if word <= gone))
        candidates = self._remove_candidates(vanished, [tuple(map(name_key, path)) for path in paths])
        ends = self._remove_relations(vanished)
        self._rebuild_shells(vanished, {*touched, *(end for pair in ends for end in pair)})
        return {"candidates": candidates, "edges": len(ends)}

    def _further_lexers(self, said: frozenset[str]) -> list[Lexer]:
        """Return the lexers of the other languages that passages are or were in."""
        rows = self._tx.execute(_QUERIES["languages"], {"user_id": self._user_id, "mark": LANGUAGE_MARK})
        marked = {row["lexeme"] for row in rows} | {one for one in said if one.startswith(LANGUAGE_MARK)}
        names = {one.removeprefix(LANGUAGE_MARK) for one in marked} - {lexer.language for lexer in self._lexers}
        return [lexer_of(name) for name in sorted(names) if is_language(name)]

    def _contains(self, text: str, vanished: frozenset[str]) -> bool:
        """Whether a word of ``text`` has vanished: in one language, and remains in none."""
        return bool(vanished) and any(
            not word.isdisjoint(vanished) and word.isdisjoint(self._remaining)
            for word in lexemes_of_words(text, self._lexers)
        )

    def _remove_candidates(self, vanished: frozenset[str], erased: Sequence[tuple[str, ...]]) -> int:
        """Erase candidates with a vanished word, below an erased node, or with an edge from one."""

        def below(path: Sequence[str]) -> bool:
            keys = tuple(map(name_key, path))
            return any(keys[: len(path_keys)] == path_keys for path_keys in erased)

        to_erase = [
            row["candidate_id"]
            for row in self._tx.execute(_QUERIES["candidates"], {"user_id": self._user_id}).fetchall()
            if below(row["parent_path"])
            or any(below(edge["from"]) for edge in row["edges"])
            or self._contains(" ".join([row["node_name"], *(edge["label"] for edge in row["edges"])]), vanished)
        ]
        self._tx.execute(_QUERIES["erase_candidates"], {"candidate_ids": to_erase})
        return len(to_erase)

    def _remove_relations(self, vanished: frozenset[str]) -> list[tuple[UUID, UUID]]:
        """Erase edges whose label contains a vanished word, and return the two nodes of each."""
        labels = self._tx.execute(_QUERIES["relations"], {"user_id": self._user_id}).fetchall()
        relations = [row["relation"] for row in labels if self._contains(row["relation"], vanished)]
        rows = self._tx.execute(_QUERIES["erase_relations"], {"user_id": self._user_id, "relations": relations})
        return [(row["from_node_id"], row["to_node_id"]) for row in rows]

    def _rebuild_shells(self, vanished: frozenset[str], touched: set[UUID]) -> None:
        """Rebuild shells from the remaining records, and again without aliases and definitions with vanished words."""
        for node_id in sorted(touched):
            rebuild_shell(self._tx, node_id, self._slug)
        for row in self._tx.execute(_QUERIES["shells"], {"user_id": self._user_id}).fetchall():
            traces = vanished.difference(*lexemes_of_words(row["node_name"], self._lexers))  # the name stays anyway
            aliases = [alias for alias in row["aliases"] if not self._contains(alias, traces)]
            undefined = self._contains(definition_in(row["node_summary"]), traces)
            if (
                undefined
                or len(aliases) < len(row["aliases"])
                or self._contains(" ".join([row["node_summary"] or "", *(row["node_keywords"] or ())]), traces)
            ):
                definition = "" if undefined else None
                rebuild_shell(self._tx, row["node_id"], self._slug, aliases=aliases, definition=definition)
