"""`/`: the page for people, from the files of the package ``neurigraph_pipelines.faces.page``.

The files hold nothing of any user and need no key. The page calls ``/v1`` with the key that a person enters.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import HTTPException
from starlette.concurrency import run_in_threadpool

router = APIRouter(include_in_schema=False)

_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        *(f"{kind} 'none'" for kind in ("base-uri", "form-action", "frame-ancestors")),
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""No inline script or style, and no text that becomes markup or code: the browser refuses both."""

_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Vary": "Accept-Encoding",
}
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_OURS, _VENDORED = "files", "vendored"
_CACHING = {_OURS: "no-cache", _VENDORED: "public, max-age=31536000, immutable"}
"""Names of vendored files have their version; ours are asked for again, and answered by their checksum."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it is sent.

    Attributes:
        packed: The content in gzip.
        tag: Its ``ETag``.
    """

    content: bytes
    packed: bytes
    tag: str
    media_type: str
    caching: str


@router.get("/")
async def page(request: Request) -> Response:
    """Return the page."""
    return await _answer(request, "index.html")


@router.get("/page/{name}")
async def page_file(name: str, request: Request) -> Response:
    """Return a file that the page loads."""
    return await _answer(request, name)


async def _answer(request: Request, name: str) -> Response:
    found = (await run_in_threadpool(_files)).get(name)
    if found is None:
        raise HTTPException(404)
    headers = {**_HEADERS, "ETag": found.tag, "Cache-Control": found.caching}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=found.media_type)
    return Response(found.content, headers=headers, media_type=found.media_type)


@cache
def _files() -> dict[str, _File]:
    """Return the files by name: exactly those of the package, so that no name reaches another one."""
    return {
        entry.name: _File(
            content,
            gzip.compress(content, mtime=0),
            f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            _MEDIA_TYPES[PurePath(entry.name).suffix],
            caching,
        )
        for folder, caching in _CACHING.items()
        for entry in files("neurigraph_pipelines.faces.page").joinpath(folder).iterdir()
        if PurePath(entry.name).suffix in _MEDIA_TYPES
        for content in (entry.read_bytes(),)
    }
