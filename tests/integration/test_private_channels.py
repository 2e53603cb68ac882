"""Channels decide who sees a source at first: direct messages and private channels are the owner's alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange.sharing import Subject, add_node, grant
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.notes import IncomingNote, OnConflict, write_note
from neurigraph_pipelines.model import Claims, NodeType, Privacy, SourceKind, SubjectType
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.kinds import Channel
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.command_line import run_cli
from tests.support.memories import ingest, new_user, plain_context, rows

STATES: list[tuple[dict[str, str], str]] = [
    ({}, "shared"),
    ({"channel": "public"}, "shared"),
    ({"channel": "dm"}, "private"),
    ({"channel": "private"}, "private"),
    ({"channel": "dm", "privacy": "shared"}, "shared"),
    ({"channel": "private", "privacy": "shared"}, "shared"),
    ({"channel": "public", "privacy": "private"}, "private"),
    ({"privacy": "private"}, "private"),
]
"""What a writer states, and the privacy that the source starts with."""


def privacies(here: Installation, user_id: UUID, kind: str) -> list[str]:
    """Return the privacy of a user's sources of one kind, those handed in first first."""
    query = "SELECT privacy FROM neurigraph.sources WHERE user_id = %s AND kind = %s ORDER BY started_at, external_id"
    return [row["privacy"] for row in rows(here, query, user_id, kind)]


def test_channel_decides_over_http(installation: Installation) -> None:
    user, _ = new_user(installation)
    key = issue_api_key(installation.database, user.user_id)
    with serving(installation) as base, httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        for number, (stated, _) in enumerate(STATES):
            at = {"started_at": f"2024-01-{number + 1:02}T00:00:00Z", **stated}
            call = {"kind": "call", "title": f"{number}", **at}
            note = {"content": f"The boat has {number} oars.", "title": f"{number}", **stated}
            for path, body in (("conversations", at), ("events", call), ("notes", note)):
                answer = client.post(f"{base}/v1/{path}", json=body)
                assert answer.status_code in (201, 202), answer.text
            form = {"occurred_at": at["started_at"], **stated}
            file = ("a.txt", f"The boat has {number} sails.".encode())
            assert client.post(f"{base}/v1/files", files={"file": file}, data=form).status_code == 202
    for kind in ("conversation", "event", "note", "upload"):
        assert privacies(installation, user.user_id, kind) == [privacy for _, privacy in STATES], kind


def test_channel_decides_in_imports_and_commands(installation: Installation, tmp_path: Path) -> None:
    user, _ = new_user(installation)

    def run(*words: str) -> None:
        done = run_cli(installation.settings, *words, "--user", user.slug)
        assert done.returncode == 0, done.stderr

    lines = tmp_path / "talks.jsonl"
    said = [{"role": "user", "content": "The lamp is lit.", "occurred_at": "2024-02-01T00:00:00Z"}]
    channels = [None, "public", "dm", "private"]
    talks = [
        {"external_id": f"t-{number}", "messages": said, **({"channel": channel} if channel else {})}
        for number, channel in enumerate(channels)
    ]
    lines.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    run("import", str(lines))
    assert privacies(installation, user.user_id, "conversation") == ["shared", "shared", "private", "private"]
    lines.write_text("".join(json.dumps({**talk, "external_id": f"u-{talk['external_id']}"}) + "\n" for talk in talks))
    run("import", str(lines), "--shared")
    assert privacies(installation, user.user_id, "conversation")[4:] == ["shared"] * 4
    for number, options in enumerate((["--channel", "dm"], ["--channel", "dm", "--shared"], ["--private"], [])):
        run("note", f"The lamp has {number} wicks.", "--title", f"{number}", *options)
        document = tmp_path / f"{number}.md"
        document.write_text(f"# Lamp {number}\nIt is lit.\n")
        run("import", str(document), "--format", "document", *options)
    for kind in ("note", "upload"):
        assert privacies(installation, user.user_id, kind) == ["private", "shared", "private", "shared"], kind


def test_existing_sources_keep_their_privacy(shared_installation: Installation) -> None:
    """A repetition and a next version decide nothing that the owner decided before, except that a DM is private."""
    here = shared_installation
    user, owner = new_user(here)

    def open_source(name: str | None, **values: Any) -> tuple[UUID, str]:
        with here.database.agent(owner) as tx:
            source, _ = Inbox(here.context).open_source(
                tx, user.user_id, SourceKind.CONVERSATION, external_id=name, **values
            )
            row = tx.execute("SELECT privacy FROM neurigraph.sources WHERE source_id = %s", [source]).fetchone()
        assert row is not None
        return source, row["privacy"]

    talk, privacy = open_source("talk")
    assert privacy == "shared"
    assert open_source("talk", details=SourceDetails(channel=Channel.DM)) == (talk, "shared")
    version, privacy = open_source(None, details=SourceDetails(channel=Channel.DM, replaces=talk))
    assert privacy == "private"
    assert open_source(None, details=SourceDetails(replaces=version), privacy=Privacy.SHARED)[1] == "private"
    kept = write_note(here.acting_for(owner), IncomingNote("The gate is green.", title="Gate", path="Garden"))
    message = IncomingNote(
        "The gate is red.", "Gate", "Garden", on_conflict=OnConflict.VERSION, details=SourceDetails(channel=Channel.DM)
    )
    with pytest.raises(ConflictError, match="is shared"):
        write_note(here.acting_for(owner), message)
    assert privacies(here, user.user_id, "note") == ["shared"]
    assert kept.created


def test_channel_of_a_persona_hides_nothing(shared_installation: Installation) -> None:
    """Only the owner makes something private, so the channel that a persona states hides nothing from anybody."""
    here = shared_installation
    user, owner = new_user(here)
    persona = add_node(here.database, owner, user.root_node_id, "Aide", node_type=NodeType.PERSONA, writes=True)
    writer = Claims(str(persona), "persona", user.user_id)
    details = SourceDetails(channel=Channel.DM)
    for claims in (writer, owner):
        with here.database.agent(claims) as tx:
            Inbox(here.context).open_source(tx, user.user_id, SourceKind.CONVERSATION, details=details)
        write_note(here.acting_for(claims), IncomingNote(f"The boat is {claims.role}.", details=details))
    for kind in ("conversation", "note"):
        assert privacies(here, user.user_id, kind) == ["shared", "private"], kind


def test_direct_message_is_found_by_its_owner_alone(shared_installation: Installation) -> None:
    here = shared_installation
    user, owner = new_user(here)
    friend = Claims("friend", SubjectType.THIRD_PARTY.value, user.user_id)
    context = here.acting_for(owner)
    note = IncomingNote("The zanzibar is moored.", path="Harbour")
    write_note(context, note)
    write_note(context, IncomingNote("The zanzibar leaks.", path="Harbour", details=SourceDetails(channel=Channel.DM)))
    ingest(plain_context(here), user)
    (node,) = rows(
        here, "SELECT node_id FROM neurigraph.graph_index WHERE node_name = 'Harbour' AND user_id = %s", user.user_id
    )
    grant(here.database, owner, Subject(SubjectType.THIRD_PARTY, "friend"), node["node_id"])
    for claims, seen in ((owner, 2), (friend, 1)):
        answer = search(plain_context(here).acting_for(claims), Question("zanzibar"))
        assert len(answer.hits) == seen, claims.role
