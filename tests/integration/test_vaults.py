"""Import of vaults: notes and links through the command line, again, changed, killed, and dry."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph.provisioning import User, find_user
from neurigraph_pipelines.graph.reshaping import merge_nodes, rename_node
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.inbox.vaults import import_vault
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.prompt import PromptRequest, prompt_context
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import PROGRAM, describe, environment
from tests.support.exported_user import export, restore
from tests.support.memories import ingest, new_user, plain_context, rows, stored
from tests.support.vaults import EDGES, NOTES, write_observed_notes, write_vault
from tests.support.waiting import wait_until

_EDGES = """SELECT f.names AS source, t.names AS target
FROM neurigraph.node_edges AS e
JOIN neurigraph.graph_index AS o ON o.node_id = e.from_node_id
JOIN neurigraph.graph_index AS n ON n.node_id = e.to_node_id
CROSS JOIN LATERAL (SELECT array_agg(g.node_name ORDER BY g.layer_depth) AS names FROM neurigraph.graph_index AS g
    WHERE g.node_id = ANY(o.path)) AS f
CROSS JOIN LATERAL (SELECT array_agg(g.node_name ORDER BY g.layer_depth) AS names FROM neurigraph.graph_index AS g
    WHERE g.node_id = ANY(n.path)) AS t
