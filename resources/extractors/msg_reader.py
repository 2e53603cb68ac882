"""Messages that Outlook saves (.msg), where they are to be documents: heads, words and names of attachments."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from typing import BinaryIO

from neurigraph_pipelines.text.outlook_message import as_mail
from resources.extractors import html_reader
from resources.extractors.grouping import Part, Piece, grouped

_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of lines."""
    mail = as_mail(stream)
    facts["title"] = str(mail["Subject"] or "")[:300]
    yield from grouped(_lines(mail), "lines")


def _lines(mail: EmailMessage) -> Iterator[Piece]:
    for name in _HEADERS:
        if mail[name]:
            yield f"{name}: {mail[name]}", None
    for part in mail.walk():
        if part.get_content_maintype() == "text" and part.get_filename() is None:
            text = str(part.get_content())
            lines = html_reader.lines_of(text) if part.get_content_subtype() == "html" else text.splitlines()
            yield from ((line, None) for line in lines if line.strip())
        elif part.get_filename() is not None:
            yield f"[attached: {part.get_filename()}]", None
