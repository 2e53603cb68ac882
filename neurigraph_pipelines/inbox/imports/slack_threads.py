"""Threads of Slack: each answer stands with its question, also if that was asked on another day.

``slack`` reads the files of an export, ``slack_messages`` the messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from neurigraph_pipelines.inbox.imports.slack_edits import message_of_other_day
from neurigraph_pipelines.inbox.imports.source import Part
from neurigraph_pipelines.text.json_fields import Json, as_object, as_objects, text_of


def in_threads(messages: Sequence[Json], part: Part) -> list[Json]:
    """Return the messages of a day, each answer after its question; a question of another day is put before it.

    Args:
        messages: As the file has them.
        part: The file, whose folder has the other days of the channel.
    """
    answers: defaultdict[str, list[Json]] = defaultdict(list)
    own = {stamp for one in as_objects(list(messages)) if (stamp := text_of(one, "ts"))}
    for one in messages:
        if (thread := _thread(one)) is not None:
            answers[thread].append(one)
    return list(_ordered(messages, answers, own, part))


def _ordered(messages: Sequence[Json], answers: dict[str, list[Json]], own: set[str], part: Part) -> Iterator[Json]:
    for one in messages:
        thread = _thread(one)
        if thread is None:
            yield one
            yield from answers.pop(text_of(as_object(one), "ts") or "", ())
        elif thread not in own and thread in answers:
            if (question := message_of_other_day(thread, part)) is not None:
                yield question
            yield from answers.pop(thread)
    for rest in answers.values():  # their question is an answer itself
        yield from rest


def _thread(message: Json) -> str | None:
    """Return the time stamp of the question that a message answers."""
    thread = text_of(as_object(message), "thread_ts")
    return thread if thread is not None and thread != as_object(message).get("ts") else None
