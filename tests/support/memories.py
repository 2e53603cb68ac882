"""Users, conversations and plain models for tests.

The models are whole implementations that work by simple rules: what they are to decide stands in the messages
themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Literal
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.records import BatchResult, Committed
from neurigraph_pipelines.model import (
    Claims,
    ConceptKind,
    ImportedConversation,
    IncomingMessage,
    Keywords,
    NodeProposal,
    Outline,
    Placement,
    PlannedNode,
    Quotable,
    Relation,
    Role,
    Segment,
    Statement,
    Summary,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ProviderError, TransientError
from neurigraph_pipelines.model.facts import MAX_STATEMENT, ReadFact
from neurigraph_pipelines.model.ports import KeptFacts
from neurigraph_pipelines.model.verdicts import Judgement, Pair
from neurigraph_pipelines.views.kinds import FactKind, StatedAs
from neurigraph_pipelines.views.search import Found, Hit, MessageHit
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline import verdicts
from tests.support.model_rules import embed_text
from tests.support.waiting import wait_until

NOTHING = Found(hits=[], messages=[], anchors=[], warmed=0, notes=[], periods=[])
"""What a search returns that finds nothing."""


def explained(found: Hit | MessageHit) -> dict[str, Any]:
    """Return the components of a score."""
    assert found.explain is not None
    return found.explain


START = datetime(2025, 3, 1, 9, tzinfo=UTC)
_TAG = re.compile(r"#(\S+)")
_RELATION = re.compile(r"@(\w+):(\w+)")
_NAME = re.compile(r"\b[A-Z]\w+")


class PlainModel:
    """A language model that follows marks in the messages.

    ``#Family/Dave`` files a message and those after it there, ``@Ana:reports_to`` states a relation to an existing
    node; POISON makes it fail as a machine would, DEFECT as a bug, REFUSED as a provider, and LATER as a network.
    """

    name = "plain"

    def __init__(self, concurrency: int = 1) -> None:
        self.concurrency = concurrency

    def plan(self, segments: Sequence[Segment], outline: Outline) -> list[PlannedNode]:
        return []

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        path = "Notes"
        owned: list[tuple[str, int]] = []
        for message in segment.messages:
            tag = _TAG.search(message.content)
            path = tag[1] if tag else path
            owned.append((path, message.seq))
        relations = tuple(
            Relation(other, label.replace("_", " "))
            for m in segment.messages
            for other, label in _RELATION.findall(m.content)
        )
        return [
            Placement(tuple(_step(name) for name in path.split("/")), run[0][1], run[-1][1], relations)
            for path, run in ((path, list(group)) for path, group in groupby(owned, key=lambda pair: pair[0]))
        ]

    def summarize(self, segment: Segment, words: int) -> Summary:
        text = " ".join(message.content for message in segment.messages)
        if "POISON" in text:
            raise OSError("this content breaks the model")
        if "DEFECT" in text:
            raise IndexError(text)
        if "REFUSED" in text:
            raise ProviderError("this content is refused")
        if "LATER" in text:
            raise TransientError("the provider is busy", retry_after=77.0)
        return Summary(text[:60], " ".join(text.split()[:words]) or "Nothing was said.")

    def read(self, segment: Segment, words: int) -> Summary:
        return self.summarize(segment, words)

    def merge(self, parts: Sequence[Summary], words: int) -> Summary:
        """Return the parts one after another. SULKS fails as a provider would."""
        text = " ".join(part.text for part in parts)
        if "SULKS" in text:
            raise ProviderError("this content is refused")
        return Summary(f"Digest of {len(parts)}", text)

    def extract_keywords(self, segment: Segment) -> Keywords:
        text = " ".join(message.content for message in segment.messages)
        return Keywords(entities=tuple(dict.fromkeys(_NAME.findall(text))), topics=("testing",), dates=("2025-03",))

    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        """Return each message as a fact. SULKS fails as a network would, INVENTED adds a figure that nobody said."""
        if any("SULKS" in message.content for message in segment.messages):
            raise TransientError("the provider is busy")
        return [
            ReadFact(
                message.content[:MAX_STATEMENT] + " 4711" * ("INVENTED" in message.content),
                message.seq,
                message.seq,
                message.author,
                FactKind.OTHER,
                StatedAs.STATEMENT,
            )
            for message in segment.messages
            if message.content.strip()
        ]

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return what the rules say."""
        return [verdicts.judge(pair) for pair in pairs]

    def answer(self, question: str, asked_at: datetime, quotable: Sequence[Quotable]) -> list[Statement]:
        """Quote every passage that shares a word with the question."""
        asked = set(re.findall(r"\w+", question.lower()))
        return [
            Statement(one.text, (number,))
            for number, one in enumerate(quotable, start=1)
            if asked & set(re.findall(r"\w+", one.text.lower()))
        ]


