"""Peers whose processes are killed, that were restored from a backup, or were away for long: mirrors become equal."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from signal import SIGKILL
from threading import Timer
from uuid import UUID

import pytest

from neurigraph_pipelines.exchange.peers.peering import Peering
from neurigraph_pipelines.exchange.peers.pulling import pull
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.lifecycle.erasure.forget import finish_erasures, forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.ports import PeerAnswer
from neurigraph_pipelines.runtime.stack.backup.create import back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore
from neurigraph_pipelines.wiring.installation import Installation
from resources.peer_client import HttpPeerClient
from tests.conftest import ROOT
from tests.integration.test_backup import SILENT
from tests.integration.test_peer_offers import listing
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, plain_context, rows
from tests.support.peers import GRANTED, THIRD_PARTY, Pair, mirrored, new_pair, offered, stored_words

pytestmark = pytest.mark.slow

MARK = "thylacine"
STEP = 5
"""Each kill of a round comes so many moments later in its pull than the one before."""


@pytest.fixture
def pair(shared_installation: Installation, installation: Installation) -> Iterator[Pair]:
    with new_pair(shared_installation, installation) as made:
        yield made


def remember(pair: Pair, *texts: str) -> list[UUID]:
    """Store conversations at the publisher; return their records, oldest first."""
    here = pair.publisher.installation
    made = [converse(here, pair.publisher.owners, text) for text in texts]
    ingest(plain_context(here), pair.publisher.owner)
    return [
        row["record_id"]
        for source in made
        for row in rows(here, "SELECT record_id FROM neurigraph.record_index WHERE source_id = %s", source)
    ]


def forget_at_publisher(pair: Pair, record: UUID) -> None:
    """Forget a record at the publisher."""
    context = plain_context(pair.publisher.installation).acting_for(pair.publisher.owners)
    forget(context, ErasureSubject(SubjectKind.RECORD, record), through="tests")


def change_everything(pair: Pair, gone: UUID, changed: UUID, replaced: UUID) -> None:
    """Forget, revise, supersede and add at the publisher."""
    database, owner = pair.publisher.installation.database, pair.publisher.owners
    forget_at_publisher(pair, gone)
    context = plain_context(pair.publisher.installation).acting_for(owner)
    revise(context, changed, Revision(title="Rigging", summary="Dave learned to rig."))
    (newest, *_) = remember(pair, f"#{GRANTED} Dave sold the canoe.", f"#{GRANTED} Dave rows now.")
    supersede(database, owner, replaced, newest)


def die(pair: Pair, moment: int) -> bool:
    """Pull in a process that is killed at a moment; return whether it came to that."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.dying_pull", str(pair.peer.peer_id), str(moment)],
        cwd=ROOT,
        input=pickle.dumps(pair.here.settings),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, -SIGKILL), done.stderr.decode()
    return done.returncode != 0


@pytest.mark.parametrize("first", [1, 3])
def test_puller_is_killed_at_every_moment(pair: Pair, first: int) -> None:
    gone, changed, replaced = remember(
        pair, f"#{GRANTED} Dave saw the {MARK}.", f"#{GRANTED} Dave rigs.", f"#{GRANTED} Dave has a canoe."
    )
    grant = pair.publisher.grant("Work/Marketing", THIRD_PARTY)
    pair.pull()
    assert MARK in pair.words()
    change_everything(pair, gone, changed, replaced)
    pair.publisher.revoke(grant)
    moment, kills = first, 0
    while die(pair, moment):
        pair.check_whole()
        moment, kills = moment + STEP, kills + 1
    assert kills > 5
    pair.check_equal()
    finish_erasures(pair.here.context)  # as the hourly sweep does
    for side in (pair.words(), stored_words(pair.publisher.installation)):
        assert MARK not in side.lower()
    assert "campaign" not in pair.words()


