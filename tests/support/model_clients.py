"""Adapters for the provider on loopback, and segments for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from neurigraph_pipelines.model import Message, Role, Segment, SegmentRef, SourceKind, TriggerType
from resources.providers.embedder import OpenAiEmbedder
from resources.providers.language_model import OpenAiLanguageModel
from resources.providers.retries import ProviderClient
from resources.tokens.tokenizer import EstimatedCounter
from tests.support.model_provider import ModelProvider

NOON = datetime(2023, 5, 8, 12, 0, tzinfo=UTC)
TOKENS = EstimatedCounter()


def make_client(
    provider: ModelProvider,
    *,
    timeout: float = 5.0,
    max_retries: int = 4,
    concurrency: int = 4,
    first_wait: float = 0.02,
) -> ProviderClient:
    return ProviderClient("TestService", "sk-secret", provider.base_url, timeout, max_retries, concurrency, first_wait)


def make_embedder(client: ProviderClient, model: str = "text-embedding-3-small") -> OpenAiEmbedder:
    return OpenAiEmbedder(model, client, TOKENS)


def make_model(
    client: ProviderClient, context_tokens: int = 100_000, *, is_compatible: bool = False
) -> OpenAiLanguageModel:
    return OpenAiLanguageModel("gpt-test", client, TOKENS, context_tokens, is_compatible=is_compatible)


def make_segment(*contents: str, first: int = 1, author: str | None = "Caroline") -> Segment:
    messages = tuple(
        Message(
            seq=first + i,
            role=Role.USER,
            content=content,
            token_count=TOKENS.count(content),
            occurred_at=NOON + timedelta(minutes=i),
            author=author,
        )
        for i, content in enumerate(contents)
    )
    ref = SegmentRef(
        trigger_id=UUID(int=1),
        user_id=UUID(int=2),
        user_slug="bob",
        source_kind=SourceKind.CONVERSATION,
        source_id=UUID(int=3),
        source_external_id=None,
        title=None,
        trigger_type=TriggerType.CONVERSATION_END,
        first_message=messages[0].seq,
        last_message=messages[-1].seq,
        token_count=sum(m.token_count for m in messages),
        attempts=0,
    )
    return Segment(ref, messages)


TALK = make_segment(
    "Yesterday the doctor at Mercy Hospital said I can start running again.",
    "The marathon with Dave is in October, so the therapy has to work by then.",
)
