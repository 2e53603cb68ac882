"""Questions about a node as a whole: its description, its facts by subject with their days, and its latest memories.

"Who is Dave?" begins with what he is; "Tell me everything about Dave" is no search for "everything". All of it is read
under the rights of the caller, and cites where it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import compress
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import ask_rows
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.describing import Clause, Described, clauses_of, sentence_of
from neurigraph_pipelines.graph.history import record_at
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.navigation import shell
from neurigraph_pipelines.model import ConceptKind, Statement
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import NotFoundError, StorageError
from neurigraph_pipelines.retrieval.open import open_in_files
from neurigraph_pipelines.retrieval.passages import ReadMessage
from neurigraph_pipelines.retrieval.query.facts import facts_by_id
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.facts import Fact
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.kinds import FactStatus
from neurigraph_pipelines.views.memories import Memory
from neurigraph_pipelines.views.search import Hit, Origin

MOST_FACTS, MOST_READ = 20, 100
"""Facts that an answer about everything states, and facts that they are chosen from, the latest."""

MOST_MEMORIES = 3

_WHO = re.compile(
    r"\W*(?:who(?:['’]s| is)|wer ist|(?:quién|quien) es|qui est|chi è|wie is|quem é)\s+(?P<name>.+?)\W*", re.I
)
_EVERYTHING = re.compile(
    r"\W*(?:(?:please |can you )?tell me (?:all|everything)(?: (?:that )?you know)? about|"
    r"what (?:do|can|did) (?:you|we|i) (?:know|tell me|remember|learn|say) about|"
    r"everything about|tell me about|what about|"
    r"was weißt du (?:alles )?(?:über|von)|erzähl\w* mir (?:bitte )?(?:alles )?(?:über|von)|"
    r"(?:qué|que) sabes (?:de|sobre)|(?:cuéntame|dime) todo sobre|que sais-tu (?:de|sur)|dis-moi tout sur|"
    r"(?:che )?cosa sai (?:di|su)|dimmi tutto su|wat weet (?:je|jij) (?:over|van)|vertel me alles over|"
    r"o que (?:você )?sabes? (?:de|sobre)|conte-me tudo sobre)\s+(?P<name>.+?)\W*",
    re.I,
)
_PLAIN = Question("")
_FILTERS = ("node_id", "at", "occurred_after", "occurred_before", "source_kinds", "speaker", "record_ids")
_QUERIES = statements("about")
Place = tuple[UUID, int | None]
"""A record and one of its messages; None for its summary."""

_Cited = tuple[UUID | None, int | None]
"""The same of a passage, which may be of a message that is not stored yet."""


class NamedNode(NamedTuple):
    """A node with a name that was looked for; ``met`` is the length of the longest such name."""

    node_id: UUID
    met: int
    names: list[str]
    concept_kind: ConceptKind


@dataclass(frozen=True, slots=True)
class Told:
    """The known facts and memories of the node that a question is about.

    Attributes:
        statements: Each with the records and messages that it rests on.
        passages: These, by record and message.
        is_all: Whether nothing else is asked for.
        yields: Whether statements of a model about the same messages replace these statements.
    """

    statements: list[tuple[str, list[_Cited]]] = field(default_factory=list)
    passages: dict[_Cited, ReadMessage] = field(default_factory=dict)
    is_all: bool = False
    yields: bool = False

    def __bool__(self) -> bool:
        return bool(self.statements)

    def before(self, passages: Sequence[ReadMessage]) -> list[ReadMessage]:
        """Return its own passages before those that a search found, each once."""
        return [*self.passages.values(), *(one for one in passages if place_of(one) not in self.passages)]

    def stated(self, passages: Sequence[ReadMessage]) -> list[Statement]:
        """Return the statements, quoting passages by their places among all of an answer, from 1."""
        places = {place_of(one): number for number, one in enumerate(passages, start=1) if not one.is_correction}
        found = ((text, tuple(places[one] for one in rests if one in places)) for text, rests in self.statements)
        return [Statement(text, quoted) for text, quoted in found if quoted]

    def words_beside(self, passage: ReadMessage) -> str:
        """Return the words of a passage, unless it is one of its own: a summary repeats nothing."""
        return "" if place_of(passage) in self.passages else passage.text

    def with_others(
        self, own: Sequence[Statement], given: Sequence[Statement], passages: Sequence[ReadMessage]
    ) -> list[Statement]:
        """Return its own statements and a model's, without repetitions."""
        if self.yields:
            quoted = {number for one in given for number in one.quoted}
            return [*(one for one in own if quoted.isdisjoint(one.quoted)), *given]
        said = (any(place_of(passages[n - 1]) not in self.passages for n in one.quoted) for one in given)
        return [*own, *compress(given, said)]


