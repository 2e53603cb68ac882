"""Messages that Outlook saves (.msg), as e-mails of RFC 5322.

Attachments keep their names alone; a message that is attached keeps its words.
"""

from __future__ import annotations

from email.message import EmailMessage
from email.policy import default
from email.utils import format_datetime
from typing import IO, Any

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The beginning of files of Word, Excel and Outlook as they were before 2007."""

_HEADERS = ("From", "To", "Cc", "Date", "Message-ID", "References", "In-Reply-To", "Auto-Submitted")
_EMBEDDED = "__substg1.0_3701000D"
"""The name of a message within an attachment."""

_EMBEDDED_HEADER_BYTES = 24
_MOST_DEEP = 10


def as_mail(stream: IO[bytes]) -> EmailMessage:
    """Return a message of Outlook as an e-mail.

    Raises:
        ValueError: It is none.
    """
    from oxmsg import Message

    return _mail(Message.load(stream), 0)


def _mail(found: Any, depth: int) -> EmailMessage:
    mail = EmailMessage()
    stated = {name.lower(): value for name, value in found.message_headers.items()}
    sent = found.sent_date
    known = {
        "from": _one_line(found.sender or ""),
        "to": ", ".join(_person(one) for one in found.recipients),
        "subject": _one_line(found.subject),
        "date": format_datetime(sent) if sent is not None else "",
    }
    for name in (*_HEADERS, "Subject"):
        value = _one_line(stated.get(name.lower()) or "") or known.get(name.lower(), "")
        if value:
            try:
                mail[name] = value
            except (ValueError, IndexError, TypeError, AttributeError, LookupError):  # faults of the parser
                continue
    body, page = found.body or "", "" if found.body else found.html_body or ""
    if page:
        mail.set_content(page.encode("utf-8", "replace").decode(), subtype="html")
    else:
        mail.set_content(body.encode("utf-8", "replace").decode())
    for attachment in found.attachments:
        inner = _embedded(attachment)
        if inner is not None and depth < _MOST_DEEP:
            mail.add_attachment(_mail(inner, depth + 1))
        else:
            name = _one_line(attachment.file_name or "") or "without a name"
            mail.add_attachment(b"", maintype="application", subtype="octet-stream", filename=name)
    return mail


def _embedded(attachment: Any) -> Any | None:
    """Return the message that an attachment is; None for a file."""
    from oxmsg import Message
    from oxmsg.properties import Properties

    class _Embedded(Message):
        @property
        def properties(self) -> Properties:
            return Properties(self._storage, properties_header_offset=_EMBEDDED_HEADER_BYTES)

    inner = next((one for one in attachment._storage.storages if one.name == _EMBEDDED), None)
    return None if inner is None else _Embedded(inner)


def _person(recipient: Any) -> str:
    name, address = _one_line(recipient.name).replace('"', ""), _one_line(recipient.email_address)
    return f'"{name}" <{address}>' if address else f'"{name}" <>'


def _one_line(text: str) -> str:
    return " ".join(text.replace("\0", "").encode("utf-8", "replace").decode().split())


def mail_bytes(stream: IO[bytes]) -> bytes:
    """Return a message of Outlook as the bytes of an e-mail."""
    return as_mail(stream).as_bytes(policy=default.clone(utf8=True))
