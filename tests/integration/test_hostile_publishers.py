"""Publishers that lie, servers between, and cut lines: nothing stays, and the next pull makes the mirror equal."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange.peers.peering import Peering
from neurigraph_pipelines.exchange.peers.pulling import pull
from neurigraph_pipelines.exchange.peers.signatures import PublisherKey
from neurigraph_pipelines.model import PASSAGE_DIMENSIONS
from neurigraph_pipelines.model.errors import NeurigraphError, ProviderError, TransientError
from neurigraph_pipelines.model.ports import PeerAnswer
from neurigraph_pipelines.text.search_segments import PASSAGE, SearchSegment, vector_type
from neurigraph_pipelines.wiring.installation import Installation
from resources.peer_client import HttpPeerClient
from tests.conftest import SECRET
from tests.support.memories import converse, ingest, plain_context
from tests.support.peers import GRANTED, Pair, mirrored, new_pair

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def pair(shared_installation: Installation) -> Iterator[Pair]:
    """Publisher and mirror are users of one installation here; every test ends with an equal mirror or without one."""
    with new_pair(shared_installation, shared_installation) as made:
        yield made


@dataclass
class Between:
    """A server between a peer and its publisher, which changes answers; real requests go through it."""

    client: HttpPeerClient
    change: Change = lambda _: None
    signs_as: PublisherKey | None = None
    cuts_at: int | None = None
    seen: list[str] = field(default_factory=list)

    is_on = True

    def check(self, url: str) -> None:
        self.client.check(url)

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes, max_bytes: int) -> PeerAnswer:
        answer = self.client.ask(method, url, headers, body, max_bytes)
        self.seen.append(url.partition("?")[0].partition("/v1/mirror")[2])
        if len(self.seen) == self.cuts_at:
            raise TransientError("the line was cut")
        if answer.signature is None:
            return answer
        content = json.loads(answer.body)
        self.change(content)
        if content == json.loads(answer.body):
            return answer
        changed = json.dumps(content).encode()
        nonce = url.partition("nonce=")[2][:32]
        signature = self.signs_as.sign(nonce, changed) if self.signs_as is not None else answer.signature
        return PeerAnswer(answer.status, changed, signature, answer.sent_bytes)


def between(pair: Pair, change: Change = lambda _: None, **named: Any) -> Peering:
    client = Between(HttpPeerClient((), ("127.0.0.1",), 60.0), change, **named)
    return Peering(plain_context(pair.here), client, pair.here.secret)


def in_records(**values: Any) -> Change:
    """Change fields of all records of an answer."""

    def change(content: dict[str, Any]) -> None:
        for record in content.get("records") or ():
            if "title" in record:
                record |= values

    return change


def in_parts(name: str, **values: Any) -> Change:
    """Change fields of all files of an answer."""

    def change(content: dict[str, Any]) -> None:
        for record in content.get("records") or ():
            for part in record.get(name) or ():
                part |= values

    return change


def test_forged_answers_change_nothing(pair: Pair) -> None:
    pair.pull()
    converse(
        pair.publisher.installation, pair.publisher.owners, f"#{GRANTED} Dave met somebody new, whom the peer lacks."
    )
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    before = mirrored(pair)
    for change in (lambda content: content.update(nodes=[]), in_records(title="Mine.")):
        for signs_as in (None, PublisherKey(Secret(SECRET + " of a forger"))):
            with pytest.raises(ProviderError, match="not signed"):
                pull(between(pair, change, signs_as=signs_as), pair.peer.peer_id)
    assert mirrored(pair) == before


def packed(dimensions: int, each: float) -> str:
    """Return the vectors of one passage in the form of an answer, with the same number in each place."""
    row = np.zeros(1, vector_type(dimensions))
    row["scale"], row["numbers"] = each, 1
    return base64.b64encode(row.tobytes()).decode()


def in_content(change: Callable[[bytes], bytes]) -> Change:
    """Change the bytes of all segments of an answer."""

    def of_answer(content: dict[str, Any]) -> None:
        for record in content.get("records") or ():
            if "title" in record:
                record["segment"] = base64.b64encode(change(base64.b64decode(record["segment"]))).decode()

    return of_answer


def in_segments(change: Callable[[SearchSegment], SearchSegment]) -> Change:
    """Change all segments of an answer."""
    return in_content(lambda content: change(SearchSegment.read(content)).content)


def in_rows(**values: float) -> Change:
    """Change columns of all passages of an answer."""

    def change(segment: SearchSegment) -> SearchSegment:
        rows = segment.rows.copy()
        for name, value in values.items():
            rows[name] = value
        return segment._replace(rows=rows)

    return in_segments(change)


def with_lexemes(count: int) -> Callable[[SearchSegment], SearchSegment]:
    """Give the passage so many lexemes."""

    def change(segment: SearchSegment) -> SearchSegment:
        rows = segment.rows[:1].copy()
        rows["lexemes"] = count
        keys, frequencies = np.arange(count, dtype=np.uint64), np.ones(count, np.uint16)
        return SearchSegment(rows, keys, frequencies, segment.names, segment.external_ids[:1])

    return change


def with_passages(count: int) -> Callable[[SearchSegment], SearchSegment]:
    """Give the segment so many passages without words."""
    rows = np.zeros(count, PASSAGE)
    rows["seq"] = np.arange(count) + 1
    none = np.zeros(0, np.uint64)
    return lambda _: SearchSegment(rows, none, none.astype(np.uint16), [None], [None] * count)


HOSTILE: dict[str, Change] = {
    "another checksum": in_parts("files", stored_sha256="0" * 64),
    "another size": in_parts("files", size_bytes=1),
    "more than a file may have": in_parts("files", size_bytes=1 << 40),
    "other bytes": in_parts("files", content="AAAA"),
    "a part outside of the file": in_parts("files", member_offsets=[1 << 20], member_text_offsets=[0]),
    "no file": in_records(files=[]),
    "a passage outside of the transcript": in_rows(byte_length=1 << 20),
    "a passage before the transcript": in_rows(byte_offset=-1),
    "a passage behind everything": in_rows(byte_offset=(1 << 63) - 1),
    "a passage without a number": in_rows(seq=0),
    "a passage of no message": in_rows(message=-1),
    "a role that is none": in_rows(role=99),
    "a voice that is none": in_rows(voice=-1),
    "an author that is none": in_rows(author=9),
    "an endless window": in_rows(window_length=math.inf),
    "a window that is no number": in_rows(window_length=math.nan),
    "a long window": in_rows(window_length=1e10),
    "fewer lexemes than none": in_rows(lexemes=-1),
    "lexemes without frequencies": in_segments(lambda one: one._replace(frequencies=one.frequencies[:0])),
    "a lexeme that is said too often": in_segments(lambda one: one._replace(frequencies=one.frequencies + 40_000)),
    "too many lexemes": in_segments(with_lexemes(20_001)),
    "too many passages": in_segments(with_passages(100_001)),
    "no passages": in_segments(with_passages(0)),
    "a long author": in_segments(lambda one: one._replace(names=[None, "a" * 301])),
    "an author with a NUL character": in_segments(lambda one: one._replace(names=[None, "a\0"])),
    "an author with half a character": in_segments(lambda one: one._replace(names=[None, "\ud800"])),
    "a message with a long id": in_segments(lambda one: one._replace(external_ids=["a" * 301])),
    "more passages than bytes": in_content(lambda content: content[:4] + b"\xff\x7f\0\0" + content[8:]),
    "another format": in_content(lambda content: b"\x02" + content[1:]),
    "the half of a segment": in_content(lambda content: content[: len(content) // 2]),
    "nested texts": in_content(lambda content: content[: content.index(b"[[")] + b"[" * 100_000),
    "a segment that is none": in_records(segment="AAAA"),
    "a segment that is a number": in_records(segment=7),
    "a segment in no base64": in_records(segment="-"),
    "languages that are none": in_records(languages=["a b"]),
    "a long vector": in_records(vectors=packed(PASSAGE_DIMENSIONS, 1.0)),
    "a short vector": in_records(vectors=packed(PASSAGE_DIMENSIONS, 0.01)),
    "an endless vector": in_records(vectors=packed(PASSAGE_DIMENSIONS, math.inf)),
    "a vector that is no number": in_records(vectors=packed(PASSAGE_DIMENSIONS, math.nan)),
    "a vector of another size": in_records(vectors=packed(PASSAGE_DIMENSIONS + 1, 0.0)),
    "vectors of other passages": in_records(vectors=2 * packed(PASSAGE_DIMENSIONS, 0.0)),
    "no vector": in_records(vectors="AAAA"),
    "a NUL character": in_records(summary="a\0b"),
    "a lone surrogate": in_records(summary="a\ud800b"),
    "an endless title": in_records(title="a" * 2_000),
    "an unknown language": in_records(language="pg_catalog.klingon"),
    "an unknown kind": in_records(content_type="weapon"),
    "a time that is none": in_records(occurred_at="soon"),
    "messages in reverse": in_records(first_message=7, last_message=3),
    "records that nobody asked for": in_records(record_id="00000000-0000-4000-8000-000000000000"),
}


@pytest.mark.parametrize("lie", HOSTILE)
def test_hostile_records_are_refused(pair: Pair, lie: str) -> None:
    """Signed by the publisher itself."""
    converse(pair.publisher.installation, pair.publisher.owners, f"#{GRANTED} Dave met {lie}.")
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    before, objects = mirrored(pair), set(pair.here.objects.keys(""))
    publisher = PublisherKey(pair.publisher.installation.secret)
    with pytest.raises(NeurigraphError) as refused:
        pull(between(pair, HOSTILE[lie], signs_as=publisher), pair.peer.peer_id)
    assert isinstance(refused.value, ProviderError), refused.value
    assert mirrored(pair) == before or before == {}
    assert set(pair.here.objects.keys("")) == objects
    pair.pull()
    pair.check_equal()


def test_hostile_listings_are_refused(pair: Pair) -> None:
    pair.pull()
    publisher = PublisherKey(pair.publisher.installation.secret)
    lies: list[Change] = [
        lambda content: content.update(nodes=content["nodes"] * 2),
        lambda content: content.update(next_node="00000000-0000-4000-8000-000000000000"),
        lambda content: content.update(nodes=[{**node, "digest": "x"} for node in content["nodes"]]),
        lambda content: content.update(nodes="all"),
        lambda content: content.update(nodes=[{**node, "kind": "persona"} for node in content["nodes"]]),
    ]
    for change in lies:
        with pytest.raises(ProviderError):
            pull(between(pair, change, signs_as=publisher), pair.peer.peer_id)
    pair.check_equal()


def test_line_is_cut_at_every_request(pair: Pair) -> None:
    for number in range(3):
        converse(pair.publisher.installation, pair.publisher.owners, f"#{GRANTED} Dave sails tour {number}.")
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    for request in range(1, 10):
        try:
            pull(between(pair, cuts_at=request), pair.peer.peer_id)
        except TransientError:
            continue
        break
    assert request > 3
    pair.check_equal()
