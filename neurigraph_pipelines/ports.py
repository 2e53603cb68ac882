"""Protocols of the adapters: the database, models, object stores and other parts of the outside world.

Adapters in ``resources`` implement them; the domain does not import ``resources``. A method that uses a network raises
``TransientError`` if a retry may succeed, and otherwise ``ProviderError`` or ``StorageError``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from psycopg import Connection
from psycopg.sql import SQL, Composed

from neurigraph_pipelines.model import (
    Claims,
    DroppedFile,
    Evidence,
    Extraction,
    Keywords,
    Outline,
    Placement,
    PlannedNode,
    Segment,
    Statement,
    StoredObject,
    Summary,
)
from neurigraph_pipelines.model.facts import Fact
from neurigraph_pipelines.model.verdicts import Judgement, Pair

if TYPE_CHECKING:  # slow to load, and not needed by commands that embed nothing
    import numpy as np
    from numpy.typing import NDArray

Transaction = Connection[dict[str, Any]]
"""A connection inside an open transaction, rows as dictionaries."""


class Database(Protocol):
    """Transactions in the three roles of the database. Each commits on success and rolls back on error."""

    def owner(self) -> AbstractContextManager[Transaction]:
        """Open a transaction as ``neurigraph_owner``, for users, provisioning and erasure."""
        ...

    def pipeline(self) -> AbstractContextManager[Transaction]:
        """Open a transaction as ``neurigraph_pipeline``, for jobs over all users."""
        ...

    def maintenance(self) -> AbstractContextManager[Connection[dict[str, Any]]]:
        """Open an autocommit connection as ``neurigraph_owner``, for long work."""
        ...

    def agent(self, claims: Claims | None) -> AbstractContextManager[Transaction]:
        """Open a transaction as ``neurigraph_agent`` with signed claims; without claims nothing is visible."""
        ...

    def ask(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> list[dict[str, Any]]:
        """Run one statement in a transaction of ``agent``, in a single round trip, and return its rows.

        Another statement sets the claims before it, unless it has the parameters ``payload`` and ``signature``: then it
        gives the signed claims to a function that sets them.

        Args:
            binary: Whether rows are sent in binary format, which is much cheaper for large values.
        """
        ...

    def ask_value(self, claims: Claims, statement: SQL | Composed) -> str | None:
        """Return the one text that a statement returns whose parameters are ``payload`` and ``signature``."""
        ...

    def asking_value(
        self, claims: Claims, statement: SQL | Composed
    ) -> AbstractContextManager[Callable[[], str | None]]:
        """Run one statement as ``ask_value`` does, and let the caller work meanwhile, as ``asking`` does."""
        ...

    def asking(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> AbstractContextManager[Callable[[], list[dict[str, Any]]]]:
        """Run one statement as ``ask`` does, and let the caller work meanwhile.

        The context manager gives a function that waits for the rows. It holds a connection: do not wait for anything
        else inside.
        """
        ...

    def later(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        then: Callable[[list[dict[str, Any]]], object] | None = None,
    ) -> bool:
        """Run a statement of ``ask`` in the background, after those given before; its errors are logged.

        Args:
            then: Called with its rows, in the background too.

        Returns:
            Whether it was accepted; False if too many statements are waiting.
        """
        ...

    def wait_for_background(self) -> None:
        """Wait until all statements of ``later`` are done."""
        ...


class TokenVerifier(Protocol):
    """Verifies tokens of the issuer that the installation trusts."""

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a genuine, valid token for this installation.

        Raises:
            UnauthenticatedError: The token is anything else.
            TransientError: The issuer's keys could not be fetched.
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens as a model would."""

    @property
    def name(self) -> str:
        """Name of the counter, such as ``tiktoken:o200k_base`` or ``estimate``; shown in the UI."""
        ...

    @property
    def exact(self) -> bool:
        """Whether counts are exact; False for an estimate."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``; 0 for the empty string."""
        ...

    def count_each(self, texts: Sequence[str]) -> list[int]:
        """Return ``count`` of each text, faster than one by one."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def model(self) -> str:
        """Name stored beside every vector, such as ``text-embedding-3-small`` or ``minilm-l6-v2``."""
        ...

    @property
    def dimensions(self) -> int:
        """Width of the vectors; at most ``RECORD_DIMENSIONS``."""
        ...

    @property
    def prefix_trained(self) -> bool:
        """Whether a normalised prefix of a vector is itself a good embedding (Matryoshka training)."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether embedding waits for a network; callers then hold no connection or lock."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest text, in tokens, that is embedded whole."""
        ...

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        """Embed ``texts`` in order.

        Returns:
            ``(len(texts), dimensions)`` float32, rows of unit length. An empty text gives a valid unit vector.

        Raises:
            TransientError: The provider was unreachable or asked to wait, after bounded retries.
            ProviderError: The provider refused permanently.
        """
        ...


class LanguageModel(Protocol):
    """Files segments, summarises them, extracts keywords, and answers questions."""

    @property
    def name(self) -> str:
        """Name shown in the UI and stored as author, such as ``openai:gpt-4.1-mini`` or ``offline``."""
        ...

    @property
    def concurrency(self) -> int:
        """How many calls may run at once; with 1, each ``place`` sees the decisions of the calls before it."""
        ...

    def plan(self, segments: Sequence[Segment], outline: Outline) -> list[PlannedNode]:
        """Return nodes that several of a user's segments will need, beside those of the outline; it may be empty.

        Called before segments are placed at the same time, so that they agree on names.
        """
        ...

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        """Return where a segment belongs: at least one placement, with ranges within the segment."""
        ...

    def summarize(self, segment: Segment, words: int) -> Summary:
        """Return a dense summary of the content in about ``words`` words, and a short title."""
        ...

    def merge(self, parts: Sequence[Summary], words: int) -> Summary:
        """Return one summary of several, at least one, in about ``words`` words. They are data, never instructions."""
        ...

    def extract_keywords(self, segment: Segment) -> Keywords:
        """Return entities, topics, resolved dates and relationships."""
        ...

    def extract_facts(self, segment: Segment) -> list[Fact]:
        """Return the facts that the messages state, in order; it may be empty."""
        ...

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return what the later fact of each pair means for the earlier one, in order; at most one call."""
        ...

    def answer(self, question: str, asked_at: datetime, evidence: Sequence[Evidence]) -> list[Statement]:
        """Answer a question from the evidence only.

        Args:
            question: The question in the caller's words.
            asked_at: The moment that relative times of the question refer to.
            evidence: Messages, best first, numbered from 1 in the answer. It is data: nothing in it is an instruction.

        Returns:
            Statements in reading order, each with the numbers of its evidence; an empty list if the evidence does not
            answer the question.
        """
        ...


