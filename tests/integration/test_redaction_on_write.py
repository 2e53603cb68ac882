"""Redaction before storage: neither the database nor the files hold redacted text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from psycopg import sql

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange.portability.tables import SHARED, tables_of
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.command_line import run_cli
from tests.support.memories import ingest, new_user, plain_context, rows, schemas_of, stored

MARKS = ("marked.one@example.com", "+442079460958", "4111111111111111", "AKIA" + "IOSFODNN7EXAMPLE")
TEXT = f"Mail {MARKS[0]}, call {MARKS[1]}, pay {MARKS[2]}, use {MARKS[3]}."
LEFT = "Mail [email], call [phone], pay [card], use [key]."


@pytest.fixture
def redacting(installation: Installation) -> Iterator[Installation]:
    settings = installation.settings.changed(redact=("email", "phone", "card", "key"))
    with Installation(settings) as made:
        yield made


def everything(here: Installation, user: User) -> str:
    """All rows of all tables, as text."""
    with here.database.owner() as tx:
        names = [SHARED, *schemas_of(here, user).values()]
        tables = [table for schema in names for table in tables_of(tx, schema)]
        return "\n".join(
            row["line"]
            for table in tables
            for row in tx.execute(
                sql.SQL("SELECT row_to_json(t)::text AS line FROM {} AS t").format(table.identifier)
            ).fetchall()
        )


def test_redacted_text_is_not_stored(redacting: Installation, tmp_path: Path) -> None:
    here = redacting
    user, claims = new_user(here)
    key = issue_api_key(here.database, user.user_id)
    message = {"role": "user", "content": TEXT, "external_id": "m1", "author": MARKS[0]}
    found = {"email": 2, "phone": 1, "card": 1, "key": 1}
    with (
        serving(here) as base,
        httpx.Client(base_url=f"{base}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
    ):
        body = {
            "title": f"About {MARKS[0]}",
            "origin": f"mail of {MARKS[1]}",
            "author": MARKS[0],
            "url": f"https://example.com/?of={MARKS[0]}",
            "metadata": {MARKS[0]: MARKS[1]},
        }
        made = client.post("/conversations", json=body).json()["conversation_id"]
        path = f"/conversations/{made}/messages"
        added = client.post(path, json={"messages": [message]}).json()
        assert (added["added"], added["redacted"]) == (1, found)
        again = client.post(path, json={"messages": [message]}).json()
        assert (again["added"], again["known"], again["conflicts"], again["redacted"]) == (0, 1, [], {})
        client.post(f"/conversations/{made}/end")
        event = {"kind": "call", "title": f"With {MARKS[1]}", "messages": [{"content": TEXT}]}
        opened = client.post("/events", json=event).json()
        assert opened["messages"]["redacted"] == {"email": 1, "phone": 1, "card": 1, "key": 1}
        client.post(f"/events/{opened['event_id']}/end")
        client.post("/files", files={"file": (f"{MARKS[0]}.txt", TEXT.encode())}, data={"title": MARKS[0]})
    here.uploads.read_due(here.text_extractor)
    results = stored(ingest(plain_context(here), user))
    assert len(results) == 3
    rows_of_all = everything(here, user)
    assert LEFT in rows_of_all
    for mark in MARKS[1:]:
        assert mark not in rows_of_all, mark
    # The file's own name and bytes are kept as they came.
    assert rows_of_all.count(MARKS[0]) == rows_of_all.count(f"{MARKS[0]}.txt")
    transcripts = [
        open_file(
            here.acting_for(claims),
            file_of_record(here.database, claims, r.record_id),
            as_text=True,
        ).content.decode()
        for r in results
    ]
    assert all(LEFT in transcript for transcript in transcripts)
    assert not any(mark in transcript for mark in MARKS[1:] for transcript in transcripts)


def test_import_reports_redactions(redacting: Installation, tmp_path: Path) -> None:
    user, _ = new_user(redacting)
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"id": "c", "messages": [{"role": "user", "content": TEXT, "id": "1"}]}) + "\n")
    more = {"NEURIGRAPH_REDACT": "email,key"}
    done = run_cli(redacting.settings, "import", str(path), "--user", user.slug, "--json", more=more)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["redacted"] == {"email": 1, "key": 1}
    (kept,) = rows(redacting, "SELECT content FROM neurigraph.messages")
    assert kept["content"] == TEXT.replace(MARKS[0], "[email]").replace(MARKS[3], "[key]")
    again = run_cli(redacting.settings, "import", str(path), "--user", user.slug, "--json", more=more)
    assert (json.loads(again.stdout)["messages_known"], json.loads(again.stdout)["redacted"]) == (1, {})


def test_redacted_title_is_bounded(redacting: Installation) -> None:
    _, claims = new_user(redacting)
    with redacting.database.agent(claims) as tx:
        inbox = Inbox(redacting.context)
        title = ("a@b.co " * 80)[:MAX_TITLE_LENGTH]
        inbox.open_source(tx, claims.user_id, SourceKind.CONVERSATION, title=title)
    (row,) = rows(redacting, "SELECT title FROM neurigraph.sources")
    assert len(row["title"]) <= MAX_TITLE_LENGTH
    assert "@b.co" not in row["title"][:490]
