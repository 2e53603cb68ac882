"""The tools of a chat: search, open the window around a message, walk the edges of a node, name disputes.

Each reads what the caller may see and nothing else, and collects the messages that the answer rests on. What a tool
returns is data for a language model, never an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, zip_longest
from uuid import UUID

from neurigraph_pipelines.graph.navigation import find_node, shell
from neurigraph_pipelines.model.chat import SEARCH, ToolCall, ToolSpec
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NeurigraphError, NotFoundError, is_for_operators
from neurigraph_pipelines.retrieval.ask import find_passages
from neurigraph_pipelines.retrieval.changed import notes_of
from neurigraph_pipelines.retrieval.open import open_messages
from neurigraph_pipelines.retrieval.passages import ReadMessage, places_of
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS, Question
from neurigraph_pipelines.text.visible import visible

WINDOW = 3
"""Messages before and after one, in its window."""

MOST_EDGES = 20
"""Most edges of a node that a walk names."""

RESULT_CHARACTERS = 600
"""Most characters of one message in the result that a language model reads."""

OPEN, WALK, DISPUTES = "openWindow", "walkEdges", "nameDisputes"


_SEARCH = ToolSpec(
    SEARCH,
    "Search the memory by words and meaning. Returns messages with the ids of their memories and nodes.",
    {"query": {"type": "string", "description": "What to search for, in a phrase or a question."}},
)
_OPEN = ToolSpec(
    OPEN,
    "Return the messages before and after one that a search has returned.",
    {"memory": {"type": "string"}, "message": {"type": "integer"}},
)
_WALK = ToolSpec(
    WALK,
    "Return what a node is related to.",
    {"node": {"type": "string", "description": "A path or an id."}},
)
_DISPUTES = ToolSpec(
    DISPUTES, "Name what was updated or contradicted of all that was returned so far, with both sides.", {}
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call.

    Attributes:
        text: What a language model reads.
        shown: What events show and the chat keeps: ids, names and counts, no remembered text.
        is_error: Whether the call failed.
    """

    text: str
    shown: Mapping[str, object]
    is_error: bool = False


