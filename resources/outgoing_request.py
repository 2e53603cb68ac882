"""One HTTP request to an address that the operator configured, with hard limits.

Belongs here: name lookup, connecting, the time limit and the size limit. A request follows no redirect, uses no proxy
and checks TLS certificates against the system's. Retries and the meaning of a status belong to the callers.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from queue import Empty, Queue
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import httpx

from neurigraph_pipelines.views.scalars import ValuesByName

_GZIP = 31  # zlib's window bits for a gzip header and trailer
_GROWS_AFTER = 4 << 20


class Answer(NamedTuple):
    """The beginning of an answer.

    Attributes:
        body: At most as many bytes as were asked for.
        retry_after: The header of that name, if there is one.
        headers: All of them.
    """

    status: int
    body: bytes
    retry_after: str | None
    headers: Mapping[str, str] = MappingProxyType({})


def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    seconds: float,
    content: bytes = b"",
    max_bytes: int = 0,
    check_address: Callable[[str], None] = lambda _: None,
    into: IO[bytes] | None = None,
    seconds_more: float = 0.0,
) -> Answer:
    """Send one request and read the beginning of the answer.

    The connection goes to an address that ``check_address`` has seen, so a name that resolves differently the second
    time gains nothing.

    Args:
        method: Such as GET.
        url: http or https; a user in it is not sent.
        headers: Beside Host.
        seconds: Time limit for everything, the name lookup included.
        content: The body to send.
        max_bytes: Bytes of the answer's body to read, as they are sent; the rest is not read.
        check_address: Raises for an IP address that must not be connected to; called with each one of the host.
        into: A file to write the body to; the answer has none then. It is written to once the host has answered.
        seconds_more: By how much the time limit grows with every four MiB of the body that have come.

    Returns:
        The status, at most ``max_bytes`` bytes of the body, and how long to wait.

    Raises:
        OSError: The host was not reached, or the answer was not complete in time; the message is the kind of error.
    """
    deadline = time.monotonic() + seconds
    try:
        target = httpx.URL(url).copy_with(userinfo=b"")
        addresses = addresses_of(target, deadline)
        for address in addresses:
            check_address(address)
        for address in addresses[:-1]:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return _exchange(method, target, address, headers, (deadline, seconds_more), content, max_bytes, into)
        return _exchange(method, target, addresses[-1], headers, (deadline, seconds_more), content, max_bytes, into)
    except (OSError, httpx.TransportError, httpx.InvalidURL) as error:
        raise ConnectionError(type(error).__name__) from error


def content_of(answer: Answer, max_bytes: int) -> bytes:
    """Return the body of an answer to a request that accepts gzip: at most one byte more than the limit.

    Raises:
        OSError: The body was cut off.
    """
    if answer.headers.get("content-encoding") != "gzip" or len(answer.body) > max_bytes:
        return answer.body
    unpacking = zlib.decompressobj(_GZIP)
    try:
        content = unpacking.decompress(answer.body, max_bytes + 1)
    except zlib.error as error:
        raise ConnectionError("the answer is not gzip") from error
    if not unpacking.eof and len(content) <= max_bytes:
        raise ConnectionError("the answer was cut off")
    return content


def addresses_of(url: httpx.URL, deadline: float) -> list[str]:
    """Return the IP addresses of a host, at least one.

    Raises:
        OSError: The name is unknown, or the lookup takes too long.
    """
    with suppress(ValueError):
        return [str(ipaddress.ip_address(url.host))]  # nothing to look up, so no thread is needed
    found: Queue[list[Any] | OSError] = Queue()

    def look_up() -> None:
        try:
            found.put(socket.getaddrinfo(url.host, None, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.put(OSError(type(error).__name__))

    # The system's lookup has no time limit. A thread that waits for it ends with the system's own patience.
    threading.Thread(target=look_up, name="name lookup", daemon=True).start()
    try:
        answer = found.get(timeout=max(deadline - time.monotonic(), 0.001))
    except Empty as error:
        raise TimeoutError("name lookup") from error
    if isinstance(answer, OSError):
        raise answer
    return list(dict.fromkeys(str(one[4][0]) for one in answer))


def _exchange(
    method: str,
    url: httpx.URL,
    address: str,
    headers: Mapping[str, str],
    limits: tuple[float, float],
    content: bytes,
    max_bytes: int,
    into: IO[bytes] | None,
) -> Answer:
    """Use the transport of httpx, because its client logs the whole address, which may contain a secret."""
    (deadline, more), size = limits, 0

    def until() -> float:
        return deadline + more * (size // _GROWS_AFTER)

    # Loading the system's certificates takes a while, and plain http needs none.
    tls = ssl.create_default_context() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with _cut_off(until) as trace, httpx.HTTPTransport(tls, trust_env=False) as transport:
        request = httpx.Request(
            method,
            url.copy_with(host=address),
            content=content,
            headers={"Host": url.netloc.decode(), "Connection": "close", **headers},
            extensions={
                "sni_hostname": url.host,
                "timeout": httpx.Timeout(max(deadline - time.monotonic(), 0.001)).as_dict(),
                "trace": trace,
            },
        )
        answer = transport.handle_request(request)
        with closing(answer):
            body = bytearray()
            if max_bytes:
                for chunk in answer.iter_raw():
                    (body.extend if into is None else into.write)(chunk)
                    size += len(chunk)
                    if size >= max_bytes:
                        break
                else:  # a body without a length ends like this when it is cut off, too
                    if time.monotonic() >= until():
                        raise TimeoutError("body")
            return Answer(
                answer.status_code, bytes(body[:max_bytes]), answer.headers.get("Retry-After"), answer.headers
            )


@contextmanager
def _cut_off(until: Callable[[], float]) -> Iterator[Callable[[str, ValuesByName], None]]:
    """Shut the connection down at a deadline, which may move; yields a trace function for httpx.

    The timeouts of httpx bound each read, so they do not end an answer that arrives byte by byte.
    """
    ended = threading.Event()
    watches: list[threading.Thread] = []
    sockets: list[socket.socket] = []

    def watch(connected: socket.socket) -> None:
        while not ended.wait(max(until() - time.monotonic(), 0.0)):
            if time.monotonic() >= until():
                _shut_down(connected)
                return

    def trace(event: str, info: ValuesByName) -> None:
        if event == "connection.connect_tcp.complete":
            # A duplicate reaches the connection below TLS, too.
            sockets.append(info["return_value"].get_extra_info("socket").dup())
            watches.append(threading.Thread(target=watch, args=sockets[-1:], name="time limit", daemon=True))
            watches[-1].start()

    try:
        yield trace
    finally:
        ended.set()
        for one in watches:
            one.join()
        for connected in sockets:
            connected.close()


def _shut_down(connected: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connected.shutdown(socket.SHUT_RDWR)
