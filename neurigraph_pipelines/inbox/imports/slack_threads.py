"""Threads of Slack: each answer stands with its question, also if that was asked on another day.

``slack`` reads the files of an export, ``slack_messages`` the messages.
"""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import moment, objects_of, text_of
from neurigraph_pipelines.inbox.imports.source import Part
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.zip_limits import READ_ERRORS

_MAX_FILE_BYTES = 256 * 1024**2
_FILES_IN_MEMORY = 4


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
            yield from _question(thread, part)
            yield from answers.pop(thread)
    for rest in answers.values():  # their question is an answer itself
        yield from rest


def _thread(message: Any) -> str | None:
    """Return the time stamp of the question that a message answers."""
    thread = text_of(message.get("thread_ts")) if isinstance(message, dict) else None
    return thread if thread is not None and thread != message.get("ts") else None


def _question(stamp: str, part: Part) -> Iterator[dict[str, Any]]:
    """Yield the question of a thread from the file of its day; days begin when they begin in the workspace's zone."""
    try:
        asked = moment(float(stamp))
    except ValueError:
        return
    if asked is None or part.member is None:
        return
    folder = part.member.rpartition("/")[0]
    for days in (0, -1, 1):
        day = (asked.astimezone(UTC) + timedelta(days=days)).date()
        for one in _other_day(part.path, part.path.stat().st_mtime_ns, f"{folder}/{day}.json"):
            if one.get("ts") == stamp:
                yield one
                return


@lru_cache(maxsize=_FILES_IN_MEMORY)
def _other_day(path: Path, _modified: int, member: str) -> list[dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(member).file_size > _MAX_FILE_BYTES:
                return []
            return objects_of(KeepingParser().parse(archive.read(member).decode("utf-8-sig")))
    except (KeyError, ValueError, RecursionError, *READ_ERRORS):
        return []  # the file of the day itself says what is wrong with it