def place_of(passage: ReadMessage) -> _Cited:
    """Return the record and the message of a passage."""
    return passage.hit.record_id, passage.message.seq if passage.message else None


def told_about(context: Context, question: Question) -> Told:
    """Return the known facts and memories of the node or person that a question is about as a whole, or None.

    A question with filters is a search, and so is one about a name that no node and no fact has.
    """
    who, everything = _WHO.fullmatch(question.query), _EVERYTHING.fullmatch(question.query)
    asked = who or everything
    if asked is None or not is_plain(question):
        return Told()
    name = clean_text(asked["name"], "repair")[0].strip()
    return enriched("nodes", lambda: _told(context, name, is_all=everything is not None), Told)


def named_nodes(context: Context, keys: Sequence[str]) -> list[NamedNode]:
    """Return the nodes with the longest of some names that the caller sees, each with all its names."""
    values = {"user_id": context.claims.user_id, "keys": [key for key in keys if key]}
    nodes = ask_rows(context.database, context.claims, _QUERIES["named_nodes"], NamedNode, values)
    return [node for node in nodes if node.met == nodes[0].met]


def named_in(question: str) -> str:
    """Return the name that a question asks about: of "What do we know about Ana?", Ana; else the question."""
    match = _EVERYTHING.fullmatch(question) or _WHO.fullmatch(question)
    return match["name"].strip() if match else question


def facts_about(
    context: Context,
    names: Sequence[str],
    nodes: Sequence[NamedNode],
    limit: int,
    *,
    archived: bool = False,
    filed: bool = False,
    worded: bool = False,
) -> list[UUID]:
    """Return the facts about some nodes, or under some names themselves, the last said first.

    Args:
        archived: Whether facts that were taken back count, too.
        worded: Whether facts whose words have the name are about it, too: of a name without a node.
        filed: Whether all facts of the memories at a node are about it, too, unless the node is a person.
    """
    names = list(dict.fromkeys([*names, *(one for node in nodes for one in node.names)]))
    lowered = [one.lower() for one in names]
    values = {
        "user_id": context.claims.user_id,
        "node_ids": [node.node_id for node in nodes],
        "subject_ids": [node.node_id for node in nodes if filed and node.concept_kind != ConceptKind.PERSON],
        "names": names,
        "lower": lowered,
        "firsts": [one.split(" ")[0] for one in lowered],
        "patterns": [rf"\m{re.escape(one)}\M" for one in names],
        "archived": archived,
        "worded": worded,
        "limit": limit,
    }
    return [row["fact_id"] for row in context.database.ask(context.claims, _QUERIES["facts_about"], values)]


def is_plain(question: Question) -> bool:
    """Return whether a question has no filter."""
    return all(getattr(question, one) == getattr(_PLAIN, one) for one in _FILTERS)


def _told(context: Context, name: str, *, is_all: bool) -> Told:
    nodes = named_nodes(context, [name_key(name)])
    people = [node for node in nodes if node.concept_kind == ConceptKind.PERSON]
    found = list(_summaries(context, name, people, nodes))
    if is_all:
        newest = _newest(context, nodes)
        others = [node for node in nodes if node not in people]
        found += list(_descriptions(context, others, newest))
        found += list(_facts(context, name, nodes)) + newest
    return told_with(context, found, is_all=is_all)


def told_with(
    context: Context, found: Sequence[tuple[str, list[Place]]], *, is_all: bool, yields: bool = False
) -> Told:
    """Return statements with the messages that they rest on."""
    passages = passages_at(context, {place for _, rests in found for place in rests})
    cited = [(text, [place_of(passages[one]) for one in rests if one in passages]) for text, rests in found]
    return Told(cited, {place_of(one): one for one in passages.values()}, is_all=is_all, yields=yields)


def _summaries(
    context: Context, name: str, people: Sequence[NamedNode], nodes: Sequence[NamedNode]
) -> Iterator[tuple[str, list[Place]]]:
    """Yield the relations of the people of a name; facts alone may know somebody without a node."""
    known = [Described(one.node_id, one.names) for one in people]
    for one, parts in described(context, known if nodes else [Described(None, [name])]):
        if rests := _places(parts):
            yield sentence_of(one.names[-1], parts), rests


