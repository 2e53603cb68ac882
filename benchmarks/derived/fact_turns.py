"""How well the facts of the offline model meet the turns of which LoCoMo's authors noted an observation.

A fact counts as right if its first message is such a turn. The step needs no database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.derived.observations import FILES, segment_of
from benchmarks.derived.scoring import Share
from benchmarks.report import table
from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import ImportedConversation
from resources.offline.language_model import OfflineLanguageModel

_TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Met:
    """Facts whose turn was noted, noted turns with a fact, and the words of the facts among all words."""

    precision: Share = field(default_factory=Share)
    recall: Share = field(default_factory=Share)
    words: Share = field(default_factory=Share)

    def __add__(self, other: Met) -> Met:
        """Return both together."""
        return Met(self.precision + other.precision, self.recall + other.recall, self.words + other.words)


def fact_table() -> str:
    """Return precision, recall and share of words of the facts; why there is none if the data folder is absent."""
    found = list(_all_met())
    if not found:
        return f"Facts against LoCoMo's observations: skipped, because there are none in {FILES}."
    total = sum((one for _, one in found), Met())
    rows = [[name, str(one.precision), str(one.recall), str(one.words)] for name, one in (*found, ("all", total))]
    return table(["LoCoMo, facts", "of a noted turn", "noted turns with a fact", "share of the words"], rows)


def _all_met() -> Iterator[tuple[str, Met]]:
    model = OfflineLanguageModel(None)
    for path in sorted(FILES.glob("*.observations.json")):
        observed = json.loads(path.read_text(encoding="utf-8"))["observation"]
        noted = set(_TURN.findall(json.dumps(observed)))
        total = Met()
        for session in read_conversations(path.with_name(path.name.replace(".observations", "")), "locomo"):
            if isinstance(session, ImportedConversation):
                total += _met(model, session, noted)
        yield path.name.removesuffix(".observations.json"), total


def _met(model: OfflineLanguageModel, session: ImportedConversation, noted: set[str]) -> Met:
    turns = {number: one.external_id for number, one in enumerate(session.messages, start=1)}
    facts = model.extract_facts(segment_of(session))
    told = [turns[fact.first_message] for fact in facts]
    wanted = {turn for turn in turns.values() if turn in noted}
    words = sum(len(one.content.split()) for one in session.messages)
    return Met(
        Share(sum(turn in wanted for turn in told), len(told)),
        Share(len(wanted & set(told)), len(wanted)),
        Share(sum(len(fact.statement.split()) for fact in facts), words),
    )