class WordEmbedder:
    """An embedder in which each word has its own direction; ``fault`` is raised instead of an answer."""

    model = "words"
    max_tokens = 8_000
    prefix_trained = False
    is_remote = False

    def __init__(self, dimensions: int = 96, fault: Exception | None = None, poison: str | None = None) -> None:
        self.dimensions = dimensions
        self.fault = fault
        self.poison = poison

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        if self.fault is not None:
            raise self.fault
        if self.poison is not None and any(self.poison in text for text in texts):
            raise ProviderError("a text was refused")
        return np.array([embed_text(text, self.dimensions) for text in texts], np.float32)


def _step(name: str) -> NodeProposal:
    kind = ConceptKind.PERSON if name in ("Ana", "Dave") else ConceptKind.TOPIC
    return NodeProposal(name.replace("_", " "), kind, 0.9, f"About {name}.")


def plain_context(installation: Installation) -> Context:
    """The installation's database, objects and token counter, with the plain models."""
    return installation.context.using(language_model=PlainModel(), embedder=WordEmbedder())


def evidence(installation: Installation, claims: Claims, stems: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return the evidence of a search from the database, or None if the claims open nothing."""
    asked = {
        "stems": " ".join(stems),
        "speaker": None,
        "dimensions": 96,
        "known_version": None,
        "known_unstored": None,
        "unstored_since": None,
        "unstored_most": 0,
    }
    found = installation.database.ask(claims, statements("search")["search_gate"], asked, binary=True)
    return found[0] if found else None


def words_of_nodes(installation: Installation, claims: Claims, node_ids: Iterable[UUID]) -> set[UUID]:
    """Return the nodes among some of which a search reads words."""
    asked = {"nodes": list(node_ids), "format": 0}
    found = installation.database.ask(claims, statements("search")["node_words"], asked)
    return {row["node_id"] for row in found if row["packed"] or any(row["added"])}


def new_user(installation: Installation, slug: str | None = None) -> tuple[User, Claims]:
    user, _ = create_user(installation.database, slug or f"user-{uuid4().hex[:12]}")
    return user, Claims.of_user(user.user_id)


def messages(*contents: str, first: int = 1) -> tuple[IncomingMessage, ...]:
    return tuple(
        IncomingMessage(
            Role.USER if number % 2 else Role.ASSISTANT,
            content,
            external_id=f"m{number}",
            occurred_at=START + timedelta(minutes=number),
        )
        for number, content in enumerate(contents, start=first)
    )


def converse(
    installation: Installation,
    claims: Claims,
    *contents: str,
    external_id: str | None = None,
    first: int = 1,
    ended: bool = True,
    hours: int = 1,
) -> UUID:
    """Add a conversation, or more messages of one, to the inbox; return its source id."""
    external_id = external_id or uuid4().hex
    conversation = ImportedConversation(
        external_id,
        messages(*contents, first=first),
        title=external_id,
        ended_at=START + timedelta(hours=hours) if ended else None,
    )
    inbox = Inbox(installation.context)
    with installation.database.agent(claims) as tx:
        inbox.add_conversations(tx, claims.user_id, [conversation])
        row = tx.execute("SELECT source_id FROM neurigraph.sources WHERE external_id = %s", [external_id]).fetchone()
    assert row is not None
    source_id: UUID = row["source_id"]
    return source_id


def make_persona(installation: Installation, node_id: UUID) -> None:
    """Let a node that has memories be a persona, which an owner does by moving them there."""
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.graph_index SET node_type = 'persona' WHERE node_id = %s", [node_id])


def ingest(context: Context, user: User | None = None) -> list[BatchResult]:
    """Store due segments until none is left, of one user or of all."""
    return list(run_due(context, "test", user.user_id if user is not None else None))


def wait_for_expired_leases(installation: Installation, user: User) -> None:
    """Wait until no lease on a segment of a user is live."""
    query = """SELECT FROM neurigraph.storage_triggers
    WHERE user_id = %s AND state = 'claimed' AND claimed_until >= clock_timestamp()"""
    wait_until(lambda: not rows(installation, query, user.user_id), "the leases expire")


def stored(results: Sequence[BatchResult]) -> list[Committed]:
    return [record for result in results for record in result.stored]


def rows(installation: Installation, query: str, *values: object) -> list[dict[str, Any]]:
    """Return the rows of a query as the pipeline role, which sees all users."""
    with installation.database.pipeline() as tx:
        return tx.execute(sql.SQL(query), values).fetchall()


def node_rows(installation: Installation, schema: str, query: str, *values: object) -> list[dict[str, Any]]:
    """Return the rows of a query on one node; ``{schema}`` stands for its schema."""
    with installation.database.pipeline() as tx:
        return tx.execute(sql.SQL(query).format(schema=sql.Identifier(schema)), values).fetchall()


def schemas_of(installation: Installation, user: User) -> dict[str, str]:
    """Return schema names by path, such as ``Family/Dave``; the root is the empty path."""
    return {
        "/".join(row["names"][1:]): row["schema_name"]
        for row in rows(
            installation,
            """SELECT g.schema_name, (SELECT array_agg(a.node_name ORDER BY a.layer_depth)
            FROM neurigraph.graph_index AS a WHERE a.node_id = ANY(g.path)) AS names
            FROM neurigraph.graph_index AS g WHERE g.user_id = %s""",
            user.user_id,
        )
    }