@dataclass
class Killing:
    """A client that kills the publisher's process just before its request of a number, or while that is under way."""

    publisher: subprocess.Popen[bytes]
    at: int
    seconds: float
    is_on = True
    asked: int = 0

    def check(self, url: str) -> None:
        self._client.check(url)

    @property
    def _client(self) -> HttpPeerClient:
        return HttpPeerClient((), ("127.0.0.1",), 60.0)

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        max_bytes: int,
        into: BufferedRandom | None = None,
    ) -> PeerAnswer:
        self.asked += 1
        if self.asked == self.at and not self.seconds:
            self.publisher.kill()
            self.publisher.wait()
        elif self.asked == self.at:
            Timer(self.seconds, self.publisher.kill).start()
        return self._client.ask(method, url, headers, body, max_bytes, into)


@contextmanager
def publisher_process(pair: Pair) -> Iterator[subprocess.Popen[bytes]]:
    """Serve the publisher in a process of its own, and let the peer know the address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.dying_server"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(pickle.dumps(pair.publisher.installation.settings))
        process.stdin.close()
        pair.move_publisher(f"http://127.0.0.1:{int(process.stdout.readline())}")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_publisher_is_killed_at_every_request(pair: Pair) -> None:
    remember(pair, *(f"#{GRANTED} Dave sails tour {number}." for number in range(3)))
    failed = 0
    for request in range(1, 12):
        with publisher_process(pair) as process:
            client = Killing(process, request, seconds=0.004 * (request % 2))
            try:
                pull(Peering(plain_context(pair.here), client, pair.here.secret), pair.peer.peer_id)
            except TransientError:
                failed += 1
            pair.check_whole()
            if client.asked < request:
                break
    assert failed >= 2
    pair.move_publisher(pair.address)
    pair.pull()
    pair.check_equal()


def test_peer_restored_from_an_older_backup_becomes_equal(pair: Pair, tmp_path: Path) -> None:
    gone, changed, replaced = remember(
        pair, f"#{GRANTED} Dave saw the {MARK}.", f"#{GRANTED} Dave rigs.", f"#{GRANTED} Dave has a canoe."
    )
    pair.pull()
    folder = BackupFolder(tmp_path / "backups", None)
    back_up(pair.here, folder, None, SILENT)
    change_everything(pair, gone, changed, replaced)
    pair.pull()
    pair.check_equal()
    pair.here.close()
    restore(pair.here, folder, None, True, SILENT)
    assert MARK in pair.words(), "the backup is older than the erasure"
    assert mirrored(pair) != offered(pair)
    assert pair.pull().forgotten >= 3
    pair.check_equal()
    audit_objects(pair.here.context)
    assert MARK not in pair.words().lower()


def test_publisher_restored_from_an_older_backup_is_followed(
    installation: Installation, shared_installation: Installation, tmp_path: Path
) -> None:
    with new_pair(installation, shared_installation) as pair:
        (kept, *_) = remember(pair, f"#{GRANTED} Dave rigs.", f"#{GRANTED} Dave has a canoe.")
        pair.pull()
        folder = BackupFolder(tmp_path / "backups", None)
        back_up(installation, folder, None, SILENT)
        remember(pair, f"#{GRANTED} Dave saw the {MARK}.")
        forget_at_publisher(pair, kept)
        pair.pull()
        pair.check_equal()
        assert MARK in str(mirrored(pair))
    installation.close()
    restore(installation, folder, None, True, SILENT)
    with serving(installation) as address:
        pair.move_publisher(address)
        done = pair.pull()
        assert (done.is_known, done.forgotten, done.mirrored) == (False, 1, 1)
        pair.check_equal()
    assert MARK not in str(mirrored(pair))


def test_peer_that_was_away_for_months_becomes_equal(pair: Pair) -> None:
    gone, changed, replaced = remember(
        pair, f"#{GRANTED} Dave saw the {MARK}.", f"#{GRANTED} Dave rigs.", f"#{GRANTED} Dave has a canoe."
    )
    pair.pull()
    change_everything(pair, gone, changed, replaced)
    remember(pair, *(f"#{GRANTED} Dave sails tour {number}." for number in range(20)))
    for _ in range(21):  # another device of the third party: the publisher keeps the newest twenty horizons
        listing(pair.publisher)
    done = pair.pull()
    assert (done.is_known, done.mirrored >= 20) == (False, True)
    pair.check_equal()
    assert MARK not in pair.words().lower()
    assert pair.pull().mirrored == 0
