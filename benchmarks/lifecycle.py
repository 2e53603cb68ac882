"""Cost of file states: opening, reading one message, sweeping many files, and the space that compression saves."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4, uuid5

from psycopg import sql

from benchmarks.bench import PROJECT_ROOT, Bench, SkippedError
from benchmarks.chat import conversation
from benchmarks.report import Section, number, spread, table
from benchmarks.rows import provision, store_record
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.inbox.stored_files import StoredFile, write_transcript
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.passage_words import columns_of
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant, sweep_expired
from neurigraph_pipelines.lifecycle.object_keys import active_key, durable_key
from neurigraph_pipelines.lifecycle.storage_report import StorageTotals, storage_report
from neurigraph_pipelines.lifecycle.stored_bytes import durable_content
from neurigraph_pipelines.lifecycle.transitions import locate, manifest_of
from neurigraph_pipelines.model import Claims, Message, Segment, SegmentRef, SourceKind, TriggerType, Voice
from neurigraph_pipelines.retrieval.open import open_file, open_message, text_at
from neurigraph_pipelines.text.search_segments import SearchSegment, Spoken, Words
from neurigraph_pipelines.text.transcript import Passage, transcript_writer
from neurigraph_pipelines.wiring.installation import Installation

DATA = PROJECT_ROOT.parent / "shared" / "data"
FORMATS = {"locomo": "locomo", "qmsum": "qmsum"}
TRANSCRIPT_MEGABYTES = (0.25, 2, 32)
QUICK_MEGABYTES = (0.05, 0.2)
SWEPT_FILES = 100_000
QUICK_FILES = 300
FILES_OF_NODE = 5_000
REPEATS = 7

_COMMIT = statements("commit")
_METHOD = """Transcripts of synthetic conversations in the local object store are opened repeatedly, alternating with
two baselines on the same bytes: `gzip -d` of the compressed object as a separate process, and a plain copy of the
uncompressed text with `fsync`. *Rehydration* is `open` on a dormant file: the lease, the object's checksum, the
durable working copy, the log entry, and reading the copy back. *One message* is read from the compressed object by its
byte range. *Whole object* and *its range* are those two without the database: read, checked and decompressed. Then a
dormancy sweep of many small files, against deleting as many files one by one; and the space that the real
conversations and meetings of the data folder use when active and when dormant."""


def run(bench: Bench) -> Section:
    """Measure opening and sweeping in one installation, saved space in another."""
    if not DATA.is_dir():
        raise SkippedError(f"there is no data in {DATA}")
    with bench.installation() as installation:
        opening = _opening(bench, installation)
        sweeping = _sweeping(bench, installation)
    with bench.installation() as installation:
        saving = _saving(bench, installation)
    return Section("Lifecycle of a file", _METHOD, f"{opening}\n\n{sweeping}\n\n{saving}")


# Opening


def _opening(bench: Bench, installation: Installation) -> str:
    user, _ = create_user(installation.database, "openers")
    claims = Claims.of_user(user.user_id)
    rows = []
    for megabytes in QUICK_MEGABYTES if bench.quick else TRANSCRIPT_MEGABYTES:
        bench.say(f"a transcript of {megabytes} MB")
        stored = _store(installation, user, int(megabytes * 1_000_000))
        seconds = _open_in_turns(installation, claims, stored, bench.folder, 3 if bench.quick else REPEATS)
        size = stored.file.size_bytes / 1_000_000
        rehydrated, active, message, unpacked, copied, object_read, range_read = seconds
        rows.append(
            [
                number(size),
                number(stored.file.durable.size_bytes / 1_000_000),
                *(spread([size / taken for taken in each]) for each in (rehydrated, unpacked, copied)),
                *(spread([taken * 1_000 for taken in each]) for each in (rehydrated, active, message)),
                number(statistics.median(rehydrated) / statistics.median(message)),
                *(spread([taken * 1_000 for taken in each]) for each in (object_read, range_read)),
                number(statistics.median(object_read) / statistics.median(range_read)),
            ]
        )
    header = (
        *("text MB", "gzip MB", "rehydration MB/s", "`gzip -d` MB/s", "copy MB/s", "open dormant ms", "open active ms"),
        *("one message ms", "dormant ÷ message", "whole object ms", "its range ms", "object ÷ range"),
    )
    return table(header, rows)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A transcript with its rows, and the number and byte range of a message in its middle."""

    file_id: UUID
    file: StoredFile
    message: int
    byte_offset: int
    byte_length: int