WHERE e.user_id = %s AND e.relation = 'links to' AND e.evidence_count > 0"""


def edges(here: Installation, user: User) -> set[tuple[str, str]]:
    """The edges of links, by the paths of their nodes below that of the vault."""
    return {("/".join(row["source"][2:]), "/".join(row["target"][2:])) for row in rows(here, _EDGES, user.user_id)}


def sources(here: Installation, user: User) -> dict[str, dict[str, Any]]:
    found = rows(here, "SELECT * FROM neurigraph.sources WHERE user_id = %s", user.user_id)
    return {row["external_id"]: row for row in found}


def counts(data: dict[str, Any]) -> tuple[int, int, int]:
    return data["added"], data["changed"], data["known"]


def run(capsys: pytest.CaptureFixture[str], folder: Path, user: User, *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert not entry.run(["import", str(folder), "--user", user.slug, "--json", *options])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_vault_through_the_command_line(
    here: Installation,
    bob: tuple[User, Claims],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    user, _ = bob
    describe(here.settings, monkeypatch)
    folder = write_vault(tmp_path / "Home")
    planned = run(capsys, folder, user, "--dry-run")
    assert sources(here, user) == {}
    assert len(rows(here, "SELECT FROM neurigraph.graph_index WHERE user_id = %s", user.user_id)) == 1, "only the root"
    done = run(capsys, folder, user)
    assert {**planned, "dry_run": False} == done
    assert counts(done) == (11, 0, 0)
    assert (done["empty"], done["others"], done["beyond"], done["rejected"]) == (1, 3, 0, [])
    missing = {(one["where"], one["reason"]) for one in done["unresolved_first"]}
    assert missing == {
        ("Garden.md", "Missing note"),
        ("Garden/Pond.md", "../../etc/passwd"),
        ("Script.md", "<img src=x onerror=alert(1)>"),
    }
    assert [one["where"] for one in done["noted"]] == ["Broken.md"]
    assert counts(run(capsys, folder, user, "--format", "vault")) == (0, 0, 11)
    ingest(plain_context(here), user)
    assert edges(here, user) == EDGES
    found = sources(here, user)
    house = found["vault:Home/House.md"]
    assert (house["title"], house["origin"], house["metadata"]) == (
        "The old house",
        "obsidian",
        {"vault_path": "House.md"},
    )
    assert house["started_at"].date().isoformat() == "2024-05-20"
    (node,) = rows(
        here, "SELECT * FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'House'", user.user_id
    )
    assert "Villa Kumquat" in node["aliases"]
    assert {"building", "home"} <= set(node["node_keywords"])


def test_second_import_adds_what_changed(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> None:
    user, claims = bob
    context = plain_context(here).acting_for(claims)
    folder = write_vault(tmp_path / "Home")
    import_vault(context, here.settings, folder)
    ingest(plain_context(here), user)
    before = sources(here, user)
    again = import_vault(context, here.settings, folder)
    assert (again.added, again.changed, again.known) == (0, 0, 11)
    assert sources(here, user) == before
    (folder / "Garden.md").write_text("The garden was sold, with [[Roses]].\n")
    (folder / "New.md").write_text("A new note about [[House]].\n")
    planned = import_vault(context, here.settings, folder, dry_run=True)
    assert sources(here, user) == before
    assert import_vault(context, here.settings, folder) == planned
    assert (planned.added, planned.changed, planned.known) == (1, 1, 10)
    ingest(plain_context(here), user)
    assert sources(here, user)["vault:Home/Garden.md"]["last_message"] == 2
    assert {("Garden", "Garden/Roses"), ("New", "House")} <= edges(here, user)
    (pond,) = rows(
        here,
        "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s AND source_id = %s",
        user.user_id,
        before["vault:Home/Garden/Pond.md"]["source_id"],
    )
    forget(context, ErasureSubject(SubjectKind.RECORD, pond["record_id"]), through="test")
    assert ("Garden/Pond", "Garden") not in edges(here, user), "an edge goes with the note that states it"
    assert ("Garden/Roses", "Garden/Pond") in edges(here, user)


def test_moved_and_renamed_notes_stay_the_same(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> None:
    user, claims = bob
    context = plain_context(here).acting_for(claims)
    folder = write_vault(tmp_path / "Home")
    import_vault(context, here.settings, folder)
    ingest(plain_context(here), user)
    before = sources(here, user)
    (folder / "Town").mkdir()
    (folder / "People/Ann.md").rename(folder / "Town/Anna.md")  # moved and renamed
    (folder / "Plain.markdown").rename(folder / "plain.md")
    (folder / "Garden.md").rename(folder / "Yard.md")  # notes lie below its node, which stays
    (folder / "House.md").rename(folder / "Manor.md")
    (folder / "Manor.md").write_text("It was sold.\n")  # other words: a new note
    (folder / "Copy.md").write_bytes((folder / "People/Ben.md").read_bytes())
    planned = import_vault(context, here.settings, folder, dry_run=True)
    assert sources(here, user) == before
    done = import_vault(context, here.settings, folder)
    assert done == planned
    assert (done.added, done.changed, done.moved, done.known, done.rejected) == (2, 0, 3, 7, [])
    ingest(plain_context(here), user)
    after = sources(here, user)
    for old, new in (("People/Ann.md", "Town/Anna.md"), ("Plain.markdown", "plain.md"), ("Garden.md", "Yard.md")):
        was, now = before[f"vault:Home/{old}"], after[f"vault:Home/{new}"]
        assert (now["source_id"], now["last_message"], now["metadata"]) == (was["source_id"], 1, {"vault_path": new})
        assert f"vault:Home/{old}" not in after
    found = edges(here, user)
    assert ("Town/Anna", "People/Ben") in found
    assert ("Garden", "Garden/Pond") in found
    again = import_vault(context, here.settings, folder)
    assert (again.added, again.changed, again.moved, again.known) == (0, 0, 0, 12)
    (folder / "Town/Anna.md").write_text("Anna has retired.\n")
    (folder / "People/Ann.md").write_text("Another Ann.\n")
    again = import_vault(context, here.settings, folder)
    assert (again.added, again.changed, again.moved) == (1, 1, 0)


def test_notes_follow_their_nodes(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> None:
    user, claims = bob
    context = plain_context(here).acting_for(claims)
    folder = write_vault(tmp_path / "Home")
    import_vault(context, here.settings, folder)
    ingest(plain_context(here), user)
    nodes = rows(here, "SELECT node_id, node_name FROM neurigraph.graph_index WHERE user_id = %s", user.user_id)
    named = {row["node_name"]: row["node_id"] for row in nodes}
    rename_node(here.database, claims, named["House"], "Manor")
    merge_nodes(here.database, claims, named["Ben"], named["Ann"])
    again = import_vault(context, here.settings, folder)
    assert (again.added, again.changed, again.known, again.rejected) == (0, 0, 11, [])
    (folder / "People/Ben.md").write_text("Ben has moved to [[House]].\n")
    assert import_vault(context, here.settings, folder).changed == 1
    ingest(plain_context(here), user)
    after = rows(here, "SELECT FROM neurigraph.graph_index WHERE user_id = %s", user.user_id)
    assert len(after) == len(nodes) - 1
    assert {("Garden", "Manor"), ("Manor", "People/Ann"), ("People/Ann", "Manor")} <= edges(here, user)
    assert ("People/Ann", "Garden/Roses") not in edges(here, user), "the version before said so"


def test_answers_have_the_properties_of_a_note_in_words(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(installation.settings, monkeypatch)
    user, claims = new_user(installation)
    folder = tmp_path / "Crew"
    folder.mkdir()
    (folder / "Ines Mora.md").write_text(
        "---\nphone: 600 000 001\nroles:\n  - rigger\n  - cook\ncreated: 2024-05-20\n---\nShe lives in Vigo.\n"
    )
    (folder / "Draft.md").write_text("---\ndate: {{date}}\ntitle: Draft: new\n---\nThe winch needs grease.\n")
    context = installation.context.acting_for(claims)
    import_vault(context, installation.settings, folder)
    assert len(stored(ingest(installation.context, user))) == 2
    asked = {
        "What is the phone number of Ines Mora?": "phone: 600 000 001. roles: rigger, cook. She lives in Vigo.",
        "What needs grease?": "The winch needs grease.",
    }
    for question, said in asked.items():
        reply = ask(context, Question(question))
        assert reply.answer.splitlines()[0].endswith(f": {said} [1]")
        assert " ".join(reply.citations[0].text.split()) == said
    block = prompt_context(context, PromptRequest([Turn("user", "Which roles does Ines Mora have?")]))
    shown = [*(one.summary for one in search(context, Question("Ines Mora winch")).hits), block.text or ""]
    assert [text for text in shown if "---" in text or "{{" in text] == []


def test_answer_has_the_words_between_two_rules(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(installation.settings, monkeypatch)
    user, claims = new_user(installation)
    context = installation.context.acting_for(claims)
    write_note(context, IncomingNote("---\nThe word for the guests' network is heron.\n---\nSee you on Sunday."))
    ingest(installation.context, user)
    assert "heron" in ask(context, Question("What is the word for the guests' network?")).answer


def test_restored_vault_is_known(
    here: Installation, bob: tuple[User, Claims], installation: Installation, tmp_path: Path
) -> None:
    user, claims = bob
    folder = write_vault(tmp_path / "Home")
    import_vault(plain_context(here).acting_for(claims), here.settings, folder)
    ingest(plain_context(here), user)
    export(here, user, tmp_path / "export")
    restore(installation, tmp_path / "export", user.slug)
    found = find_user(installation.database, user.slug)
    assert edges(installation, found) == EDGES
    context = plain_context(installation).acting_for(Claims.of_user(found.user_id))
    again = import_vault(context, installation.settings, folder)
    assert (again.added, again.changed, again.known) == (0, 0, 11)


@pytest.mark.slow
def test_killed_import_is_finished_by_the_next(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> None:
    user, claims = bob
    folder = write_vault(tmp_path / "Home")
    for number in range(60):
        (folder / f"Note {number}.md").write_text(f"Note {number} comes after [[Note {number - 1}]].\n")
    arguments = [str(PROGRAM), "import", str(folder), "--user", user.slug]
    for least in (1, 30):
        with subprocess.Popen(arguments, env=environment(here.settings), stdout=-3, stderr=-3) as process:
            wait_until(lambda: len(sources(here, user)) >= least, f"{least} notes are written", seconds=120)  # noqa: B023
            process.send_signal(signal.SIGKILL)
        assert len(sources(here, user)) < 71
    report = import_vault(plain_context(here).acting_for(claims), here.settings, folder)
    assert report.known >= 30
    assert report.added + report.known == len(sources(here, user)) == 71
    assert all(source["last_message"] == 1 for source in sources(here, user).values())
    ingest(plain_context(here), user)
    linked = {(f"Note {number}", f"Note {number - 1}") for number in range(1, 60)}
    assert edges(here, user) == EDGES | linked


def test_daily_notes_have_the_dates_of_their_names(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path
) -> None:
    user, claims = bob
    notes = {
        "Daily/2023-05-20.md": "Yesterday I bought the boat.",
        "Dated.md": "---\ndate: 2022-03-04\n---\nIt rained.",
        "Unclear.md": "---\ndate: 04/03/2022\n---\nIt snowed.",
        "Plain.md": "No date at all.",
        "Latin.md": "",
    }
    folder = tmp_path / "Home"
    (folder / "Daily").mkdir(parents=True)
    for name, text in notes.items():
        (folder / name).write_text(text)
    (folder / "Latin.md").write_bytes("Größe und Straße: grün.".encode("cp1252"))
    report = import_vault(plain_context(here).acting_for(claims), here.settings, folder)
    assert (report.added, report.undated, report.rejected) == (5, 3, [])
    assert {(one.where, one.reason) for one in report.noted} == {
        ("Unclear.md", "its date '04/03/2022' is 2022-04-03 or 2022-03-04: write the right one"),
        ("Latin.md", "its encoding was taken as Windows-1252"),
    }
    started = {name.partition("/")[2]: row["started_at"] for name, row in sources(here, user).items()}
    assert started["Daily/2023-05-20.md"].date().isoformat() == "2023-05-20"
    assert started["Dated.md"].date().isoformat() == "2022-03-04"


def test_hostile_vault(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> None:
    user, claims = bob
    folder = tmp_path / "Home"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "good.md").write_text("Grey grout.\n")
    (folder / "Good.md").write_text("The same name.\n")
    (folder / "huge.md").write_text("x" * 2_000)
    (folder / "bytes.md").write_bytes(b"\x00\x81\xff\xfe")
    (folder / ("n" * 130 + ".md")).write_text("A long name.\n")
    (folder / "outside").symlink_to("/etc")
    (folder / "loop.md").symlink_to("loop.md")
    settings = here.settings.changed(max_message_bytes=1_000)
    context = plain_context(here).using(settings=settings).acting_for(claims)
    report = import_vault(context, settings, folder)
    assert (report.added, report.others) == (1, 1)
    assert {item.where for item in report.rejected} == {"good.md", "huge.md", "bytes.md", "n" * 130 + ".md"}
    assert set(sources(here, user)) == {"vault:Home/Good.md"}


def test_notes_of_basic_memory(
    here: Installation,
    bob: tuple[User, Claims],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    user, _ = bob
    describe(here.settings, monkeypatch)
    folder = tmp_path / "main"
    write_observed_notes(folder)
    planned = run(capsys, folder, user, "--format", "basic-memory", "--dry-run")
    assert sources(here, user) == {}
    done = run(capsys, folder, user, "--format", "basic-memory")
    assert {**planned, "dry_run": False} == done
    assert (counts(done), done["format"], done["links"], done["rejected"]) == ((4, 0, 0), "basic-memory", 4, [])
    assert [(one["where"], one["reason"]) for one in done["unresolved_first"]] == [("coffee/brewing.md", "Tea")]
    assert [(one["where"], one["reason"]) for one in done["noted"]] == [
        ("coffee/brewing.md", "its property 'schema' has no place here")
    ]
    assert counts(run(capsys, folder, user, "--format", "basic-memory")) == (0, 0, 4)
    ingest(plain_context(here), user)
    stated = _EDGES.replace("e.relation = 'links to' AND ", "").replace(
        "t.names AS target", "t.names[3:] AS target, e.relation"
    )
    assert {(row["source"][-1], row["relation"], row["target"][-1]) for row in rows(here, stated, user.user_id)} == {
        ("Coffee Brewing", "related to", "Bean Origins"),
        ("Coffee Brewing", "depends on", "Proper Grinding"),
        ("Coffee Brewing", "links to", "grinder"),
        ("Bean Origins", "part of", "Coffee Brewing"),
    }
    note = sources(here, user)["basic-memory:main/coffee/brewing.md"]
    assert (note["title"], note["origin"]) == ("Coffee Brewing", "basic-memory")
    assert note["started_at"].date().isoformat() == "2025-03-04"
    assert note["metadata"] == {
        "vault_path": "coffee/brewing.md",
        "type": "note",
        "permalink": "coffee/coffee-brewing",
        "rated": "9",
        "reviewed": "2025-05-01",
        "sure": True,
    }
    (node,) = rows(
        here, "SELECT * FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'Coffee Brewing'", user.user_id
    )
    assert "water" in node["node_keywords"]
    assert not {"x", "sharp"} & set(node["node_keywords"])


def test_other_notes_have_no_links(here: Installation, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    context = plain_context(here).acting_for(claims)
    write_note(context, IncomingNote("The pond is deep.", path="Home/Pond"))
    write_note(context, IncomingNote("It lies beside [[Pond]].", path="Home/Garden"))
    ingest(plain_context(here), user)
    assert edges(here, user) == set()


def test_wrong_options_are_named(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, _ = bob
    describe(here.settings, monkeypatch)
    folder = write_vault(tmp_path / "Home")
    for options in (["--external-id", "x"], ["--watch", "--format", "vault"]):
        assert entry.run(["import", str(folder), "--user", user.slug, *options])
    assert entry.run(["import", str(tmp_path / "none"), "--user", user.slug, "--format", "vault"])
    assert len(NOTES) > len(sources(here, user)) == 0
