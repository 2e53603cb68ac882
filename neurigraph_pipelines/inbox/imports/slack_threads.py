"""Threads of Slack: each answer stands with its question, also if that was asked on another day.

``slack`` reads the files of an export, ``slack_messages`` the messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import objects_of, text_of
from neurigraph_pipelines.inbox.imports.slack_edits import message_of_other_day
from neurigraph_pipelines.inbox.imports.source import Part


def in_threads(messages: Sequence[Any], part: Part) -> list[Any]:
    """Return the messages of a day, each answer after its question; a question of another day is put before it.

    Args:
        messages: As the file has them.
        part: The file, whose folder has the other days of the channel.
    """
    answers: defaultdict[str, list[Any]] = defaultdict(list)
    own = {stamp for one in objects_of(list(messages)) if (stamp := text_of(one.get("ts")))}
    for one in messages:
        if (thread := _thread(one)) is not None:
            answers[thread].append(one)
    return list(_ordered(messages, answers, own, part))


def _ordered(messages: Sequence[Any], answers: dict[str, list[Any]], own: set[str], part: Part) -> Iterator[Any]:
    for one in messages:
        thread = _thread(one)
        if thread is None:
            yield one
            yield from answers.pop(text_of(one.get("ts")) or "", ()) if isinstance(one, dict) else ()
        elif thread not in own and thread in answers:
            if (question := message_of_other_day(thread, part)) is not None:
                yield question
            yield from answers.pop(thread)
    for rest in answers.values():  # their question is an answer itself
        yield from rest


def _thread(message: Any) -> str | None:
    """Return the time stamp of the question that a message answers."""
    thread = text_of(message.get("thread_ts")) if isinstance(message, dict) else None
    return thread if thread is not None and thread != message.get("ts") else None
