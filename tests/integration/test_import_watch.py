"""``import --watch``: files that appear and change, a process that is killed, and one that is stopped."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import PROGRAM, environment
from tests.support.uploads import user
from tests.support.waiting import wait_until

_CHAT = '{"external_id": "c1", "messages": [{"role": "user", "content": "Grey grout."}]}\n'


def test_watched_folder(settings: Settings, installation: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    bob = user(installation, "bob")
    (folder / "broken.json").write_text("[{")
    (folder / "chat.jsonl").write_text(_CHAT)
    (folder / "ferry.md").write_text("# Ferry\nIt leaves at nine.\n")
    (folder / ".draft.md").write_text("hidden")
    (folder / "link.md").symlink_to(folder / "ferry.md")
    with _watching(settings, folder) as first:
        wait_until(lambda: _stored(installation, bob) == (1, [1]), "both files are imported", seconds=120)
        first.kill()
    second = _watching(settings, folder)
    (folder / "chat.jsonl").write_text(_CHAT.replace("}]}", '}, {"role": "assistant", "content": "Number 12."}]}'))
    (folder / "ferry.md").write_text("# Ferry\nIt leaves at ten.\n")
    wait_until(lambda: _stored(installation, bob) == (2, [1, 2]), "the changes are imported", seconds=120)
    second.send_signal(signal.SIGTERM)
    _, notes = second.communicate(timeout=60)
    assert second.returncode == 0
    assert "not imported: " in notes
    assert "broken.json" in notes
    assert _stored(installation, bob) == (2, [1, 2])


def _watching(settings: Settings, folder: Path) -> subprocess.Popen[str]:
    given = environment(settings, NEURIGRAPH_DROP_SETTLE_SECONDS="0", NEURIGRAPH_OCR_SECONDS="0")
    return subprocess.Popen(
        [PROGRAM, "import", "--watch", str(folder), "--user", "bob"],
        env=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _stored(installation: Installation, claims: Claims) -> tuple[int, list[Any]]:
    """Return the number of messages of conversations, and the versions of documents."""
    with installation.database.owner() as tx:
        row = tx.execute(
            "SELECT (SELECT count(*) FROM neurigraph.messages AS m JOIN neurigraph.sources AS s USING (source_id) "
            "WHERE s.user_id = %(user_id)s AND s.kind = 'conversation') AS messages, "
            "ARRAY(SELECT s.version FROM neurigraph.sources AS s "
            "WHERE s.user_id = %(user_id)s AND s.kind = 'upload' ORDER BY s.version) AS versions",
            {"user_id": claims.user_id},
        ).fetchone()
    assert row is not None
    return row["messages"], row["versions"]
