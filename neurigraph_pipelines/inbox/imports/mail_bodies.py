"""The words of a mail: its text, or the visible words of its page, the names of its files, and the mails in it."""

from __future__ import annotations

import email.policy
import html
from dataclasses import dataclass, field
from email.message import EmailMessage, Message
from html.parser import HTMLParser
from itertools import pairwise

from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.text.encodings import decoded
from neurigraph_pipelines.text.raised import raised

FAULTS = (ValueError, IndexError, TypeError, AttributeError, LookupError)
"""Faults of the standard parser on broken headers."""

_UNSEEN = {"script", "style", "head", "title"}
_VOID = {"br", "img", "hr", "meta", "link", "input", "area", "base", "col", "embed", "source", "track", "wbr"}
_BLOCKS = set(
    "p div br li tr table ul ol h1 h2 h3 h4 h5 h6 hr pre dl dt dd td th caption section article header footer main nav "
    "aside address center figure figcaption fieldset legend form option".split()
)
_MARKED_UP = ("text/enriched", "text/richtext", "text/rtf")
"""Texts with marks that are not read, and so are named."""

_ENTRY = ("SUMMARY", "DTSTART", "LOCATION")
_QUOTE = "blockquote"
_DEEPEST = 10
_MOST_NESTED = 100
_DEEPEST_TABLE = 10


@dataclass(slots=True)
class Content:
    """The parts of a mail.

    Attributes:
        text: Its words, with quoted lines marked by ``>``.
        attached: The names of its files.
        inner: The mails that it forwards as files.
    """

    text: str = ""
    attached: list[str] = field(default_factory=list)
    inner: list[EmailMessage] = field(default_factory=list)


def header(head: Message, name: str) -> str:
    """Return a header as text; nothing for one that cannot be parsed.

    Bytes that are not ASCII, which the standard forbids, are read in the encoding that they show.

    Raises:
        UnreadableFileError: They show none.
    """
    try:
        raw = next((value for key, value in head.raw_items() if key.lower() == name.lower()), "")
        if isinstance(raw, str) and any("\udc80" <= one <= "\udcff" for one in raw):
            text = decoded(raw.encode("ascii", "surrogateescape"))[0]
            return str(email.policy.default.header_factory(name, " ".join(text.split())))
        return str(head.get(name) or "")
    except FAULTS:
        return ""


def content_of(mail: Message) -> Content:
    """Return the parts of a mail.

    Raises:
        UnreadableFileError: The encoding of its words is not recognised, or its parts are nested too deeply.
    """
    found = Content()
    found.text = _joined(_texts(mail, found))
    return found


def _texts(part: Message, found: Content, depth: int = 0) -> list[tuple[bool, str]]:
    """Return the texts of a part, with whether each is plain, and add its files and mails to ``found``."""
    if part.get_content_type() == "message/rfc822":
        found.inner += [one for one in _listed(part.get_payload()) if isinstance(one, EmailMessage)]
    elif part.is_multipart():
        if depth == _MOST_NESTED:
            raise UnreadableFileError(f"its parts are nested more than {_MOST_NESTED} deep")
        texts = [_texts(one, found, depth + 1) for one in _listed(part.get_payload()) if isinstance(one, Message)]
        if part.get_content_type() == "multipart/alternative":
            worded = [one for one in texts if one]
            return next((one for one in worded if all(is_plain for is_plain, _ in one)), worded[0] if worded else [])
        return [one for inner in texts for one in inner]
    elif (name := _file_name(part)) is not None:
        found.attached.append(name)
    else:
        is_page = part.get_content_type() in ("text/html", "text/x-amp-html")
        if is_page or part.get_content_type() == "text/plain" or part.get_content_maintype() == "multipart":  # no parts
            text = visible(_decoded(part)) if is_page else _decoded(part)
            return [(not is_page, text)] if text.strip() else []
        if part.get_content_type() == "text/calendar":
            found.attached.append(_invitation(_decoded(part)))
        elif part.get_content_type() in _MARKED_UP:
            found.attached.append(part.get_content_type())
        elif part.get_content_maintype() == "text" and part.get_content_type() != "text/rfc822-headers":
            text = _decoded(part)
            return [(True, text)] if text.strip() else []
    return []


