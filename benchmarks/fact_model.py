"""What reading a memory for facts costs with a language model: calls and tokens, by the length of the memory."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.growth import segment_of
from benchmarks.report import Section, number, table
from resources.providers.language_model import OpenAiLanguageModel
from resources.providers.retries import ProviderClient
from resources.tokens.tokenizer import EstimatedCounter
from tests.support.model_provider import ModelProvider

SIZES = (2_500, 10_000, 40_000, 160_000, 335_000)
"""Tokens of the memories, about."""

_CHARACTERS_PER_TOKEN = 3.65
_MESSAGE = 300
_CONTEXT_TOKENS = 128_000
_METHOD = f"""A conversation of so many tokens, in messages of {_MESSAGE} characters, is read for facts by the adapter
of the language model, from a server on loopback that answers with a fact for each message. Tokens are those of the
texts that were sent, by the estimate that cuts windows, without the answers. *Once* is what the transcript itself has.
No figure depends on the machine."""


def run(bench: Bench) -> Section:
    """Read a memory of each size, and count what reached the server."""
    tokens = EstimatedCounter()
    rows = []
    with ModelProvider() as provider:
        client = ProviderClient("loopback", "none", provider.base_url, 60.0, 4, 4, 0.02)
        model = OpenAiLanguageModel("gpt-test", client, tokens, _CONTEXT_TOKENS)
        for size in SIZES[: 2 if bench.quick else None]:
            segment = segment_of(_talk(int(size * _CHARACTERS_PER_TOKEN)), _MESSAGE)
            once = sum(message.token_count for message in segment.messages)
            provider.reset()
            found = model.extract_facts(segment)
            sent = [[part["content"] for part in request.body["messages"]] for request in provider.requests]
            each = [sum(map(tokens.count, parts)) for parts in sent]
            rows.append(
                [
                    *(f"{one:,}" for one in (once, len(segment.messages), len(sent), sum(each), max(each))),
                    number(sum(each) / once),
                    f"{len(found):,}",
                ]
            )
        client.close()
    header = ("tokens once", "messages", "calls", "tokens sent", "most in a call", "sent ÷ once", "facts answered")
    return Section("Facts read by a language model", _METHOD, table(header, rows))


def _talk(characters: int) -> str:
    """Return a text of so many characters, without a repeated sentence."""
    parts: list[str] = []
    written = 0
    while written < characters:
        parts.append(f"I told Caroline that box {len(parts)} of the harbour has {len(parts) * 7} ropes. ")
        written += len(parts[-1])
    return "".join(parts)[:characters]
