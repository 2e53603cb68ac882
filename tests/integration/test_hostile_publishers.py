"""Publishers that lie, servers between, and cut lines: nothing stays, and the next pull makes the mirror equal."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from io import BufferedRandom
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange.peers.peering import Peering
from neurigraph_pipelines.exchange.peers.pulling import pull
from neurigraph_pipelines.exchange.peers.signatures import PublisherKey
from neurigraph_pipelines.exchange.portability.stream import VERSION
from neurigraph_pipelines.model import PASSAGE_DIMENSIONS, RECORD_DIMENSIONS
from neurigraph_pipelines.model.errors import NeurigraphError, ProviderError, TransientError
from neurigraph_pipelines.model.ports import PeerAnswer
from neurigraph_pipelines.text.search_segments import PASSAGE, SearchSegment, vector_type
from neurigraph_pipelines.wiring.installation import Installation
from resources.peer_client import HttpPeerClient
from tests.conftest import SECRET
from tests.support.memories import converse, ingest, plain_context
from tests.support.peers import GRANTED, Pair, mirrored, new_pair
from tests.support.sent_streams import SentStream

Change = Callable[[dict[str, Any]], object]
Lie = Callable[[SentStream], object]


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
    lie: Lie | None = None
    signs_as: PublisherKey | None = None
    cuts_at: int | None = None
    seen: list[str] = field(default_factory=list)

    is_on = True

    def check(self, url: str) -> None:
        self.client.check(url)

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        max_bytes: int,
        into: BufferedRandom | None = None,
    ) -> PeerAnswer:
        answer = self.client.ask(method, url, headers, body, max_bytes, into)
        self.seen.append(url.partition("?")[0].partition("/v1/mirror")[2])
        if len(self.seen) == self.cuts_at:
            raise TransientError("the line was cut")
        if into is None:
            content = json.loads(answer.body)
            self.change(content)
            if content == json.loads(answer.body):
                return answer
            changed = json.dumps(content).encode()
        elif self.lie is None:
            return answer
        else:
            changed = self._lied(into, self.lie)
        nonce, checksum = url.partition("nonce=")[2][:32], sha256(changed).digest()
        signature = self.signs_as.sign(nonce, checksum) if self.signs_as is not None else answer.signature
        return PeerAnswer(answer.status, b"" if into else changed, checksum, signature, answer.sent_bytes)

    def _lied(self, file: BufferedRandom, lie: Lie) -> bytes:
        file.seek(0)
        sent = SentStream.read(file.read())
        lie(sent)
        changed = sent.packed()
        file.seek(0)
        file.truncate()
        file.write(changed)
        return changed


def between(pair: Pair, **named: Any) -> Peering:
    client = Between(HttpPeerClient((), ("127.0.0.1",), 60.0), **named)
    return Peering(plain_context(pair.here), client, pair.here.secret)


def in_table(name: str, **values: Any) -> Lie:
    """Change columns of all rows of a table."""
    return lambda sent: sent.update(name, values)


def in_objects(change: Callable[[bytes], bytes]) -> Lie:
    """Change the bytes of all objects, whose rows state the checksums of the new ones."""

    def of_stream(sent: SentStream) -> None:
        for row in sent.of("file_manifest"):
            name = "objects/" + row["storage_path"]
            sent.objects[name] = change(sent.objects[name])
            row["stored_bytes"] = len(sent.objects[name])
            row["stored_sha256"] = "\\x" + sha256(sent.objects[name]).hexdigest()

    return of_stream


def test_forged_answers_change_nothing(pair: Pair) -> None:
    pair.pull()
    converse(
        pair.publisher.installation, pair.publisher.owners, f"#{GRANTED} Dave met somebody new, whom the peer lacks."
    )
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    before = mirrored(pair)
    lies: list[dict[str, Any]] = [
        {"change": lambda content: content.update(nodes=[])},
        {"lie": in_table("metadata_records", title="Mine.")},
    ]
    for lie in lies:
        for signs_as in (None, PublisherKey(Secret(SECRET + " of a forger"))):
            with pytest.raises(ProviderError, match="not signed"):
                pull(between(pair, **lie, signs_as=signs_as), pair.peer.peer_id)
    assert mirrored(pair) == before


def packed(dimensions: int, each: float) -> str:
    """Return the vectors of one passage in the form of a stream, with the same number in each place."""
    row = np.zeros(1, vector_type(dimensions))
    row["scale"], row["numbers"] = each, 1
    return "\\x" + row.tobytes().hex()


def in_content(change: Callable[[bytes], bytes]) -> Lie:
    """Change the bytes of all segments of an answer."""

    def of_stream(sent: SentStream) -> None:
        for row in sent.of("segments"):
            row["content"] = "\\x" + change(bytes.fromhex(row["content"][2:])).hex()

    return of_stream


def in_segments(change: Callable[[SearchSegment], SearchSegment]) -> Lie:
    """Change all segments of an answer."""
    return in_content(lambda content: change(SearchSegment.read(content)).content)


def in_rows(**values: float) -> Lie:
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


def a_row_more(table: str, **values: Any) -> Lie:
    """Repeat the first row of a table with other values."""

    def of_stream(sent: SentStream) -> None:
        sent.of(table).append({**sent.of(table)[0], **values})

    return of_stream


def a_part(name: str, *rows: dict[str, Any]) -> Lie:
    """Add a part with rows."""
    return lambda sent: sent.rows.update({name: list(rows)})


def of_checksum(sent: SentStream) -> None:
    """State the checksum of other bytes for every file."""
    sent.stated = {name: {"sha256": "0" * 64} for name in (*sent.rows, *sent.objects)}


def of_size(size: int) -> Lie:
    """State a size for every file."""
    return lambda sent: sent.stated.update({name: {"size_bytes": size} for name in (*sent.rows, *sent.objects)})


def outside(sent: SentStream) -> None:
    """Give an object a name that leads elsewhere."""
    sent.objects["objects/durable/../../../etc/passwd"] = b"root"


def without_a(table: str) -> Lie:
    """Leave out the rows of a table."""
    return lambda sent: sent.of(table).clear()


OTHER = "00000000-0000-4000-8000-000000000000"
BOMB = gzip.compress(bytes(200 << 20), 9)
"""It unpacks to a thousand times its size."""

HOSTILE: dict[str, Lie] = {
    "the checksum of other bytes": of_checksum,
    "a file of nobody": lambda sent: sent.objects.update({"objects/durable/more": b"more"}),
    "a file that its manifest does not name": lambda sent: sent.unnamed.update({"more": b"more"}),
    "a bomb that its manifest does not name": lambda sent: sent.unnamed.update({"more": bytes(200 << 20)}),
    "a manifest without end": lambda sent: sent.manifest.update(more="a" * (2 << 20)),
    "a name that leads elsewhere": outside,
    "a file that unpacks to more than it states": in_objects(lambda _: BOMB),
    "a file that is no gzip": in_objects(lambda content: content[::-1]),
    "half a file": in_objects(lambda content: content[: len(content) // 2]),
    "a user": a_part("tables/users.jsonl", {"user_id": OTHER, "slug": "eve"}),
    "a node": a_part("tables/graph_index.jsonl", {"node_id": OTHER}),
    "rows of another node": a_part(f"nodes/{OTHER}/metadata_records.jsonl", {"record_id": OTHER}),
    "a hidden column of records": in_table("metadata_records", quarantined=True),
    "a persona that wrote a record": in_table("metadata_records", persona_id=OTHER),
    "a hidden column of sources": in_table("sources", privacy="private"),
    "a hidden column of files": in_table("file_manifest", compression_state="dormant"),
    "a hidden column of segments": in_table("segments", is_counted=False),
    "the user of a segment": in_table("segments", user_id=OTHER),
    "a record of somebody": a_row_more("metadata_records", record_id=OTHER),
    "a record twice": a_row_more("metadata_records"),
    "a source without a record": a_row_more("sources", source_id=OTHER),
    "a source of another record": in_table("metadata_records", source_id=OTHER),
    "a file of another record": a_row_more("file_manifest", record_id=OTHER),
    "a file twice": a_row_more("file_manifest"),
    "a segment of another record": in_table("segments", record_id=OTHER),
    "a segment twice": a_row_more("segments"),
    "a version of another record": in_table("mirrored_records", record_id=OTHER),
    "no version": without_a("mirrored_records"),
    "no source": without_a("sources"),
    "no row of a file": without_a("file_manifest"),
    "no object": lambda sent: sent.objects.clear(),
    "a main file that is none": in_table("metadata_records", file_pointer="durable/x"),
    "another checksum": in_table("file_manifest", stored_sha256="\\x" + "0" * 64),
    "another checksum of the content": in_table("file_manifest", content_sha256="\\x" + "0" * 64),
    "another size": in_table("file_manifest", size_bytes=1),
    "another size of the object": in_table("file_manifest", stored_bytes=1),
    "more than a file may have": in_table("file_manifest", size_bytes=1 << 40),
    "other bytes": lambda sent: sent.objects.update(dict.fromkeys(sent.objects, b"AAAA")),
    "a part outside of the file": in_table("file_manifest", member_offsets=[1 << 20], member_text_offsets=[0]),
    "parts without places": in_table("file_manifest", member_offsets=[0, 1], member_text_offsets=[0]),
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
    "a segment that is none": in_table("segments", content="\\x00"),
    "a segment that is a number": in_table("segments", content=7),
    "a segment in no bytes": in_table("segments", content="-"),
    "languages that are none": in_table("segments", languages=["a b"]),
    "a long vector": in_table("segments", vectors=packed(PASSAGE_DIMENSIONS, 1.0)),
    "a short vector": in_table("segments", vectors=packed(PASSAGE_DIMENSIONS, 0.01)),
    "an endless vector": in_table("segments", vectors=packed(PASSAGE_DIMENSIONS, math.inf)),
    "a vector that is no number": in_table("segments", vectors=packed(PASSAGE_DIMENSIONS, math.nan)),
    "a vector of another size": in_table("segments", vectors=packed(PASSAGE_DIMENSIONS + 1, 0.0)),
    "vectors of other passages": in_table(
        "segments", vectors=packed(PASSAGE_DIMENSIONS, 0.0) + packed(PASSAGE_DIMENSIONS, 0.0)[2:]
    ),
    "no vector": in_table("segments", vectors="\\x00"),
    "a record's vector of another size": in_table("metadata_records", embedding="[1]"),
    "a record's long vector": in_table("metadata_records", embedding=json.dumps([1] * RECORD_DIMENSIONS)),
    "a record's endless vector": in_table("metadata_records", embedding="[" + "1e999," * 1_535 + "0]"),
    "a record's vector that is none": in_table("metadata_records", embedding="[" * 100_000),
    "a NUL character": in_table("metadata_records", summary="a\0b"),
    "a lone surrogate": in_table("metadata_records", summary="a\ud800b"),
    "an endless title": in_table("metadata_records", title="a" * 2_000),
    "an unknown language": in_table("metadata_records", language="pg_catalog.klingon"),
    "an unknown kind": in_table("metadata_records", content_type="weapon"),
    "a time that is none": in_table("metadata_records", occurred_at="soon"),
    "messages in reverse": in_table("metadata_records", first_message=7, last_message=3),
    "records that nobody asked for": in_table("metadata_records", record_id=OTHER),
}


@pytest.mark.parametrize("lie", HOSTILE)
def test_hostile_records_are_refused(pair: Pair, lie: str) -> None:
    """Signed by the publisher itself."""
    converse(pair.publisher.installation, pair.publisher.owners, f"#{GRANTED} Dave met {lie}.")
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    before, objects = mirrored(pair), set(pair.here.objects.keys(""))
    publisher = PublisherKey(pair.publisher.installation.secret)
    with pytest.raises(NeurigraphError) as refused:
        pull(between(pair, lie=HOSTILE[lie], signs_as=publisher), pair.peer.peer_id)
    assert isinstance(refused.value, ProviderError), refused.value
    assert mirrored(pair) == before or before == {}
    assert set(pair.here.objects.keys("")) == objects
    pair.pull()
    pair.check_equal()


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (lambda sent: sent.unnamed.update({f"{number:06}": b"" for number in range(30_000)}), "too many files"),
        (lambda sent: sent.unnamed.update({f"{number:06}": b"" for number in range(70_000)}), "too many files"),
        (of_size(1 << 40), "unpack to more than"),
    ],
    ids=["a long listing", "a listing of Zip64", "much to unpack"],
)
def test_memory_and_time_of_an_archive_are_bounded_before_it_is_read(pair: Pair, lie: Lie, said: str) -> None:
    converse(pair.publisher.installation, pair.publisher.owners, f"#{GRANTED} Dave lists {uuid4()}.")
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    publisher = PublisherKey(pair.publisher.installation.secret)
    with pytest.raises(ProviderError, match=said):
        pull(between(pair, lie=lie, signs_as=publisher), pair.peer.peer_id)
    pair.pull()
    pair.check_equal()


def test_another_version_is_one_clear_error(pair: Pair) -> None:
    converse(pair.publisher.installation, pair.publisher.owners, f"#{GRANTED} Dave has a sextant.")
    ingest(plain_context(pair.publisher.installation), pair.publisher.owner)
    publisher = PublisherKey(pair.publisher.installation.secret)
    other = between(pair, lie=lambda sent: sent.manifest.update(version=VERSION + 1), signs_as=publisher)
    with pytest.raises(ProviderError, match="run one version of Neurigraph on both sides"):
        pull(other, pair.peer.peer_id)
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
            pull(between(pair, change=change, signs_as=publisher), pair.peer.peer_id)
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