@dataclass
class Toolbox:
    """The tools of one question, and the messages that they have collected.

    Args:
        context: With the caller's claims.
        moment: Relative times count from here.
        chat_id: The conversation of the chat, on which its own answers do not rest.
        own_records: The records that it became so far.
        document_ids: Only these sources; None for all.
        scope: The records of those sources.
    """

    context: Context
    moment: datetime
    chat_id: UUID
    own_records: Collection[UUID]
    document_ids: Collection[UUID] | None
    scope: tuple[UUID, ...]
    notes: list[str] = field(default_factory=list)
    nodes: dict[str, str] = field(default_factory=dict)
    neighbours: list[str] = field(default_factory=list)
    _collected: list[list[ReadMessage]] = field(default_factory=list)

    @property
    def specs(self) -> list[ToolSpec]:
        """The tools. Edges lead out of a scope, so a chat of single documents walks none."""
        return [_SEARCH, _OPEN, *([_WALK] if self.document_ids is None else []), _DISPUTES]

    @property
    def passages(self) -> list[ReadMessage]:
        """The collected messages, each once: all of the first call, then the best of every other one first."""
        found: dict[tuple[UUID, int | None], ReadMessage] = {}
        for passage in chain(*self._collected[:1], *zip_longest(*self._collected[1:])):
            if passage is not None:
                found.setdefault(_key(passage), passage)
        return list(found.values())

    def run(self, call: ToolCall) -> Outcome:
        """Run a call. A wrong call, or one that names a thing that the caller does not see, ends in an error."""
        runs: dict[str, Callable[[Mapping[str, object]], Outcome]] = {
            SEARCH: self._search,
            OPEN: self._open,
            WALK: self._walk,
            DISPUTES: self._disputes,
        }
        known = {spec.name: spec for spec in self.specs}
        try:
            if call.name not in known:
                raise InvalidInputError(f"there is no such tool: use {', '.join(known)}")
            given = call.arguments
            if given is None or set(given) != set(known[call.name].fields):
                raise InvalidInputError(f"{call.name} takes {', '.join(known[call.name].fields)}")
            outcome = runs[call.name](given)
            return replace(outcome, text=visible(outcome.text))
        except NeurigraphError as error:
            said = "this cannot be read now" if is_for_operators(error) else str(error) or "not found"
            return Outcome(said, {"error": said}, is_error=True)

    def widen(self, most: int) -> None:
        """Open the windows around the best messages."""
        for passage in self.passages[:most]:
            if passage.message is not None and passage.hit.record_id is not None:
                arguments = {"memory": str(passage.hit.record_id), "message": passage.message.seq}
                self.run(ToolCall("", OPEN, arguments))

    def _search(self, given: Mapping[str, object]) -> Outcome:
        query = str(given["query"])[:MAX_QUERY_CHARACTERS]
        passages: list[ReadMessage] = []
        if self.document_ids is None or self.scope:
            question = Question(query, record_ids=self.scope)
            passages = find_passages(self.context, question, self.moment, self.notes, sources=self._counts)
        for passage in passages:
            if passage.hit.node_id and passage.hit.node_path:
                self.nodes.setdefault(str(passage.hit.node_id), passage.hit.node_path)
        self._collected.append(passages)
        return self._returned(passages)

    def _open(self, given: Mapping[str, object]) -> Outcome:
        hits = {str(one.hit.record_id): one.hit for each in self._collected for one in each if one.hit.stored}
        hit, message = hits.get(str(given["memory"])), given["message"]
        if hit is None or hit.file_id is None:
            raise NotFoundError("no search has returned a message of this memory")
        if type(message) is not int or not 0 < message < 2**31 - WINDOW:
            raise InvalidInputError("message is the number of a message")
        numbers = range(max(1, message - WINDOW), message + WINDOW + 1)
        opened = open_messages(self.context, hit.file_id, numbers)
        passages = [ReadMessage(hit, one.content, one.occurred_at, one) for one in opened]
        self._collected.append(passages)
        return self._returned(passages)

    def _walk(self, given: Mapping[str, object]) -> Outcome:
        database, claims, named = self.context.database, self.context.claims, str(given["node"])
        with database.agent(claims) as tx:
            try:
                node_id = UUID(named)
            except ValueError:
                node_id = find_node(tx, claims.user_id, named)
            found = shell(tx, node_id)
        edges = [
            {"relation": one.relation, "direction": one.direction, "node": one.node_name}
            for one in found.edges[:MOST_EDGES]
        ]
        self.neighbours = list(dict.fromkeys([*self.neighbours, *(one["node"] for one in edges)]))
        lines = [f"{one['relation']} {'→' if one['direction'] == 'out' else '←'} {one['node']}" for one in edges]
        return Outcome("\n".join(lines) or "nothing", {"node": found.path, "edges": edges})

    def _disputes(self, _: Mapping[str, object]) -> Outcome:
        said = notes_of(self.context, places_of(self.passages), self.own_records)
        self.notes += [one for one in said if one not in self.notes]
        return Outcome("\n".join(said) or "none", {"disputes": len(said)})

    def _counts(self, source_id: UUID) -> bool:
        """Whether answers may rest on messages of a source."""
        return source_id != self.chat_id and (self.document_ids is None or source_id in self.document_ids)

    def _returned(self, passages: list[ReadMessage]) -> Outcome:
        lines = []
        for one in passages:
            number = one.message.seq if one.message is not None else "summary"
            quotable = one.as_quotable()
            text = " ".join(one.text.split())[:RESULT_CHARACTERS]
            where = f"memory {one.hit.record_id}, message {number}, node {one.hit.node_path}"
            lines.append(f"[{where}] {one.occurred_at:%Y-%m-%d %H:%M} {quotable.speaker}: {text}")
        named = [
            {
                "memory": one.hit.record_id and str(one.hit.record_id),
                "message": one.message.seq if one.message is not None else None,
            }
            for one in passages
        ]
        return Outcome("\n".join(lines) or "nothing", {"count": len(passages), "messages": named})


def _key(passage: ReadMessage) -> tuple[UUID, int | None]:
    return passage.hit.key, passage.message.seq if passage.message else None