def _invitation(text: str) -> str:
    """Return the names, times and places of the entries of a calendar."""
    import icalendar

    try:
        entries = icalendar.Calendar.from_ical(text).walk("VEVENT")
        said = [
            ", ".join(str(getattr(one[name], "dt", one[name])) for name in _ENTRY if name in one) for one in entries
        ]
    except FAULTS:
        said = []
    return f"invitation: {'; '.join(filter(None, said))}" if any(said) else "invitation"


def _joined(texts: list[tuple[bool, str]]) -> str:
    """Join the texts of a mail; a page that says the same as a plain text beside it is left out."""
    plain = {"".join(filter(str.isalnum, text)) for is_plain, text in texts if is_plain}
    return "\n\n".join(text for is_plain, text in texts if is_plain or "".join(filter(str.isalnum, text)) not in plain)


def _listed(payload: object) -> list[object]:
    return payload if isinstance(payload, list) else []


def _file_name(part: Message) -> str | None:
    """Return the name of an attachment; None for a part of the text."""
    try:
        name = part.get_filename()
        is_attached = part.get_content_disposition() == "attachment"
    except FAULTS:
        return "without a name"
    if name is None and not is_attached:
        return None if part.get_content_maintype() in ("text", "multipart") else "without a name"
    return " ".join((name or "without a name").split())[:200]


def _decoded(part: Message) -> str:
    data = part.get_payload(decode=True)
    stated = part.get_content_charset()
    return decoded(data, stated)[0] if isinstance(data, bytes) else ""


def visible(markup: str) -> str:
    """Return the words of a page, a line for each block; the lines of quotations begin with ``>``."""
    reader = _Words()
    reader.feed(markup)
    reader.close()
    lines = ((depth, " ".join("".join(words).split())) for depth, words in reader.lines)
    return "\n".join("> " * depth + html.unescape(line) for depth, line in lines if line)


class _Words(HTMLParser):
    """Collects the visible words of a page, with the depth of the quotation that each line is in."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[tuple[int, list[str]]] = [(0, [])]
        self._depth = 0
        self._hidden: list[str] = []
        self._rows: list[list[int]] = []
        """For each open table, the first line of each cell of its last row."""
        self._is_raised = False

    def _end_line(self) -> None:
        self.lines.append((self._depth, []))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line, a quotation, or a part that is not shown."""
        style = "".join((dict(attrs).get("style") or "").lower().split())
        self._is_raised = tag == "sup"
        if tag in _UNSEEN or (tag not in _VOID and (self._hidden or "display:none" in style)):
            self._hidden.append(tag)
        elif tag == _QUOTE:
            self._depth = min(self._depth + 1, _DEEPEST)
            self._end_line()
        elif tag in _BLOCKS:
            self._end_line()
            self._in_table(tag)

    def handle_endtag(self, tag: str) -> None:
        """End a line, a quotation, or a part that is not shown."""
        self._is_raised = False
        if self._hidden:
            if tag in self._hidden:
                while self._hidden.pop() != tag:
                    continue
        elif tag == _QUOTE:
            self._depth = max(self._depth - 1, 0)
            self._end_line()
        elif tag in _BLOCKS:
            if tag in ("tr", "table"):
                self._end_row()
            if tag == "table" and self._rows:
                self._rows.pop()
            self._end_line()

    def _in_table(self, tag: str) -> None:
        if tag == "table":
            self._rows.append([])
        elif tag == "tr":
            self._end_row()
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append(len(self.lines) - 1)

    def _end_row(self) -> None:
        """Put the cells of a row on one line, unless a cell has several lines."""
        if not 0 < len(self._rows) <= _DEEPEST_TABLE:
            return
        starts, self._rows[-1] = self._rows[-1], []
        cells: list[list[str]] = []
        for start, end in pairwise([*starts, len(self.lines)]):
            depths = {depth for depth, _ in self.lines[start:end]} | {self._depth}
            cells.append([words for _, line in self.lines[start:end] if (words := " ".join("".join(line).split()))])
            if len(cells[-1]) > 1 or len(depths) > 1:
                return
        if sum(map(bool, cells)) > 1:
            row = " | ".join(cell[0] if cell else "" for cell in cells).replace(": | ", ": ")
            self.lines[starts[0] :] = [(self._depth, [row]), (self._depth, [])]

    def handle_data(self, data: str) -> None:
        """Keep words that are shown."""
        if not self._hidden:
            first, *others = (raised(data) if self._is_raised else data).split("\n")
            self.lines[-1][1].append(first)
            for line in others:
                self._end_line()
                self.lines[-1][1].append(line)
