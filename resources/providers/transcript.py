"""The content of a prompt: a segment as a transcript, cut or condensed to fit, an outline, passages.

Belongs here: the format and length of content. Instructions are in ``prompts``; requests in
``providers.language_model``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from neurigraph_pipelines.model import Message, Outline, OutlineNode, Quotable, Segment
from neurigraph_pipelines.model.ports import TokenCounter
from resources.providers.text_windows import split_text
from resources.well_formed import well_formed

LEFT_OUT = "[…]"
_INDENT = "\n    "
_SHORTEST_EXCERPT = 12
"""Least tokens of an excerpt that is useful; if messages would get fewer, whole messages are left out."""

_LONGEST_DESCRIPTION = 120

_EXCERPT_MARGIN = 0.9

_MOST_CHARACTERS = 16
"""Most characters per token, four times the usual, used to bound a long message before it is cut."""


def transcript_windows(segment: Segment, limit: int, tokens: TokenCounter) -> list[str]:
    """Return a segment as transcripts of at most ``limit`` tokens, cut between messages.

    A message longer than a window is cut, and each part repeats its heading.
    """
    windows: list[str] = []
    current: list[str] = []
    size = 0
    for entry in _entries(segment.messages, limit, tokens):
        cost = tokens.count(entry) + 1
        if current and size + cost > limit:
            windows.append("\n".join(current))
            current, size = [], 0
        current.append(entry)
        size += cost
    return [*windows, "\n".join(current)]


def condensed_transcript(segment: Segment, limit: int, tokens: TokenCounter) -> str:
    """Return a segment in at most about ``limit`` tokens, with long messages truncated.

    The beginning of a message shows its subject, so all are first cut to the same length. If that length is too
    short to be useful, messages are left out at even distances; the first and last stay.
    """
    messages = segment.messages
    whole = [_entry(message, message.content) for message in messages]
    sizes = [tokens.count(entry) + 1 for entry in whole]
    if sum(sizes) <= limit:
        return "\n".join(whole)
    limit = int(limit * _EXCERPT_MARGIN)
    headings = [tokens.count(_entry(message, "")) + 4 for message in messages]
    room = sum(heading + _SHORTEST_EXCERPT for heading in headings)
    if room > limit:
        kept = max(2, len(messages) * limit // room)
        chosen = sorted({round(i * (len(messages) - 1) / (kept - 1)) for i in range(kept)})
    else:
        chosen = list(range(len(messages)))
    share = _share(
        [sizes[i] - headings[i] for i in chosen], limit - sum(headings[i] for i in chosen), _SHORTEST_EXCERPT
    )
    lines: list[str] = []
    for position, index in enumerate(chosen):
        if position and index > chosen[position - 1] + 1:
            lines.append(LEFT_OUT)
        content = well_formed(messages[index].content)
        if sizes[index] - headings[index] > share:
            content = f"{split_text(content[: share * _MOST_CHARACTERS], share, tokens)[0].rstrip()} {LEFT_OUT}"
        lines.append(_entry(messages[index], content))
    return "\n".join(lines)


def about_text(segment: Segment) -> str:
    """Return whose memory a segment is, with the title of its source and the owner's words on its spaces, if any."""
    lines = [f"Memory of: {_one_line(segment.ref.user_slug)}"]
    if segment.ref.title:
        lines.append(f"Title: {_one_line(segment.ref.title)}")
    if segment.ref.about:
        lines.append(f"Belongs to: {_one_line(segment.ref.about)}")
    return "\n".join(lines)


