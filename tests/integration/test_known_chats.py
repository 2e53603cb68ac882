"""Chats without ids: an export that has grown, or that proves another order of dates, adds and corrects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.inbox.imports.date_order import DateOrder
from neurigraph_pipelines.inbox.imports.zones import with_zone
from neurigraph_pipelines.model import Claims, ImportReport
from neurigraph_pipelines.model.sources import NO_DETAILS
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows

Add = Callable[..., ImportReport]

AMERICAN = ("[1/2/24, 9:00:00 AM] Mona: Happy new year", "[1/3/24, 9:00:00 AM] Theo: Thanks")
PADDED = ("01/02/24, 09:00 - Mona: Happy new year", "01/03/24, 09:00 - Theo: Thanks", "01/03/24, 09:01 - Mona: Bye")


def kept(here: Installation, user: User) -> list[tuple[str, str]]:
    """Day and words of the messages of the newest versions."""
    found = rows(
        here,
        """SELECT m.occurred_at::date::text AS day, m.content FROM neurigraph.sources AS s
        INNER JOIN neurigraph.messages AS m USING (source_id)
        WHERE s.user_id = %s AND NOT EXISTS (SELECT FROM neurigraph.sources AS n WHERE n.replaces = s.source_id)
        ORDER BY m.occurred_at, m.seq""",
        user.user_id,
    )
    return [(row["day"], row["content"]) for row in found]


@pytest.fixture
def add(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> Add:
    def add(name: str, lines: Sequence[str], dates: str | None = None, zone: str | None = None) -> ImportReport:
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        order = DateOrder(dates) if dates else None
        return import_file(
            here.acting_for(bob[1]), path, "whatsapp", date_order=order, details=with_zone(NO_DETAILS, zone)
        )

    return add


def test_grown_chat_adds_what_is_new(here: Installation, bob: tuple[User, Claims], add: Add) -> None:
    first = add("_chat", AMERICAN)
    assert (first.conversations_added, first.messages_added) == (2, 2)
    assert ["assumed" in note for note in first.notes] == [True]
    grown = add("WhatsApp Chat with Mona", [*AMERICAN, "[1/25/24, 9:00:00 AM] Zoe: The kiln arrived."])
    assert (grown.conversations_added, grown.messages_added, grown.messages_known) == (1, 1, 2)
    later = add("_chat (1)", ["[1/25/24, 9:00:00 AM] Zoe: The kiln arrived.", "[1/25/24, 9:05:00 AM] Mona: Good."])
    assert (later.conversations_added, later.messages_added, later.messages_known) == (0, 1, 1)
    assert kept(here, bob[0]) == [
        ("2024-01-02", "Happy new year"),
        ("2024-01-03", "Thanks"),
        ("2024-01-25", "The kiln arrived."),
        ("2024-01-25", "Good."),
    ]


@pytest.mark.parametrize("dates", [None, "mdy"])
def test_proven_order_of_dates_corrects_and_adds(
    dates: str | None,
    here: Installation,
    bob: tuple[User, Claims],
    add: Add,
) -> None:
    add("_chat", PADDED)
    assert [day for day, _ in kept(here, bob[0])] == ["2024-02-01", "2024-03-01", "2024-03-01"]
    new = [] if dates else ["01/25/24, 09:00 - Zoe: The kiln arrived."]
    corrected = add("_chat", [*PADDED, *new], dates)
    assert (corrected.conversations_added, corrected.messages_added, corrected.messages_known) == (
        len(new),
        len(new),
        3,
    )
    assert "conversations whose dates were corrected: 2" in corrected.notes
    expected = [("2024-01-02", "Happy new year"), ("2024-01-03", "Thanks"), ("2024-01-03", "Bye")]
    expected += [("2024-01-25", "The kiln arrived.")] if new else []
    assert kept(here, bob[0]) == expected
    again = add("_chat", [*PADDED, "01/04/24, 09:00 - Mona: Rain"])
    assert (again.messages_added, again.messages_known) == (1, 3), "an assumed order follows the stored one"
    assert ("2024-01-04", "Rain") in kept(here, bob[0])


def test_equal_words_in_two_chats_are_two_days(here: Installation, bob: tuple[User, Claims], add: Add) -> None:
    for name in ("Ann", "Ben"):
        add(name, ["2024-01-01, 00:00 - Me: Happy new year", f"2024-01-01, 00:05 - {name}: Thank you, I am {name}"])
    assert len(kept(here, bob[0])) == 4
    assert add("Ben", ["2024-01-01, 00:00 - Me: Happy new year", "2024-01-01, 00:05 - Ben: Thank you, I am Ben"])
    assert len(kept(here, bob[0])) == 4


def test_zone_that_is_stated_later_corrects(here: Installation, bob: tuple[User, Claims], add: Add) -> None:
    lines = ["2024-01-01, 23:30 - Me: Happy new year soon", "2024-01-02, 09:00 - Ann: Happy new year"]
    add("Ann", lines)
    corrected = add("Ann", [*lines, "2024-01-02, 09:10 - Me: Thanks"], zone="America/New_York")
    assert (corrected.messages_added, corrected.messages_known) == (1, 2)
    assert kept(here, bob[0]) == [
        ("2024-01-02", "Happy new year soon"),
        ("2024-01-02", "Happy new year"),
        ("2024-01-02", "Thanks"),
    ]
    again = add("Ann", lines, zone="America/New_York")
    assert (again.messages_added, again.messages_known) == (0, 2)
