"""Store labelled conversations, each for a user of its own, and read what was derived from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchmarks.bench import Bench
from benchmarks.derived.labels import Labelled
from benchmarks.derived.scoring import Derived, Reply
from benchmarks.derived.step_times import StepTimes
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.views.answers import Reply as Answered
from neurigraph_pipelines.wiring.installation import Installation

MOST_RECORDS = 200

_CITATION = re.compile(r"\s*(?:\[\d+\])+$")
_WHEN_SAID = re.compile(r"^([^:]{1,80}), \d{1,2} [^\W\d_]+ \d{4}(?=: )")


class Observer:
    """Stores conversations with the model that the caller configured, and reads what was derived.

    Attributes:
        model: The name of the language model, once something is stored.
        times: Seconds of each step.
    """

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.model = ""
        self.times = StepTimes()

    def observe(self, given: Sequence[Labelled]) -> Iterator[tuple[Labelled, Derived]]:
        """Store every conversation for a new user, and yield what was derived from it.

        The graph holds nothing else, so that its node can be compared with the label, and the user has the owner's
        name, so that the same person speaks. Conversations of one owner therefore go to different installations.
        """
        for group in rounds(given):
            with self._bench.installation(own_model=True) as installation, self.times.listening():
                self.model = installation.language_model.name
                for labelled in group:
                    self._bench.say(labelled.id)
                    yield labelled, _derive(installation, labelled)


def rounds(given: Sequence[Labelled]) -> list[list[Labelled]]:
    """Return groups in each of which an owner has one conversation."""
    found: list[list[Labelled]] = []
    for labelled in given:
        free = (group for group in found if all(one.owner != labelled.owner for one in group))
        group = next(free, None)
        if group is None:
            group = []
            found.append(group)
        group.append(labelled)
    return found


def _derive(installation: Installation, labelled: Labelled) -> Derived:
    user, _ = create_user(installation.database, labelled.owner)
    claims = Claims.of_user(user.user_id)
    with installation.database.agent(claims) as tx:
        Inbox(installation.context).add_conversations(tx, user.user_id, [labelled.conversation()])
    for result in run_due(installation.context, "benchmark", user.user_id):
        if result.returned:
            raise RuntimeError(f"{labelled.id} was not stored: {result.returned[0][0].error}")
    page = list_records(installation.listing(claims, limit=MOST_RECORDS), RecordFilter())
    records = page.items[::-1]

    def keywords(kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for record in records for one in getattr(record, kind)))

    return Derived(
        keywords("dates"),
        keywords("entities"),
        keywords("relationships"),
        tuple(record.summary for record in records),
        tuple(record.title for record in records),
        tuple(tuple(record.node_path.split("/")[1:]) for record in records),
        tuple(_reply(installation, claims, labelled, one.question) for one in labelled.labels.questions),
    )


def _reply(installation: Installation, claims: Claims, labelled: Labelled, question: str) -> Reply:
    reply = ask(installation.acting_for(claims), Question(question), asked_at=labelled.ended_at)
    if not reply.found:
        return Reply()
    return Reply(statements_of(reply), tuple(citation.text for citation in reply.citations))


def statements_of(reply: Answered) -> tuple[str, ...]:
    """Return the statements of an answer without citations and without the days on which something was said.

    Such a day would pass for the day that was asked for.
    """
    return tuple(_WHEN_SAID.sub(r"\1", _CITATION.sub("", line)) for line in reply.answer.split("\n"))