def _open_in_turns(
    installation: Installation, claims: Claims, stored: _Stored, folder: Path, repeats: int
) -> list[list[float]]:
    """Return seconds for: open dormant, open active, one message, `gzip -d`, copy, whole object, a range of it."""
    database, objects, context = installation.database, installation.objects, installation.acting_for(claims)
    target, plain = folder / "unpacked", folder / "plain"
    plain.write_bytes(b"".join(objects.get(active_key(stored.file.durable.key))))
    with database.agent(claims) as tx:
        manifest = manifest_of(tx, locate(tx, stored.file_id))
    packed = installation.home / "objects" / stored.file.durable.key

    def whole() -> None:
        for _ in open_file(context, stored.file_id).chunks():
            pass

    def unpack() -> None:
        with packed.open("rb") as source, target.open("wb") as unpacked:
            subprocess.run(["gzip", "-d", "-c"], stdin=source, stdout=unpacked, check=True)

    def copy() -> None:
        shutil.copyfile(plain, target)
        with target.open("rb+") as written:
            os.fsync(written.fileno())

    works: Sequence[tuple[Callable[[], object], Callable[[], object]]] = (
        (partial(control.compress, context, stored.file_id), whole),
        (lambda: None, whole),
        (lambda: None, partial(open_message, context, stored.file_id, stored.message)),
        (lambda: None, unpack),
        (lambda: None, copy),
        (lambda: None, partial(durable_content, objects, manifest)),
        (lambda: None, partial(text_at, objects, manifest, stored.byte_offset, stored.byte_length)),
    )
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(repeats + 1):
        for taken, (prepare, work) in zip(seconds, works, strict=True):
            prepare()
            started = time.perf_counter()
            work()
            taken.append(time.perf_counter() - started)
    return [taken[1:] for taken in seconds]