def described(context: Context, people: Sequence[Described]) -> list[tuple[Described, list[Clause]]]:
    """Return some people, each with the descriptions that the caller sees."""
    ask = partial(context.database.ask, context.claims)
    return list(zip(people, clauses_of(ask, context.claims.user_id, people), strict=True)) if people else []


def _places(clauses: Sequence[Clause]) -> list[Place]:
    return list(dict.fromkeys((one.record_id, one.message) for one in clauses if one.record_id is not None))


def _descriptions(
    context: Context, nodes: Sequence[NamedNode], newest: Sequence[tuple[str, list[Place]]]
) -> Iterator[tuple[str, list[Place]]]:
    """Yield the summaries of topics and projects, which are made of their memories."""
    for node in nodes:
        with context.database.agent(context.claims) as tx:
            summary = shell(tx, node.node_id).summary
        if summary and newest:
            name = node.names[-1]
            yield summary if summary.startswith(name) else f"{name}: {summary}", newest[0][1]


def _facts(context: Context, name: str, nodes: Sequence[NamedNode]) -> list[tuple[str, list[Place]]]:
    """Return the latest facts that stand, those of one subject together, the subject with most of them first."""
    facts = facts_by_id(context, facts_about(context, [name], nodes, MOST_READ, filed=True))
    standing = (FactStatus.ACTIVE, FactStatus.DISPUTED)
    by_subject: dict[str, list[Fact]] = {}
    said: set[UUID] = set()
    latest = sorted(
        (one for one in facts.values() if one.status in standing), key=lambda one: one.said_at, reverse=True
    )
    for one in latest:
        if one.canonical_id not in said and len(said) < MOST_FACTS:
            said.add(one.canonical_id)
            by_subject.setdefault(one.node_path.rpartition("/")[2], []).append(one)
    return [
        (f"{subject}, {day_of(one.said_at)}: {one.statement}", [(one.record_id, one.first_message)])
        for subject, part in sorted(by_subject.items(), key=lambda item: -len(item[1]))
        for one in part
    ]


def _newest(context: Context, nodes: Sequence[NamedNode]) -> list[tuple[str, list[Place]]]:
    values = {"node_ids": [node.node_id for node in nodes], "limit": MOST_MEMORIES}
    ids = [row["record_id"] for row in context.database.ask(context.claims, _QUERIES["memories_of_nodes"], values)]
    memories = (memory for one in ids if (memory := _memory(context, one)))
    return [(f"Memory of {day_of(one.occurred_at)}: {one.title}", [(one.record_id, None)]) for one in memories]


def day_of(moment: datetime) -> str:
    """Return a day as answers write it."""
    return f"{moment.day} {moment:%B %Y}"


def _memory(context: Context, record_id: UUID) -> Memory | None:
    try:
        return record_at(context.database, context.claims, record_id)
    except NotFoundError:  # it went meanwhile
        return None


def passages_at(context: Context, places: set[Place]) -> dict[Place, ReadMessage]:
    """Return the messages at some places, and summaries for those that cannot be read."""
    memories = {one: memory for one in {place[0] for place in places} if (memory := _memory(context, one))}
    wanted: dict[UUID, list[int]] = {}
    for record_id, message in places:
        memory = memories.get(record_id)
        if memory and memory.file_id and message is not None:
            wanted.setdefault(memory.file_id, []).append(message)
    opened = open_in_files(context, wanted)
    read: dict[tuple[UUID | None, int | None], Message] = {
        (file_id, one.seq): one
        for file_id, found in opened.items()
        for one in ([] if isinstance(found, StorageError) else found)
    }
    return {
        place: _passage(memory, read.get((memory.file_id, place[1])))
        for place in places
        if (memory := memories.get(place[0]))
    }


def _passage(memory: Memory, message: Message | None) -> ReadMessage:
    if message is None:
        return ReadMessage(_hit(memory), memory.summary, memory.occurred_at)
    return ReadMessage(_hit(memory, message), message.content, message.occurred_at, message)


def _hit(memory: Memory, message: Message | None = None) -> Hit:
    """Return a memory as a search shows it."""
    origin = Origin(
        voices={message.voice: 1} if message else {},
        persona_id=memory.persona_id,
        persona_path=None,
        received_through=memory.received_through,
        key_id=None,
        received_at=memory.received_at,
        restated=1,
        source=memory.source,
    )
    shown = {name: getattr(memory, name) for name in Hit.model_fields if hasattr(memory, name)}
    return Hit.model_validate({**shown, "stored": True, "score": 1.0, "source_external_id": None, "origin": origin})
