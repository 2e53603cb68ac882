"""Heads that two programs may read differently: where a request ends, and which path it names. They are refused.

``server`` closes the connection after a refusal. Slow and long requests belong there and in ``body_limit``.
"""

from __future__ import annotations

import h11


class StrictConnection(h11.Connection):
    """h11, and refuses what RFC 9112 lets a recipient repair, since a proxy may repair it in another way.

    Attributes:
        reason: Why a request was refused, for its sender; None as long as none was.
    """

    reason: str | None = None

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event.

        Raises:
            h11.RemoteProtocolError: The request is malformed or ambiguous.
        """
        unread = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request):
            head = unread[: len(unread) - len(self.trailing_data[0])]
            self.reason = _ambiguity(head, event)
            if self.reason is not None:
                raise h11.RemoteProtocolError(self.reason)
        return event


def _ambiguity(head: bytes, request: h11.Request) -> str | None:
    """Return why a request is ambiguous, with the remedy; None if it is not."""
    if request.http_version not in (b"1.0", b"1.1"):
        return "the version of HTTP is neither 1.0 nor 1.1"
    names = [name for name, _ in request.headers]
    chunked = b"transfer-encoding" in names
    if chunked and b"content-length" in names:
        return "the request has both Content-Length and Transfer-Encoding: send one of them"
    if chunked and request.http_version == b"1.0":
        return "Transfer-Encoding needs HTTP/1.1: send Content-Length"
    if _has_several_lengths(head):
        return "the request has several values of Content-Length: send one"
    if b"\n " in head or b"\n\t" in head:
        return "a header continues on a second line: write it on one line"
    if head.count(b"\n") != head.count(b"\r\n"):
        return "a line of the head ends without a carriage return: end each line with CR and LF"
    if b"%" in request.target.partition(b"?")[0]:
        return "the path has percent-encoded characters: write it as documented"
    return None


def _has_several_lengths(head: bytes) -> bool:
    """Return whether a head has a length twice, in two lines or one. h11 drops the second of two equal ones."""
    _, *lengths = head.lower().split(b"\ncontent-length:")
    return len(lengths) > 1 or any(b"," in rest.partition(b"\n")[0] for rest in lengths)
