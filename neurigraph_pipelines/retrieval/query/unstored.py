"""Messages that are not stored yet, for one question: read in the call that gathers, indexed once, and cached."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import is_

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import Message, SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.retrieval.index.unstored import (
    IndexedMessage,
    Part,
    Unstored,
    UnstoredSource,
    message_of,
)
from neurigraph_pipelines.retrieval.query.caching import cache_bytes, graph_bytes, graph_key, search_caches
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.text.disguises import undisguised
from neurigraph_pipelines.text.in_context import in_context
from neurigraph_pipelines.text.languages import CODES, languages_of, stemmer_of
from neurigraph_pipelines.text.lexemes import count_plainly, lexer_of
from neurigraph_pipelines.text.search_segments import Words
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.text.transcript import TranscriptWriter
from neurigraph_pipelines.text.vectors import to_passage_vectors
from neurigraph_pipelines.views.scalars import Row

EMBEDDED = 8
"""Of the messages that are new, so many of the newest get vectors; a remote embedder makes none, since the question
would wait for it."""

EMBEDDED_CHARACTERS = 1_000
"""Characters of a message from which its vector is made then."""


class MissingMessageError(Exception):
    """A message is neither known nor sent: older ones are among the newest again. Ask for all of them."""


def cached_unstored(context: Context, question: Question) -> Unstored | None:
    """Return the unstored messages that the cache has for the caller of a question."""
    if not cache_bytes(context) or not _most(context, question):
        return None
    return search_caches(context).graphs.peek(Unstored, _key(context))


def parameters(context: Context, question: Question, known: Unstored | None) -> dict[str, object]:
    """Return the parameters of ``neurigraph.search_gate`` that say what is known, and how many messages are wanted."""
    return {
        "known_unstored": known.version if known else None,
        "unstored_since": known.horizon if known else None,
        "unstored_most": _most(context, question),
    }


@measured("search.unstored")
def unstored_of(context: Context, question: Question, row: Row, known: Unstored | None) -> Unstored | None:
    """Return the unstored messages that a question searches: the known ones as a row of the call changes them.

    Returns:
        None if there are none.

    Raises:
        MissingMessageError: Ask for all of them.
    """
    version, found = row["unstored_version"], row["unstored"]
    if not _most(context, question) or (version is None and known is None):
        return None
    if version is not None and found is None:
        return known
    capacity, key = graph_bytes(context), _key(context)
    if not capacity:
        return _changed(context, row, known)
    with search_caches(context).turn(key):  # the model would run for each question that waits
        latest = cached_unstored(context, question)
        if latest is not None and latest.version == (version or ""):
            return latest
        unstored = _changed(context, row, known)
        search_caches(context).graphs.put(key, unstored, capacity, size=unstored.size)
    return unstored


def _changed(context: Context, row: Row, known: Unstored | None) -> Unstored:
    """Return the unstored messages as a row of the call changes the known ones."""
    if row["unstored_version"] is None:  # none is left
        return Unstored("", None, "", context.settings.language, is_cut=False, sources=())
    return _joined(context, row["unstored_version"], row["unstored_horizon"], row["unstored"], known)


def _key(context: Context) -> Hashable:
    return graph_key(context), context.settings.retrieval.unstored_messages


def _most(context: Context, question: Question) -> int:
    """Return how many messages without a record and a node may answer a question: none at an earlier time, for one."""
    if question.at is not None or question.node_id is not None or question.record_ids:
        return 0
    return context.settings.retrieval.unstored_messages


def _joined(context: Context, version: str, horizon: int | None, found: Row, before: Unstored | None) -> Unstored:
    known = {
        (source.source_id, one.message.seq): one
        for source in (before.sources if before else ())
        for one in source.messages
    }
    sent: dict[str, list[Message]] = {}
    for fields in found["messages"]:
        sent.setdefault(fields["source_id"], []).append(message_of(fields))
    known.update(_indexed(context, sent, {key: one.message for key, one in known.items()}))
    if any((source["source_id"], seq) not in known for source in found["sources"] for seq in source["seqs"]):
        raise MissingMessageError
    past = {source.source_id: source for source in before.sources} if before else {}
    sources = tuple(
        _same_or_new(
            past.get(source["source_id"]),
            UnstoredSource(
                source["source_id"],
                SourceKind(source["kind"]),
                source["external_id"],
                source["title"],
                source["details"],
                tuple(known[source["source_id"], seq] for seq in source["seqs"]),
            ),
        )
        for source in found["sources"]
    )
    return Unstored(version, horizon, found["slug"], context.settings.language, found["more"], sources).after(before)


def _same_or_new(past: UnstoredSource | None, source: UnstoredSource) -> UnstoredSource:
    """Return the source that is known if it has not changed: then its messages are the very same objects."""
    is_same = (
        past is not None
        and len(past.messages) == len(source.messages)
        and all(map(is_, past.messages, source.messages))
        and replace(past, messages=()) == replace(source, messages=())
    )
    return past if past is not None and is_same else source


def _indexed(
    context: Context, sent: Mapping[str, Sequence[Message]], known: Mapping[tuple[str, int], Message]
) -> Iterator[tuple[tuple[str, int], IndexedMessage]]:
    """Yield new messages with their lexemes, and the newest of them with their vectors.

    Args:
        sent: By source, in each the newest first.
        known: Earlier ones by source and number.
    """
    settings = context.settings
    left_out: list[str] = []
    writer = TranscriptWriter(context.tokens, settings.ingestion.passage_max_tokens, 0, 0)
    split = [
        (source_id, message, stemmer_of(language), writer.parts(message))
        for source_id, messages in sent.items()
        for message, language in zip(messages, _languages(messages, CODES[settings.language]), strict=True)
    ]
    told = {**known, **{(source_id, message.seq): message for source_id, message, _, _ in split}}
    spoken = (text for source_id, message, _, texts in split for text in _spoken(told, source_id, message, texts))
    vectors = iter(_embedded(context.embedder, list(islice(spoken, EMBEDDED))))
    for source_id, message, language, texts in split:
        parts = (_part(settings.language, language, message, text, next(vectors, None), left_out) for text in texts)
        yield (source_id, message.seq), IndexedMessage(message, tuple(parts))


def _spoken(
    told: Mapping[tuple[str, int], Message], source_id: str, message: Message, texts: Sequence[str]
) -> Iterator[str]:
    """Yield the parts of a message, each behind the text before it."""
    earlier = [told[key] for seq in (message.seq - 2, message.seq - 1) if (key := (source_id, seq)) in told]
    ends = [(one.speaker, one.content[-EMBEDDED_CHARACTERS:]) for one in earlier]
    own = [(message.speaker, text[:EMBEDDED_CHARACTERS]) for text in texts]
    said = [(undisguised(speaker), undisguised(text)) for speaker, text in (*ends, *own)]
    for index in range(len(earlier), len(said)):
        yield in_context(*said[index], said[max(0, index - 2) : index])


def _languages(messages: Sequence[Message], usual: str) -> list[str]:
    return enriched("languages", lambda: languages_of(messages, usual)[1], lambda: [usual] * len(messages))


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Sequence[NDArray[np.float16]]:
    """Return the vectors of some texts, or none: words alone find the messages, too."""
    if embedder.is_remote or not texts:
        return ()

    def made() -> list[NDArray[np.float16]]:
        vectors = embedder.embed(texts)
        return list(to_passage_vectors(vectors, embedder.prefix_trained))

    try:
        return enriched("vectors of unstored messages", made, list)
    except NeurigraphError:
        return ()


def _part(
    usual: str,
    language: str,
    message: Message,
    text: str,
    vector: NDArray[np.float16] | None,
    left_out: list[str],
) -> Part:
    words = enriched(
        "stems", lambda: _words(usual, language, message.author, text), lambda: Words(*count_plainly(text)), left_out
    )
    return Part(words, enriched("statements", lambda: statement_key(text), lambda: 0, left_out), vector)


def _words(usual: str, language: str, author: str | None, text: str) -> Words:
    """Return the lexemes of a part; in another language also by the usual language's rules, as in questions."""
    words = Words(*lexer_of(language).count_passage(author, text))
    if language == usual:
        return words
    others = Words(*lexer_of(usual).count_passage(author, text))
    both = {**dict(zip(*others[:2], strict=True)), **dict(zip(*words[:2], strict=True))}
    return Words(list(both), list(both.values()), words.total)
