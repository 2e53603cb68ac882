"""The guard in front of Dagster's UI, which itself authenticates nobody: an ASGI application around another.

A caller shows the token once, in the address that is printed at the start, and gets a session cookie for it; programs
send the token as bearer token. The guard also rejects other hosts, other origins and GraphQL by GET, so that no web
page can use the session of a browser on this machine.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.text.web_addresses import address_of, host_of, is_loopback

SESSION_SECONDS = 7 * 86_400
"""Lifetime of a session; a new one starts from the address with the token."""

_COOKIE = "neurigraph_ui"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_FORM_BYTES = 4_096
_POLICY_VIOLATION = 1008
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"}
_LOGIN = """<!doctype html><title>Dagster UI of Neurigraph</title>
<body style="font: 16px sans-serif; margin: 4em auto; max-width: 34em"><h1>Token needed</h1>
<p>Open the address that <code>neurigraph up</code> printed, or enter the token in it.
It is in the file <code>ui_token</code> of the home folder.</p>
<form method="post" action="/login"><input type="password" name="token" size="50" autofocus>
<button>Open</button></form>"""


class Guard:
    """Lets authenticated requests of allowed hosts and origins through to an application.

    Args:
        app: Dagster's application.
        token: What callers must show.
        hosts: Names that requests may be addressed to, besides ``localhost`` and loopback addresses.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._token = token
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or websocket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = await self._refusal(scope, receive)
        if refusal is None:
            await self._app(scope, receive, _unframed(send) if scope["type"] == "http" else send)
        elif scope["type"] == "http":
            await refusal(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the answer to a request that may not pass; None if it may."""
        connection = HTTPConnection(scope)
        headers, is_http = connection.headers, scope["type"] == "http"
        if not self._allows_host(headers):
            return _refused("this host is not allowed: add it to NEURIGRAPH_UI_ALLOWED_HOSTS")
        changes = not is_http or scope["method"] not in _SAFE_METHODS
        if _is_foreign(headers, changes):
            return _refused("a page of another origin may not do this")
        if is_http and scope["path"] == "/login" and scope["method"] == "POST":
            return await self._log_in(Request(scope, receive))
        if is_http and scope["method"] == "GET" and "token" in connection.query_params:
            return self._exchange(connection)
        if not self._has_token(headers):
            if not self._has_session(connection):
                return self._login(headers)
            if changes and "origin" not in headers:
                return _refused("a call with a session needs the header Origin; programs send the token")
        if (
            is_http
            and scope["path"].rstrip("/") == "/graphql"
            and scope["method"] != "POST"
            and not _wants_page(headers)
        ):
            return PlainTextResponse("GraphQL takes POST only", 405, {**_HEADERS, "Allow": "POST"})
        return None

    def _allows_host(self, headers: Headers) -> bool:
        host = host_of(headers.get("host", ""))
        return host is not None and (is_loopback(host) or host in self._hosts)

    def _has_token(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self._is_token(given)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._token.encode())

    def _exchange(self, connection: HTTPConnection) -> Response:
        """Redirect to the same address without the token, with a session if the token was right."""
        if not self._is_token(connection.query_params["token"]):
            return self._login(connection.headers)
        rest = [(name, value) for name, value in connection.query_params.multi_items() if name != "token"]
        # One leading slash: two would name another host.
        path = "/" + connection.scope["path"].lstrip("/\\")
        return self._started(connection, path + (f"?{urlencode(rest)}" if rest else ""))

    async def _log_in(self, request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _FORM_BYTES:
                return PlainTextResponse("the form is too long", 413, _HEADERS)
        given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
        return self._started(request, "/") if self._is_token(given.strip()) else self._login(request.headers)

    def _started(self, connection: HTTPConnection, place: str) -> Response:
        response = RedirectResponse(place, 303, _HEADERS)
        expires = int(time.time()) + SESSION_SECONDS
        session = f"{expires}.{secrets.token_urlsafe(16)}"
        response.set_cookie(
            self._cookie(connection.headers),
            f"{session}.{self._signature(session)}",
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure="https" in (connection.url.scheme, connection.headers.get("x-forwarded-proto")),
        )
        return response

    def _has_session(self, connection: HTTPConnection) -> bool:
        cookie = connection.cookies.get(self._cookie(connection.headers), "")
        session, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), self._signature(session).encode()):
            return False
        return int(session.partition(".")[0]) > time.time()

    def _signature(self, session: str) -> str:
        signed = f"session {session}".encode("utf-8", "surrogatepass")
        return hmac.new(self._token.encode(), signed, hashlib.sha256).hexdigest()

    def _cookie(self, headers: Headers) -> str:
        """Return the cookie's name: browsers send one host's cookies to all of its ports."""
        port = urlsplit(f"//{headers['host']}").port
        return f"{_COOKIE}_{port}" if port else _COOKIE

    def _login(self, headers: Headers) -> Response:
        if _wants_page(headers):
            return HTMLResponse(_LOGIN, 401, _HEADERS)
        return PlainTextResponse("a token is needed: `Authorization: Bearer TOKEN`", 401, _HEADERS)


def _unframed(send: Send) -> Send:
    """Return a ``send`` that forbids other pages to show the answer in a frame."""

    async def send_with_header(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"x-frame-options", b"DENY")]}
        await send(message)

    return send_with_header


def _refused(detail: str) -> Response:
    return PlainTextResponse(detail, 403, _HEADERS)


def _wants_page(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")


def _is_foreign(headers: Headers, changes: bool) -> bool:
    """Return whether another origin's page caused the request; such a page may only link to this one.

    A page on another port of this host gets the session's cookie sent: a cookie does not name its port.
    """
    origin = headers.get("origin")
    if origin is not None:
        given = address_of(origin)
        return given is None or given != address_of(f"{urlsplit(origin).scheme}://{headers['host']}")
    is_link = not changes and headers.get("sec-fetch-mode") == "navigate"
    return headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_link
