"""What a process keeps between the questions to one database; what it keeps of others is their affair."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.retrieval.index.cache import AnswerCache
from neurigraph_pipelines.retrieval.index.layers import LayerCache
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.query.question import Answer


class Kept:
    """What a process keeps between the questions to one database; threads may share it.

    Attributes:
        answers: By asker and question, with the version of the data that they were given from.
        layers: Of nodes.
        shells: By asker.
        staged: By asker, version of the data, node and span of time: that it was staged then.
        awaited: For whom something was staged that was not brought into memory since.
    """

    def __init__(self) -> None:
        self.answers: AnswerCache[tuple[str, Answer]] = AnswerCache()
        self.layers = LayerCache()
        self.shells: AnswerCache[Shells] = AnswerCache(math.inf)
        self.staged: AnswerCache[bool] = AnswerCache(math.inf)
        self.awaited: set[Claims] = set()


_KEPT: WeakKeyDictionary[Database, Kept] = WeakKeyDictionary()


def kept_of(database: Database) -> Kept:
    """What this process keeps of a database."""
    kept = _KEPT.get(database)
    return kept if kept is not None else _KEPT.setdefault(database, Kept())