def _store(installation: Installation, user: User, size_bytes: int) -> _Stored:
    """Store a transcript of at least ``size_bytes`` on its own node, with its rows but without vectors."""
    node = provision(installation, user, f"Transcript of {size_bytes}")
    record_id, part = uuid4(), _segment(user, size_bytes)
    writer = transcript_writer(installation.context)
    file = write_transcript(installation.objects, writer, part, durable_key(user.slug, node.names, record_id, uuid4()))
    passages = list(writer.passages(part))
    columns = columns_of(SearchSegment.of([_spoken(passage) for passage in passages]), (), "english")
    place = {"record_id": record_id, "user_id": user.user_id, "node_id": node.node_id}
    schema = sql.Identifier(node.schema_name)
    with installation.database.pipeline() as tx:
        store_record(tx, user, schema, record_id, file.durable.key)
        tx.execute(_COMMIT["insert_file"].format(schema=schema), _file(record_id, record_id, file))
        tx.execute(_COMMIT["insert_segment"], {**place, **columns, "vectors": None, "model": None})
    middle = next(each for each in passages if each.message.seq == len(part.messages) // 2)
    return _Stored(record_id, file, middle.message.seq, middle.byte_offset, middle.byte_length)


def _spoken(passage: Passage) -> Spoken:
    """Return a passage without its words, which no reader of a file needs."""
    said = passage.message
    return Spoken(
        *(passage.seq, said.seq, said.author, None, None, said.role, Voice.OWNER, Words((), (), 0), 0, 0.0),
        *(passage.byte_offset, passage.byte_length),
    )


def _segment(user: User, size_bytes: int) -> Segment:
    """Return synthetic messages of at least ``size_bytes`` as one segment."""
    messages: list[Message] = []
    written, chapter = 0, 0
    while written < size_bytes:
        for said in conversation(chapter).messages:
            message = Message(len(messages) + 1, said.role, said.content, 1, said.occurred_at or datetime.now(UTC))
            messages.append(message)
            written += len(said.content.encode()) + 120  # the rest of its JSON line
        chapter += 1
    ref = SegmentRef(
        *(uuid4(), user.user_id, user.slug, SourceKind.CONVERSATION, uuid4(), None, None),
        *(TriggerType.CONVERSATION_END, 1, len(messages), len(messages), 1),
    )
    return Segment(ref, tuple(messages))


def _file(record_id: UUID, file_id: UUID, file: StoredFile) -> dict[str, object]:
    """Return the columns of a newly stored file."""
    return {
        "file_id": file_id,
        "record_id": record_id,
        "file_name": "transcript.jsonl",
        "file_type": file.file_type,
        "storage_path": file.durable.key,
        "compression_state": "active",
        "compression_format": file.compression,
        "size_bytes": file.size_bytes,
        "stored_bytes": file.durable.size_bytes,
        "stored_sha256": bytes.fromhex(file.durable.sha256),
        "content_sha256": file.content_sha256,
        "member_offsets": file.layout.member_offsets,
        "member_text_offsets": file.layout.member_text_offsets,
    }


# Sweeping


def _sweeping(bench: Bench, installation: Installation) -> str:
    database, context = installation.database, installation.context
    user, _ = create_user(database, "sleepers")
    count = QUICK_FILES if bench.quick else SWEPT_FILES
    bench.say(f"writing {count:,} files")
    folder = installation.home / "objects"
    for first in range(0, count, FILES_OF_NODE):
        _fill(installation, user, folder, min(FILES_OF_NODE, count - first))
    removed = bench.folder / "removed"
    _scatter(removed, count)
    with database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.graph_index SET record_count = 1, last_accessed_at = now() - interval '1 year'")
    bench.say("sweeping")
    started = time.perf_counter()
    report = sweep_dormant(context, limit=count + 1, user_id=user.user_id)
    swept = time.perf_counter() - started
    assert (report.files, report.failures) == (count, {})
    started = time.perf_counter()
    for path in removed.iterdir():
        path.unlink()
    plainly = time.perf_counter() - started
    idle = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        assert sweep_dormant(context).files == 0
        assert sweep_expired(context).files == 0
        idle.append(time.perf_counter() - started)
    return table(
        (
            "files swept",
            "seconds",
            "files/s",
            "removing as many files, files/s",
            "removing ÷ sweep",
            "both sweeps, idle, ms",
        ),
        [
            [
                f"{count:,}",
                number(swept),
                number(count / swept),
                number(count / plainly),
                number(swept / plainly),
                spread([taken * 1_000 for taken in idle]),
            ]
        ],
    )


def _fill(installation: Installation, user: User, folder: Path, count: int) -> None:
    """Create a node with small active files that nobody has opened for a year, written directly."""
    node = provision(installation, user, f"Files {uuid4().hex}")
    record_id, part = uuid4(), _segment(user, 1)
    writer = transcript_writer(installation.context)
    first = durable_key(user.slug, node.names, record_id, uuid4())
    file = write_transcript(installation.objects, writer, part, first)
    schema = sql.Identifier(node.schema_name)
    stored = (folder / first).read_bytes()
    text = (folder / active_key(first)).read_bytes()
    rows = [_file(record_id, uuid5(record_id, "first"), file)]
    for number_of_file in range(1, count):
        key = durable_key(user.slug, node.names, record_id, uuid5(record_id, str(number_of_file)))
        (folder / key).write_bytes(stored)
        (folder / active_key(key)).write_bytes(text)
        rows.append({**rows[0], "file_id": uuid5(record_id, str(number_of_file)), "storage_path": key})
    with installation.database.pipeline() as tx:
        store_record(tx, user, schema, record_id, first)
        with tx.cursor() as cursor:
            cursor.executemany(_COMMIT["insert_file"].format(schema=schema), rows)
        tx.execute(sql.SQL("UPDATE {}.file_manifest SET last_accessed_at = now() - interval '1 year'").format(schema))


def _scatter(folder: Path, count: int) -> None:
    folder.mkdir()
    for number_of_file in range(count):
        (folder / str(number_of_file)).write_bytes(b"x" * 3_000)


# Saving


def _saving(bench: Bench, installation: Installation) -> str:
    rows = []
    # Search is not measured here, and embedding every message takes minutes.
    settings = installation.settings.changed(passages=False)
    for folder, format_name in FORMATS.items():
        user, _ = create_user(installation.database, folder)
        claims = Claims.of_user(user.user_id)
        bench.say(f"storing {folder}")
        for path in sorted(p for p in (DATA / folder).glob("*.json") if "." not in p.stem)[
            : 1 if bench.quick else None
        ]:
            import_file(installation.acting_for(claims).using(settings=settings), path, format_name)
        for result in run_due(installation.context.using(settings=settings), "benchmark", user.user_id):
            assert not result.returned, result.returned
        awake = _totals(installation, user)
        with installation.database.pipeline() as tx:
            found = tx.execute("SELECT file_id FROM neurigraph.file_index WHERE user_id = %s", [user.user_id])
            files = [row["file_id"] for row in found]
        for file_id in files:
            control.compress(installation.acting_for(claims), file_id)
        asleep = _totals(installation, user)
        rows.append(
            [
                f"`{folder}`",
                f"{asleep.files:,}",
                number(asleep.content_bytes / 1_000),
                number(awake.active_bytes / 1_000),
                number(asleep.dormant_bytes / 1_000),
                f"{100 * asleep.saved_bytes / asleep.content_bytes:.0f} %",
            ]
        )
    return table(
        ("data", "files", "contents kB", "active, stored kB", "dormant, stored kB", "saved when dormant"), rows
    )


def _totals(installation: Installation, user: User) -> StorageTotals:
    (report,) = storage_report(installation.database, user_id=user.user_id)
    return report.totals
