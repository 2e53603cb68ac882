"""Record history: revisions, and reading every past state."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.graph.history import append_delta, author_of, authored, diff, pipeline_author
from neurigraph_pipelines.ingestion.revision import MAX_SUMMARY_CHARACTERS, Revision, revise
from neurigraph_pipelines.model import KEYWORD_COLUMNS
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.wiring.installation import Installation
from resources.redaction import PatternRedactor
from tests.support.changing_record import MICROSECOND, Memory, Remember
from tests.support.memories import new_user, rows

# One delta a change


def test_revision_keeps_earlier_state(memory: Memory) -> None:
    (first,) = memory.deltas
    newest = memory.revise(Revision(title="The oak desk", summary="It is of oak.", topics=["furniture"]))
    assert memory.deltas == [newest, first]
    assert (newest.operation, newest.previous_delta_id) == ("revise", first.delta_id)
    assert newest.authored_by == author_of(memory.claims) == f"user:{memory.claims.user_id}"
    text = "#Notes the walnut desk"
    assert newest.before == {"title": text, "summary": text, "topics": ["testing"]}
    assert newest.after == {"title": "The oak desk", "summary": "It is of oak.", "topics": ["furniture"]}

    now = memory.at()
    assert (now["title"], now["topics"], now["delta_id"]) == ("The oak desk", ["furniture"], str(newest.delta_id))
    then = memory.at(newest.changed_at - MICROSECOND)
    assert (then["title"], then["topics"], then["delta_id"]) == (text, ["testing"], str(first.delta_id))
    assert memory.at(newest.changed_at) == now
    assert memory.at(first.changed_at) == then
    assert datetime.fromisoformat(then["created_at"]) == first.changed_at
    with pytest.raises(NotFoundError):
        memory.at(first.changed_at - MICROSECOND)


def test_creation_delta_is_complete(memory: Memory) -> None:
    (first,) = memory.deltas
    row = memory.row()
    assert (first.operation, first.previous_delta_id, first.before) == ("create", None, {})
    assert first.authored_by == pipeline_author("plain")
    words = {name: row[f"kw_{name}"] for name in KEYWORD_COLUMNS}
    assert {**row, **words, "node_id": str(row["node_id"])}.items() >= first.after.items()


def test_unchanged_values_make_no_delta(memory: Memory, remember: Remember) -> None:
    other = remember("the oak desk")
    for _ in range(2):
        memory.revise(Revision(title="Desk", topics=["furniture"]))
        memory.supersede(other.record_id)
    assert memory.operations == ["supersede", "revise", "create"]


def test_diff_lists_changes(memory: Memory) -> None:
    (first,) = memory.deltas
    second = memory.revise(Revision(title="Desk"))
    third = memory.revise(Revision(title="Oak desk", dates=["2025"]))
    title = {"before": "#Notes the walnut desk", "after": "Oak desk"}
    assert changes(memory, first.changed_at) == {
        "title": title,
        "dates": {"before": ["2025-03"], "after": ["2025"]},
    }
    assert changes(memory, second.changed_at, first.changed_at) == {
        "title": {"before": "Desk", "after": "#Notes the walnut desk"}
    }
    assert changes(memory, third.changed_at) == {}
    unborn = changes(memory, first.changed_at - MICROSECOND, first.changed_at)
    assert unborn["title"] == {"before": None, "after": "#Notes the walnut desk"}
    assert changes(memory, first.changed_at - timedelta(days=2), first.changed_at - timedelta(days=1)) == {}


def changes(memory: Memory, *moments: datetime) -> dict[str, dict[str, object]]:
    found = diff(memory.here.database, memory.claims, memory.record_id, *moments)
    return {name: dict(change) for name, change in found.changes.items()}


@pytest.mark.parametrize(
    ("revision", "complaint"),
    [
        (Revision(), "nothing to change"),
        (Revision(title=" \n"), "title: a text is empty"),
        (Revision(summary="x" * (MAX_SUMMARY_CHARACTERS + 1)), "summary: a text has 20,001 characters"),
        (Revision(title="x" * 501), "title: a text has 501"),
        (Revision(topics=["a", " "]), "topics: a text is empty"),
        (Revision(dates=["x"] * 65), "there are 65 dates"),
        (Revision(entities=["x" * 121]), "entities: a text has 121"),
    ],
)
def test_invalid_revisions_change_nothing(memory: Memory, revision: Revision, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        memory.revise(revision)
    assert memory.operations == ["create"]


def test_hostile_text_is_stored(memory: Memory) -> None:
    title = "'; DROP SCHEMA neurigraph CASCADE; -- {0} %(x)s 🐢"
    delta = memory.revise(Revision(title=f" {title}\x00\ud800", topics=["{}", "{}", '"', "\\", "NULL"]))
    assert memory.at()["title"] == title + "\ufffd\ufffd"
    assert memory.at()["topics"] == ["{}", '"', "\\", "NULL"]
    assert memory.at(delta.changed_at - MICROSECOND)["topics"] == ["testing"]


def test_revision_is_redacted(memory: Memory) -> None:
    redactor = PatternRedactor(["email"])
    revision = Revision(title="ana@example.com", summary="Ask ana@example.com", entities=["Ana", "ana@example.com"])
    revise(
        memory.here.acting_for(memory.claims).using(embedder=memory.embedder, redactor=redactor),
        memory.record_id,
        revision,
    )
    now = memory.at()
    assert (now["title"], now["summary"], now["entities"]) == ("[email]", "Ask [email]", ["Ana", "[email]"])
    assert "example.com" not in str(memory.deltas)


def test_absent_and_foreign_are_not_found(memory: Memory) -> None:
    _, others = new_user(memory.here)
    for claims, record_id in ((others, memory.record_id), (memory.claims, uuid4())):
        stranger = Memory(memory.here, memory.embedder, claims, record_id)
        for attempt in (
            stranger.at,
            lambda s=stranger: s.deltas,
            lambda s=stranger: s.revise(Revision(title="mine")),
            lambda s=stranger: s.supersede(None),
            lambda s=stranger: diff(s.here.database, s.claims, s.record_id, datetime(2020, 1, 1, tzinfo=UTC)),
        ):
            with pytest.raises(NotFoundError, match=r"^not found$"):
                attempt()
    assert memory.operations == ["create"]


# All changes go through one path


def test_delta_log_is_written_by_function_only(memory: Memory) -> None:
    insert = "INSERT INTO neurigraph.delta_log SELECT * FROM neurigraph.delta_log LIMIT 1"
    append = "SELECT neurigraph.append_delta(%s, 'move', '{}', '{}', 'me')"
    database = memory.here.database
    with pytest.raises(psycopg.errors.InsufficientPrivilege), database.pipeline() as tx:
        tx.execute(insert)
    for statement, values in ((insert, []), (append, [memory.record_id])):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), database.agent(memory.claims) as tx:
            tx.execute(statement.encode(), values)


def test_manual_change_needs_author(memory: Memory) -> None:
    update = sql.SQL("UPDATE {}.metadata_records SET title = 'by hand' WHERE record_id = %s").format(
        sql.Identifier(memory.place["schema_name"])
    )
    with pytest.raises(psycopg.errors.NotNullViolation), memory.here.database.pipeline() as tx:
        tx.execute(update, [memory.record_id])
    assert memory.at()["title"] == "#Notes the walnut desk"
    with memory.here.database.pipeline() as tx:
        tx.execute("SET LOCAL neurigraph.author = 'somebody'")
        tx.execute(update, [memory.record_id])
    assert memory.deltas[0].authored_by == "somebody"
    assert memory.deltas[0].after == {"title": "by hand"}


def test_failed_delta_keeps_version(memory: Memory) -> None:
    memory.revise(Revision(title="Desk"))
    before, deltas = memory.row(), memory.deltas
    with psycopg.connect(memory.here.administrator_url) as administrator:  # the log takes no more
        administrator.execute(
            sql.SQL("ALTER TABLE neurigraph.delta_log ADD CONSTRAINT full_up CHECK (record_id <> {}) NOT VALID").format(
                sql.Literal(memory.record_id)
            )
        )
    with pytest.raises(psycopg.errors.CheckViolation):
        memory.revise(Revision(title="Oak desk", summary="of oak"))
    assert (memory.row(), memory.deltas) == (before, deltas)
    with psycopg.connect(memory.here.administrator_url) as administrator:
        administrator.execute("ALTER TABLE neurigraph.delta_log DROP CONSTRAINT full_up")
    assert memory.revise(Revision(title="Oak desk")).previous_delta_id == deltas[0].delta_id


# Several at once


def test_concurrent_writers_lose_nothing(memory: Memory) -> None:
    def write(number: int) -> None:
        text = f"the {number}th"
        kinds = (Revision(title=text), Revision(summary=text), Revision(topics=[text]), Revision(dates=[text]))
        memory.revise(kinds[number % len(kinds)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(32)))
    deltas = memory.deltas
    assert len(deltas) == 33
    assert [delta.previous_delta_id for delta in deltas[:-1]] == [delta.delta_id for delta in deltas[1:]]
    assert [delta.changed_at for delta in deltas] == sorted({delta.changed_at for delta in deltas}, reverse=True)
    replayed: dict[str, object] = {}
    for delta in reversed(deltas):
        assert {name: replayed.get(name) for name in delta.before} == delta.before
        replayed |= delta.after
    assert {name: memory.at()[name] for name in replayed} == replayed


def test_stale_writers_conflict(memory: Memory) -> None:
    (seen,) = memory.deltas

    def write(number: int) -> bool:
        try:
            memory.revise(Revision(title=f"by {number}"), seen.delta_id)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(8))) == 1
    with pytest.raises(ConflictError, match="changed meanwhile: read it again"):
        memory.supersede(None, seen.delta_id)
    memory.revise(Revision(title="again"), memory.deltas[0].delta_id)


# Clocks


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(hours=-1), timedelta(0), timedelta(days=400)])
def test_w_grows_despite_clock(memory: Memory, jump: timedelta) -> None:
    first = memory.revise(Revision(title="one"))
    memory.clock_jumps(jump)
    second = memory.revise(Revision(title="two"))
    third = memory.revise(Revision(title="three"))
    assert first.changed_at - jump < second.changed_at < third.changed_at
    if jump < timedelta(0):  # the clock was set back: the chain goes on a microsecond at a time
        assert (second.changed_at, third.changed_at) == (
            first.changed_at - jump + MICROSECOND,
            first.changed_at - jump + 2 * MICROSECOND,
        )
    assert memory.at(first.changed_at - jump)["title"] == "one"
    assert memory.at(second.changed_at)["title"] == "two"
    assert memory.at(third.changed_at)["title"] == "three"


# Changes that the row does not show


def test_other_changes_are_appended(memory: Memory) -> None:
    elsewhere = str(uuid4())
    node_id = str(memory.place["node_id"])
    with memory.here.database.pipeline() as tx:
        append_delta(
            tx,
            memory.record_id,
            {"node_id": elsewhere},
            {"node_id": node_id},
            "pipeline:tests",
            operation="move",
            notes=["a note"],
        )
    newest = memory.deltas[0]
    assert newest.notes == ["a note"]
    assert memory.at()["node_id"] == node_id
    assert memory.at(newest.changed_at - MICROSECOND)["node_id"] == elsewhere


def test_concurrent_appends_make_one_chain(memory: Memory) -> None:
    def append(number: int) -> None:
        with memory.here.database.pipeline() as tx:
            append_delta(tx, memory.record_id, {}, {}, f"writer {number}", operation="move")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(32)))
    assert len(memory.deltas) == 33
    assert [d.previous_delta_id for d in memory.deltas[:-1]] == [d.delta_id for d in memory.deltas[1:]]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("title", "'Another'"),
        ("summary", "'Another.'"),
        ("kw_entities", "ARRAY['another']"),
        ("kw_topics", "ARRAY['another']"),
        ("kw_dates", "ARRAY['1999']"),
        ("kw_relationships", "ARRAY['sister: Another']"),
        ("embedding_model", "'another'"),
        ("superseded_by", "gen_random_uuid()"),
    ],
)
def test_each_logged_column_alone_makes_a_delta(
    here: Installation, remember: Remember, column: str, value: str
) -> None:
    """A plain UPDATE of one column, behind the back of every function, is in the history with both values."""
    memory = remember("One thing.")
    schema = sql.Identifier(memory.place["schema_name"])
    before = len(memory.deltas)
    with here.database.pipeline() as tx:
        authored(tx, "somebody")
        statement = sql.SQL("UPDATE {}.metadata_records SET {} = " + value + " WHERE record_id = %s")
        tx.execute(statement.format(schema, sql.Identifier(column)), [memory.record_id])
    (newest, *others) = rows(
        here,
        "SELECT delta_payload, authored_by FROM neurigraph.delta_log WHERE record_id = %s ORDER BY w_coordinate DESC",
        memory.record_id,
    )
    assert len(others) == before
    assert newest["authored_by"] == "somebody"
    assert list(newest["delta_payload"]["after"]) == list(newest["delta_payload"]["before"]) == [column]
