"""Conversations of several subjects that became one memory, and processes that die while they split one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion import splitting
from neurigraph_pipelines.ingestion.filing_again import FiledAgain, file_again
from neurigraph_pipelines.model import (
    ConceptKind,
    ImportedConversation,
    IncomingMessage,
    Keywords,
    NodeProposal,
    Outline,
    Placement,
    Role,
    Segment,
    Summary,
)
from neurigraph_pipelines.model.ports import LanguageModel
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.dying_refile import tomorrow
from tests.support.graphs import Graph
from tests.support.memories import START, PlainModel, ingest, stored

ERRANDS = [
    ("user", "The doctor put me on ramipril 5 mg this morning, one tablet before breakfast."),
    ("assistant", "Ramipril is a common choice for high blood pressure. Do you measure it at home?"),
    ("user", "Yes, twice a day. Yesterday evening the blood pressure was 158 over 94."),
    ("user", "The landlord sent the new lease for the warehouse. He wants 2,400 euros from March."),
    ("assistant", "That is an increase of a fifth. Does the old contract allow it?"),
    ("user", "It allows three per cent a year. I will write to the landlord that we pay 2,060."),
    ("user", "Tom and I go fishing at Lake Orrin in May. I need new spinners for the pike."),
    ("assistant", "Silver spinners of 15 grams work well for pike in cold water."),
    ("user", "Good, I will order three, and Tom brings the boat for the fishing."),
    ("assistant", "Take a net for the pike, and life jackets for the boat."),
]
"""Ten messages about tablets, a lease and a fishing trip."""

TAGGED = [
    (role, {1: "#Health ", 4: "#Home/Renting ", 7: "#Hobbies "}.get(number, "") + text)
    for number, (role, text) in enumerate(ERRANDS, start=1)
]
"""The same with marks that the plain model follows."""


class Undivided(PlainModel):
    """A model that files everything in Hobbies, as one memory, and describes it as another model does."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self._model = model

    def summarize(self, segment: Segment, words: int) -> Summary:
        return self._model.summarize(segment, words)

    def extract_keywords(self, segment: Segment) -> Keywords:
        return self._model.extract_keywords(segment)

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        step = NodeProposal("Hobbies", ConceptKind.TOPIC, 0.9, "Sports, games and trips.")
        return [Placement((step,), segment.messages[0].seq, segment.messages[-1].seq)]


def undivided(graph: Graph, said: Sequence[tuple[str, str]] = ERRANDS, external_id: str | None = None) -> UUID:
    """Store a conversation as one memory in Hobbies; return its id."""
    messages = tuple(
        IncomingMessage(Role(role), content, external_id=f"m{number}", occurred_at=START + timedelta(minutes=number))
        for number, (role, content) in enumerate(said, start=1)
    )
    talk = ImportedConversation(
        external_id or uuid4().hex, messages, title="Errands", ended_at=START + timedelta(hours=1)
    )
    with graph.here.database.agent(graph.claims) as tx:
        Inbox(graph.here.context).add_conversations(tx, graph.claims.user_id, [talk])
    model = Undivided(graph.here.language_model)
    (one,) = stored(ingest(graph.here.context.using(language_model=model), graph.user))
    return one.record_id


def split_all(
    here: Installation, user_id: UUID, *, dry_run: bool = False, again: bool = False, by_marks: bool = False
) -> FiledAgain:
    """File the memories of a user again by the rules of the offline model, or by the marks in their messages."""
    context = here.context.using(language_model=PlainModel()) if by_marks else here.context
    return file_again(context, None, tomorrow(), user_id, dry_run=dry_run, again=again)


def main() -> None:
    """Split the memories of a user, and die where the second argument says."""
    user_id, where = sys.argv[1:]
    module: Any = splitting

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(module, {"before": "append_delta", "after": "remove"}[where], die)
    with Installation(Settings()) as here:
        split_all(here, UUID(user_id))
    raise SystemExit("nothing was split")


if __name__ == "__main__":
    main()
