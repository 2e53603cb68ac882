"""The requests of a pull to one publisher, with the peer's key, and the answers that the pinned publisher signed."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BufferedRandom
from urllib.parse import urlencode
from uuid import UUID

from neurigraph_pipelines.exchange.peers.granted_rows import MAX_STREAM_BYTES, read
from neurigraph_pipelines.exchange.peers.signatures import new_nonce, require_signed
from neurigraph_pipelines.model.errors import NotFoundError, ProviderError, TransientError, UnauthenticatedError
from neurigraph_pipelines.model.ports import PeerClient
from neurigraph_pipelines.views.mirrors import OfferedNode, OfferedNodes, OfferedRecords

MAX_ANSWER_BYTES = 16 << 20
"""Most bytes of a listing."""

MAX_SECONDS = 1_800.0
"""Most time for which one pull waits for its publisher; others wait behind it, and the next pull goes on."""

MAX_NODES = 2_000
"""Nodes of one mirror: each has tables of its own here."""

_OK = 200
_REFUSED = frozenset([401, 403])
_ABSENT = 404
_SERVER = 500
_SLOW_DOWN = 429


@dataclass(slots=True)
class Conversation:
    """The requests of one pull.

    Attributes:
        url: The address of the publisher.
        key: Of a third party there.
        publisher_key: Its public key, 32 bytes.
        requests: Number of requests so far.
        sent_bytes: Size of all answers, compressed as they were sent.
        waited: Seconds for which answers were awaited.
    """

    client: PeerClient
    url: str
    key: str = field(repr=False)
    publisher_key: bytes
    requests: int = 0
    sent_bytes: int = 0
    waited: float = 0.0

    def nodes(self, since: UUID | None) -> tuple[UUID, bool, list[OfferedNode]]:
        """Return the publisher's horizon, whether it knew the one before, and all nodes that were granted.

        Raises:
            UnauthenticatedError: The key is not valid (any more).
            ProviderError: The answer is not signed by this publisher; also below.
            TransientError: The publisher did not answer; also below.
        """
        found: list[OfferedNode] = []
        first: OfferedNodes | None = None
        parameters = {"since": str(since)} if since is not None else {}
        while True:
            page = read(OfferedNodes, self._signed("GET", "", parameters))
            first = first or page
            found += page.nodes
            if page.next_node is None:
                break
            if page.next_node.int <= max((node.node_id.int for node in found[: -len(page.nodes)]), default=0):
                raise ProviderError("the publisher lists its nodes in circles")
            if len(found) > MAX_NODES:
                raise ProviderError(f"the publisher lists more than {MAX_NODES:,} nodes")
            parameters |= {"horizon": str(first.horizon), "after": str(page.next_node)}
        if len({node.node_id for node in found}) != len(found):
            raise ProviderError("the publisher lists a node twice")
        return first.horizon, first.is_known, found

    def records(self, node_id: UUID, prefix: str) -> OfferedRecords:
        """Return the records of a node whose ids begin with some digits.

        Raises:
            NotFoundError: The node is not granted any more.
        """
        return read(OfferedRecords, self._signed("GET", f"/nodes/{node_id}", {"prefix": prefix}))

    def pull(self, node_id: UUID, record_ids: Sequence[UUID], model: str | None, file: BufferedRandom) -> None:
        """Write the stream of the first of some records to a file; one that it leaves out is not granted any more.

        Raises:
            NotFoundError: The node is not granted any more.
        """
        body = json.dumps({"record_ids": [str(one) for one in record_ids], "model": model}).encode()
        self._signed("POST", f"/nodes/{node_id}/records", {}, body, file)

    def _signed(
        self, method: str, path: str, parameters: dict[str, str], body: bytes = b"", into: BufferedRandom | None = None
    ) -> bytes:
        if self.waited > MAX_SECONDS:
            raise TransientError("the publisher is too slow, or has too much for one pull: the next one goes on")
        nonce, began = new_nonce(), time.monotonic()
        url = f"{self.url.rstrip('/')}/v1/mirror{path}?{urlencode({**parameters, 'nonce': nonce})}"
        headers = {"Authorization": f"Bearer {self.key}"} | ({"Content-Type": "application/json"} if body else {})
        answer = self.client.ask(
            method, url, headers, body, MAX_ANSWER_BYTES if into is None else MAX_STREAM_BYTES, into
        )
        self.waited += time.monotonic() - began
        self.requests += 1
        self.sent_bytes += answer.sent_bytes
        if answer.status == _OK:
            require_signed(self.publisher_key, nonce, answer.sha256, answer.signature)
            return answer.body
        if answer.status in _REFUSED:
            raise UnauthenticatedError("the publisher refuses the key of this peer: ask for another one there")
        if answer.status == _ABSENT:
            raise NotFoundError("the publisher has no such thing for this peer (any more)")
        if answer.status >= _SERVER or answer.status == _SLOW_DOWN:
            raise TransientError(f"the publisher answered with status {answer.status}: it is asked again later")
        raise ProviderError(f"the publisher answered with status {answer.status}")
