"""The text of the best message of each hit, for people who read results. ``query.search`` itself reads no file."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from uuid import UUID

from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import NotFoundError, StorageError
from neurigraph_pipelines.retrieval.excerpts import asked_words, excerpt
from neurigraph_pipelines.retrieval.open import open_messages
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.search import Found


def best_quotes(context: Context, query: str, found: Found, characters: int) -> dict[UUID, Message]:
    """Return the best message of each hit by record, cut to the part that the question is about.

    Only the bytes of these messages are read, and a dormant file stays dormant. A hit without messages, or whose file
    cannot be read, has no quote.
    """
    best: dict[UUID, int] = {}
    for message in found.messages:
        best.setdefault(message.key, message.seq)
    lexer = lexer_of(context.settings.language)
    asked = asked_words(query, lexer)
    quotes = {}
    for hit in found.hits:
        seq = best.get(hit.key)
        if seq is None or hit.file_id is None:
            continue
        with suppress(StorageError, NotFoundError):
            opened = enriched("quotes", partial(open_messages, context, hit.file_id, [seq]), list[Message])
            for one in opened:
                quotes[hit.key] = one.model_copy(update={"content": excerpt(one.content, asked, lexer, characters)})
    return quotes