def segment_descriptions(segments: Sequence[Segment], limit: int, tokens: TokenCounter) -> str:
    """Return one line for each segment, of at most about ``limit`` tokens together: day, title, and how it begins."""
    share = max(_SHORTEST_EXCERPT, min(_LONGEST_DESCRIPTION, limit // max(len(segments), 1)))
    lines = []
    for number, segment in enumerate(segments, start=1):
        title = f" {_one_line(segment.ref.title)}:" if segment.ref.title else ""
        begins = " ".join(message.content[: share * _MOST_CHARACTERS] for message in segment.messages[:4])
        line = f"[{number}] {segment.occurred_at:%Y-%m-%d}{title} {_one_line(begins)}"
        lines.append(split_text(line, share, tokens)[0].rstrip())
    return "\n".join(lines)


def outline_text(outline: Outline, content: str, limit: int, tokens: TokenCounter) -> str:
    """Return the nodes of a graph, one per line, in at most ``limit`` tokens.

    If not all fit, nodes whose name or alias appears in ``content`` come first, then those with the shortest paths and
    the most records.
    """
    if not outline.nodes:
        return "(no nodes yet)"
    lowered = content.casefold()

    def rank(node: OutlineNode) -> tuple[bool, int, int]:
        named = any(name.casefold() in lowered for name in (node.path[-1], *node.aliases))
        return (not named, len(node.path), -node.record_count)

    chosen: list[tuple[tuple[str, ...], str]] = []
    size = 0
    for node in sorted(outline.nodes, key=rank):
        line = _outline_line(node)
        size += tokens.count(line) + 1
        if size > limit:
            break
        chosen.append((node.path, line))
    lines = [line for _, line in sorted(chosen)]
    left_out = len(outline.nodes) - len(lines)
    return "\n".join([*lines, f"{LEFT_OUT} {left_out} more nodes"] if left_out else lines)


def quotable_text(quotable: Sequence[Quotable]) -> str:
    """Return numbered passages, each with its speaker, time and memory."""
    return "\n".join(
        f"[{number}] {_when(one.occurred_at)} {_speaker(one)} ({_one_line(one.title)}): {_indented(one.text)}"
        for number, one in enumerate(quotable, start=1)
    )


def _speaker(one: Quotable) -> str:
    """Return who said a passage, with the mark of others or of a correction, which no author can take away."""
    mark = " [correction]" if one.is_correction else " [others]" if one.is_of_others else ""
    return _one_line(one.speaker) + mark


def _entries(messages: Sequence[Message], limit: int, tokens: TokenCounter) -> Iterator[str]:
    """Yield each message as a transcript entry, in several parts if it is too long for a window."""
    for message in messages:
        entry = _entry(message, message.content)
        if tokens.count(entry) <= limit:
            yield entry
        else:
            # The indentation of many short lines may take as many tokens as the lines.
            for part in split_text(well_formed(message.content), max(1, limit // 2), tokens):
                yield _entry(message, part)


def _entry(message: Message, content: str) -> str:
    """Return one message with its heading; further lines are indented, so that none looks like a heading."""
    speaker = message.role.value if message.author is None else f"{message.author} ({message.role.value})"
    return f"[{message.seq}] {_when(message.occurred_at)} {_one_line(speaker)}: {_indented(content)}"


def _when(moment: datetime) -> str:
    return moment.strftime("%A %Y-%m-%d %H:%M")


def _indented(text: str) -> str:
    return _INDENT.join(well_formed(text).splitlines())


def _share(sizes: list[int], room: int, least: int) -> int:
    """Return the limit for each size such that the sizes add up to ``room``; at least ``least``."""
    share, open_sizes = least, sorted(sizes)
    for done, size in enumerate(open_sizes):
        share = max(least, room // (len(open_sizes) - done))
        if size > share:
            break
        room -= size
    return share


def _outline_line(node: OutlineNode) -> str:
    """Return the outline's line for one node."""
    path = " / ".join(map(_one_line, node.path))
    also = f", also {', '.join(map(_one_line, node.aliases))}" if node.aliases else ""
    about = _one_line(node.summary)[:200]
    return f"{path} [{node.kind.value}{also}; {node.record_count} memories] {about}".rstrip()


def _one_line(text: str) -> str:
    """Return text without line breaks or characters that models reject."""
    return " ".join(well_formed(text).split())
