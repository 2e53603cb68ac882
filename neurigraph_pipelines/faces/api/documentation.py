"""`/docs`: the OpenAPI document in Swagger UI, without any other host.

The files of Swagger UI come from the package `fastapi-offline`. The page may load scripts, styles and the document from
this server only, and a key that is entered in it is sent to this server only.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Response
from fastapi.exceptions import HTTPException
from starlette.concurrency import run_in_threadpool

router = APIRouter(include_in_schema=False)

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Swagger UI sets styles of single elements; everything else comes from files of this server."""

_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Neurigraph: HTTP API</title>
<link rel="icon" href="docs/favicon.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="operations"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#operations",
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset],
  validatorUrl: null,
});
"""
_MEDIA_TYPES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon.png": "image/png",
}


@router.get("/docs")
async def page() -> Response:
    """Return the page."""
    return Response(_PAGE, headers=_HEADERS, media_type="text/html")


@router.get("/docs/start.js")
async def start() -> Response:
    """Return the script of the page; the policy forbids one inside it."""
    return Response(_START, headers=_HEADERS, media_type="text/javascript")


@router.get("/docs/{name}")
async def asset(name: str) -> Response:
    """Return a file of Swagger UI."""
    if name not in _MEDIA_TYPES:
        raise HTTPException(404)
    content = await run_in_threadpool(_content, name)
    return Response(content, headers={**_HEADERS, "Cache-Control": "max-age=86400"}, media_type=_MEDIA_TYPES[name])


@cache
def _content(name: str) -> bytes:
    return files("fastapi_offline").joinpath("static", name).read_bytes()
