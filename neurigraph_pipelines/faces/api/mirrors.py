"""The pages that peers pull: granted nodes and their records, as signed answers (docs/peers.md)."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from neurigraph_pipelines.exchange.peers import offering
from neurigraph_pipelines.exchange.peers.signatures import HEADER, PublisherKey
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.views import mirrors as views
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.wiring.installation import Installation

router = APIRouter(prefix="/mirror", tags=["peers"], responses=documented(401, 403, 404, 422, 503))

_COMPRESSION = 5

Nonce = Annotated[
    str, Query(pattern=r"^[0-9a-f]{32}$", description="128 random bits in hex; the answer is signed with them.")
]
AcceptEncoding = Annotated[str, Header(include_in_schema=False)]


class PullRecords(Form):
    """The records to read."""

    record_ids: list[UUID] = Field(min_length=1, max_length=offering.RECORDS_AT_ONCE)
    model: str | None = Field(
        default=None, max_length=200, description="The embedding model of the peer: vectors of others are not sent."
    )


@router.get("", response_model=views.OfferedNodes)
def list_nodes(
    caller: Caller,
    installation: InstallationDep,
    nonce: Nonce,
    since: Annotated[UUID | None, Query(description="The `horizon` of the pull before.")] = None,
    horizon: Annotated[UUID | None, Query(description="The `horizon` of the first page, for later ones.")] = None,
    after: Annotated[UUID | None, Query(description="The `next_node` of the page before.")] = None,
    accept_encoding: AcceptEncoding = "",
) -> Response:
    """List the nodes that a third party may read, each with a digest of its records."""
    context = installation.acting_for(caller)
    found = offering.list_nodes(context, since=since, horizon=horizon, after=after)
    return _signed(installation, nonce, accept_encoding, found.model_dump(mode="json"))


@router.get("/nodes/{node_id}", response_model=views.OfferedRecords)
def list_records(
    node_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    nonce: Nonce,
    prefix: Annotated[
        str, Query(pattern=rf"^[0-9a-f]{{0,{offering.MAX_PREFIX}}}$", description="How the ids begin.")
    ] = "",
    accept_encoding: AcceptEncoding = "",
) -> Response:
    """List the current records of a node with their versions, or digests of parts if there are many."""
    found = offering.list_records(installation.acting_for(caller), node_id, prefix)
    return _signed(installation, nonce, accept_encoding, found.model_dump(mode="json", exclude_none=True))


@router.post(
    "/nodes/{node_id}/records",
    response_class=StreamingResponse,
    responses=documented(413)
    | {200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}},
)
def pull_records(
    node_id: UUID, body: PullRecords, caller: Caller, installation: InstallationDep, nonce: Nonce
) -> StreamingResponse:
    """Return the first of some records, with their search segments and files, as an export has them.

    The zip file has the columns that peers get, and is signed as a whole. Ask again for the others.
    """
    found = offering.read_records(installation.acting_for(caller), node_id, body.record_ids, body.model)
    headers = {HEADER: PublisherKey(installation.secret).sign(nonce, found.sha256)}
    return StreamingResponse(found.chunks(), media_type="application/zip", headers=headers)


def _signed(installation: Installation, nonce: str, accept_encoding: str, content: object) -> Response:
    """Return an answer with its signature, which is over the text before it is compressed."""
    answer = json.dumps(content, separators=(",", ":")).encode()
    headers = {
        HEADER: PublisherKey(installation.secret).sign(nonce, sha256(answer).digest()),
        "Vary": "Accept-Encoding",
    }
    if "gzip" in accept_encoding:
        answer, headers["Content-Encoding"] = gzip.compress(answer, _COMPRESSION), "gzip"
    return Response(answer, media_type="application/json", headers=headers)
