"""What a language model is shown: a segment as a transcript, cut or thinned to fit, an outline, passages.

Belongs here: wording and fitting of content. Not here: instructions (``prompts``), and asking
(``language_model_openai``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from neurigraph_pipelines.model import Evidence, Message, Outline, OutlineNode, Segment
from neurigraph_pipelines.ports import TokenCounter
from resources.providers.text_windows import split_text
from resources.well_formed import well_formed

LEFT_OUT = "[…]"
_INDENT = "\n    "
_SHORTEST_EXCERPT = 12
"""Tokens of a message below which an excerpt says nothing: beyond that, whole messages are left out."""

_EXCERPT_MARGIN = 0.9

_MOST_CHARACTERS = 16
"""Characters that a token stands for at most, four times the usual, where a long message is cut short."""


def transcript_windows(segment: Segment, limit: int, tokens: TokenCounter) -> list[str]:
    """A segment as transcripts of at most ``limit`` tokens, cut between messages.

    A message that is longer than a window by itself is cut inside, and each part bears its heading.
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
    """A segment in at most about ``limit`` tokens: every message, or as many as make sense, by its beginning.

    What a message is about shows in how it begins, so all are cut to the same length first. Where that would
    be too little to mean anything, messages are left out at even distances; the first and last stay.
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


def outline_text(outline: Outline, content: str, limit: int, tokens: TokenCounter) -> str:
    """The nodes of a graph, one a line, in at most ``limit`` tokens.

    When not all fit, those stay whose name or alias appears in ``content``, then the shallowest and fullest.
    """
    if not outline.nodes:
        return "(no nodes yet)"
    spoken = content.casefold()

    def rank(node: OutlineNode) -> tuple[bool, int, int]:
        named = any(name.casefold() in spoken for name in (node.path[-1], *node.aliases))
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


def evidence_text(evidence: Sequence[Evidence]) -> str:
    """Passages under their numbers, each with who said it, when and in which memory."""
    return "\n".join(
        f"[{number}] {_when(one.occurred_at)} {_one_line(one.speaker)} ({_one_line(one.title)}): {_indented(one.text)}"
        for number, one in enumerate(evidence, start=1)
    )


def _entries(messages: Sequence[Message], limit: int, tokens: TokenCounter) -> Iterator[str]:
    """Each message as it stands in a transcript, one too long for a window in several parts."""
    for message in messages:
        entry = _entry(message, message.content)
        if tokens.count(entry) <= limit:
            yield entry
        else:
            # Indentation of many short lines may take as much room as they do.
            for part in split_text(well_formed(message.content), max(1, limit // 2), tokens):
                yield _entry(message, part)


def _entry(message: Message, content: str) -> str:
    """One message with its heading; further lines are indented, so that none passes for a heading."""
    speaker = message.role.value if message.author is None else f"{message.author} ({message.role.value})"
    return f"[{message.seq}] {_when(message.occurred_at)} {_one_line(speaker)}: {_indented(content)}"


def _when(moment: datetime) -> str:
    return moment.strftime("%A %Y-%m-%d %H:%M")


def _indented(text: str) -> str:
    return _INDENT.join(well_formed(text).splitlines())


def _share(sizes: list[int], room: int, least: int) -> int:
    """The tokens at which to cut every size so that they sum up to ``room``; at least ``least``."""
    share, open_sizes = least, sorted(sizes)
    for done, size in enumerate(open_sizes):
        share = max(least, room // (len(open_sizes) - done))
        if size > share:
            break
        room -= size
    return share


def _outline_line(node: OutlineNode) -> str:
    """One node of the outline."""
    path = " / ".join(map(_one_line, node.path))
    also = f", also {', '.join(map(_one_line, node.aliases))}" if node.aliases else ""
    about = _one_line(node.summary)[:200]
    return f"{path} [{node.kind.value}{also}; {node.record_count} memories] {about}".rstrip()


def _one_line(text: str) -> str:
    """Text without line breaks or characters that a model would not take."""
    return " ".join(well_formed(text).split())
