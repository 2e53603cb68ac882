"""The clock of a speaker: relative days count from the day on which they spoke, wherever they were."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from neurigraph_pipelines.access.accounts import change_account
from neurigraph_pipelines.access.authentication import authenticate
from neurigraph_pipelines.exchange.organizations import membership
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.inbox.imports import detect_format, read_conversations
from neurigraph_pipelines.inbox.imports.zones import in_zone, with_zone, zone_named
from neurigraph_pipelines.model import Claims, ImportedConversation
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import NO_DETAILS
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_uploads_http import key_of
from tests.support.api_server import serving
from tests.support.memories import ingest

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def write(folder: Path, *said: tuple[str, str]) -> Path:
    path = folder / "said.jsonl"
    lines = [
        {"external_id": f"c{number}", "messages": [{"role": "user", "content": text, "occurred_at": time}]}
        for number, (text, time) in enumerate(said)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def answer(context: Context, question: str) -> str:
    return ask(context, Question(question), asked_at=NOW).answer


def test_yesterday_counts_from_the_day_of_the_speaker(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path
) -> None:
    user, claims = bob
    context = here.acting_for(claims)
    path = write(
        tmp_path,
        ("Yesterday I bought a green lamp.", "2025-03-01T00:30:00+09:00"),
        ("Yesterday I sold my red kayak.", "2025-06-30T23:30:00-07:00"),
    )
    import_file(context, path, "jsonl")
    lamp, kayak = (answer(context, f"When did I {what}?") for what in ("buy the green lamp", "sell my red kayak"))
    assert "1 March 2025: Yesterday (28 February 2025) I bought" in lamp
    assert "30 June 2025: Yesterday (29 June 2025) I sold" in kayak
    ingest(here.context, user)
    assert answer(context, "When did I buy the green lamp?") == lamp
    assert answer(context, "When did I sell my red kayak?") == kayak


@pytest.mark.parametrize(
    ("zone", "day"), [("Europe/Berlin", "30 June 2025"), (None, "29 June 2025"), ("America/New_York", "29 June 2025")]
)
def test_time_zone_of_an_import(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path, zone: str | None, day: str
) -> None:
    context = here.acting_for(bob[1])
    path = write(tmp_path, ("Yesterday I sold my red kayak.", "2025-06-30T22:30:00Z"))
    import_file(context, path, "jsonl", details=with_zone(NO_DETAILS, zone))
    assert f"Yesterday ({day})" in answer(context, "When did I sell my red kayak?")
    again = import_file(context, path, "jsonl", details=with_zone(NO_DETAILS, zone))
    assert (again.messages_added, again.messages_known) == (0, 1)


def test_time_zone_of_a_user_and_of_an_organization(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path
) -> None:
    context = here.acting_for(bob[1])
    change_account(here.database, bob[1], {"metadata": {"time_zone": "Europe/Berlin"}})
    path = write(tmp_path, ("Yesterday I sold my red kayak.", "2025-06-30T22:30:00Z"))
    import_file(context, path, "jsonl")
    assert "Yesterday (30 June 2025)" in answer(context, "When did I sell my red kayak?")
    lamp = write(tmp_path, ("Yesterday I bought a lamp.", "2025-06-30T22:30:00Z"))
    import_file(context, lamp, "jsonl", details=with_zone(NO_DETAILS, "America/New_York"))
    assert "Yesterday (29 June 2025)" in answer(context, "When did I buy the lamp?"), "the import's own comes first"
    change_account(here.database, bob[1], {"metadata": {"time_zone": "Berlin"}})
    with pytest.raises(InvalidInputError, match="time zone 'Berlin' is unknown"):
        import_file(context, path, "jsonl")

    _, key = membership.create(here.database, bob[1], f"club-{bob[0].slug}", "Club", {"time_zone": "Europe/Berlin"})
    club = here.acting_for(authenticate(here.database, key))
    path = write(tmp_path, ("Mona sold the red kayak yesterday.", "2025-06-30T22:30:00Z"))
    import_file(club, path, "jsonl")
    assert "yesterday (30 June 2025)" in answer(club, "When did Mona sell the red kayak?")


@pytest.mark.parametrize(
    ("name", "content", "said_at"),
    [
        ("chat.txt", "24/12/2023, 23:05 - Ann: Hello.\n24/12/2023, 23:06 - Bo: Yes.", "2023-12-24T23:05:00+01:00"),
        (
            "result.json",
            '{"name": "Ann", "type": "personal_chat", "id": 7, "messages": [{"id": 2, "type": "message", '
            '"from": "Ann", "date": "2024-05-21T02:30:00", "date_unixtime": "1716251400", "text": "Hello."}]}',
            "2024-05-21T02:30:00+02:00",
        ),
        (
            "mail.eml",
            "From: Ann <ann@example.org>\nSubject: Boat\nDate: Wed, 1 May 2024 00:10:00 +0900\n"
            "Message-ID: <m@example.org>\n\nHello.\n",
            "2024-05-01T00:10:00+09:00",
        ),
    ],
)
def test_clock_of_a_format(tmp_path: Path, name: str, content: str, said_at: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    chosen = detect_format(path)
    zone = zone_named("Europe/Berlin") if chosen == "whatsapp" else zone_named("UTC")
    items = in_zone(read_conversations(path, chosen), chosen, zone)
    (first, *_) = [message for item in items if isinstance(item, ImportedConversation) for message in item.messages]
    assert first.occurred_at is not None
    assert first.occurred_at.isoformat() == said_at


def test_clocks_over_http(here: Installation, tmp_path: Path) -> None:
    content = write(tmp_path, ("Yesterday I sold my red kayak.", "2025-06-30T22:30:00Z")).read_bytes()
    with serving(here) as address, httpx.Client(base_url=address, timeout=60.0) as client:
        headers = key_of(client, "zoe-of-clocks")

        def send(zone: str) -> int:
            files = {"file": ("said.jsonl", content)}
            return client.post("/v1/files", headers=headers, files=files, data={"time_zone": zone}).status_code

        def told(query: str) -> str:
            return str(client.post("/v1/ask", headers=headers, json={"query": query}).json()["answer"])

        assert (send("Nowhere/At-All"), send("Europe/Berlin")) == (422, 202)
        here.uploads.read_due(here.text_extractor)
        assert "Yesterday (30 June 2025)" in told("When did I sell my red kayak?")
        begun = client.post("/v1/conversations", headers=headers, json={"external_id": "lamp"}).json()
        said = {
            "role": "user",
            "content": "Yesterday I bought a green lamp.",
            "occurred_at": "2025-03-01T00:30:00+09:00",
        }
        said["occurred_at"] = "2025-03-01T00:30:00+09:00"
        path = f"/v1/conversations/{begun['conversation_id']}/messages"
        assert client.post(path, headers=headers, json={"messages": [said]}).json()["added"] == 1
        assert "Yesterday (28 February 2025)" in told("When did I buy the green lamp?")