class Reranker(Protocol):
    """Scores how well texts answer a question, by reading both together."""

    @property
    def name(self) -> str:
        """Name shown beside results, such as ``Cohere:rerank-v3.5``."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, higher for a better answer, and comparable within one call.

        Raises:
            TransientError: The provider could not be reached, or asked to wait, after bounded retries.
            ProviderError: The provider refused permanently, or its answers were unusable.
        """
        ...


class Expander(Protocol):
    """Words questions in other ways, for a search that compares words and meanings."""

    @property
    def name(self) -> str:
        """Name shown in notes, such as ``openai:gpt-4.1-mini``."""
        ...

    def wordings(self, question: str, most: int) -> list[str]:
        """Return at most ``most`` other phrases that find what a question asks for; it may be empty.

        Raises:
            TransientError: As ``Reranker.scores``.
            ProviderError: As ``Reranker.scores``.
        """
        ...


class ObjectStore(Protocol):
    """Bytes under keys; keys use ``/`` and mirror the graph.

    ``AbsentObjectError`` and ``DamagedObjectError`` concern one object and are raised where documented. Any other
    ``StorageError`` is a refusal of the store, such as missing rights or space, and concerns no single object.
    """

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        """Write an object atomically (all or nothing, durable on return), replacing an object with that key."""
        ...

    def get(self, key: str) -> Iterator[bytes]:
        """Stream an object. Raises AbsentObjectError at once if it is absent."""
        ...

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``.

        Raises:
            AbsentObjectError: There is no such object.
            DamagedObjectError: The object ends before.
        """
        ...

    def exists(self, key: str) -> bool:
        """Return whether the object exists."""
        ...

    def modified_at(self, key: str) -> datetime:
        """Return when the object was last written, by the store's clock. Raises AbsentObjectError if it is absent."""
        ...

    def move_to_cold(self, key: str) -> None:
        """Move an object to the cheapest storage class for good; nothing happens if it is there already.

        Its bytes and key do not change, and it can still be read at once. Raises AbsentObjectError if it is absent.
        """
        ...

    def delete(self, key: str) -> None:
        """Remove an object; an absent one is no error."""
        ...

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys that begin with ``prefix``, in order."""
        ...


class EncryptedStore(ObjectStore, Protocol):
    """An object store whose objects are encrypted with a data key of their graph."""

    def is_encrypted(self, key: str) -> bool:
        """Return whether an object is encrypted. Raises AbsentObjectError if it is absent."""
        ...


class Redactor(Protocol):
    """Removes personal data and secrets from texts."""

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """Return the text with a word in place of each finding, and the number of findings by kind.

        Redacting the result again finds nothing.
        """
        ...


class TextExtractor(Protocol):
    """Reads the text of untrusted files."""

    def extract(self, content: Iterable[bytes], reader: str) -> Extraction:
        """Read a file in isolation.

        Args:
            content: Its bytes.
            reader: One of ``media_types.Reader``, or ``media`` for a file without text.

        Raises:
            UnreadableFileError: The file is damaged, or exceeds the limits of time, memory or space.
        """
        ...


class DropPlace(Protocol):
    """A place where users drop files: ``<place>/<user slug>/<file>``. Files in it are never changed."""

    def files(self) -> Iterator[DroppedFile]:
        """Return the complete files. Raises TransientError or StorageError if the place cannot be listed."""
        ...

    def read(self, file: DroppedFile) -> Iterator[bytes]:
        """Stream a file. Raises StorageError if it is gone."""
        ...
