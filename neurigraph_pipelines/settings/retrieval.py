"""Settings of search and of answering."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, Field

from neurigraph_pipelines.settings.group import group


def _eighth_of_memory() -> int:
    """An eighth of the memory of the machine or of its container."""
    limits = []
    with suppress(OSError, ValueError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            limits.append(int(Path("/sys/fs/cgroup", limit).read_text(encoding="ascii")))
    return min(limits, default=4_000_000_000) // 8_000_000


class RetrievalSettings(BaseModel):
    """The reads and caches of a search."""

    model_config = group()

    max_anchors: int = Field(
        default=50,
        ge=1,
        le=500,
        description="Most nodes searched for one question; reading one that is not in memory costs 0.2 ms if it is "
        "packed, and 3 ms and more from its tables.",
    )
    node_index_records: int = Field(
        default=1_000,
        ge=0,
        description="Records from which maintenance makes the indexes of a node's tables. Smaller tables are read as "
        "fast without, and each index would cost every write.",
    )
    answer_cache_entries: int = Field(
        default=256,
        ge=0,
        description="Answers that a process caches until their data change, a minute at most. 0: none.",
    )
    layer_cache_mb: int = Field(
        default_factory=_eighth_of_memory,
        ge=0,
        description="Megabytes of metadata layers that a process caches, 0.5 kB a passage and 3 kB more where one is "
        "used often (4 kB where it was read from the node's tables); up to a quarter more "
        "holds the rows that recent questions were ranked by. A layer outside the cache is read for each question. "
        "0: no cache.",
    )
    max_searched_passages: int = Field(
        default=5_000,
        ge=100,
        description="Passages up to which a whole graph is searched, about 0.5 µs each in memory. In a graph of twice "
        "as many and more, a fifth of these are compared, in the most promising nodes.",
    )
    unstored_messages: int = Field(
        default=1_000,
        ge=0,
        le=20_000,
        description="Most messages that are not stored yet and are searched all the same, the newest first, with at "
        "most a hundred times as many tokens. 0: only stored memories are found.",
    )
    fact_lending: bool = Field(
        default=False,
        description="Whether the best facts of a question add to the scores of the messages that say them.",
    )
    decay_weight: float = Field(
        default=0.0,
        ge=0,
        le=0.2,
        description="Share of a fact's score in a search that fades with its age, by its impact. 0: facts of all ages "
        "rank alike.",
    )
    retrieval_log_days: int = Field(
        default=0,
        ge=0,
        le=3_650,
        description="Days for which the log says who retrieved which memories when. 0: nothing is logged. An entry is "
        "written in the background, about 0.3 ms of the database's time for each search.",
    )
    retrieval_log_questions: bool = Field(
        default=False, description="Whether the log of retrievals also stores the words of questions."
    )


class AskSettings(BaseModel):
    """The bounds of one answer."""

    model_config = group("ASK_")

    passages: int = Field(default=12, ge=1, le=100, description="Most messages that an answer rests on.")
    files: int = Field(default=5, ge=1, le=50, description="Most files opened for one answer.")
    tokens: int = Field(
        default=6_000, ge=100, description="Most tokens of messages that the language model reads for one answer."
    )


class ExpansionSettings(BaseModel):
    """Other wordings of questions by the language model."""

    model_config = group("EXPANSION_")

    wordings: int = Field(
        default=0,
        ge=0,
        le=8,
        description="Most phrases that the language model adds to a question, each searched as a question of its own. "
        "One call of the model for each search or answer. 0: none, and no call.",
    )
    timeout_seconds: float = Field(
        default=5.0, gt=0, description="Seconds to wait for them; the caller waits as long, then asks without."
    )
