"""Notes of a vault: their properties, their links, and the notes that links name."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from neurigraph_pipelines.faces.cli.vaults import format_of
from neurigraph_pipelines.inbox.imports import vault
from neurigraph_pipelines.inbox.note_links import MAX_LINKS, NoteIndex, NoteLink, lines_of, links_in, parts_of
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.front_matter import MAX_FRONT_MATTER_CHARACTERS, FrontMatter, front_matter
from neurigraph_pipelines.text.note_dates import date_in_name, day_of_file
from neurigraph_pipelines.text.observed_notes import metadata_of, tags_of


def targets(text: str) -> list[str]:
    return [link.target for link in links_in(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[[Note]] and [[Note|another name]]", ["Note"]),
        ("[[Note#Section]] [[Other#^block]] ![[Embedded]]", ["Note", "Other", "Embedded"]),
        ("| [[Note\\|in a table]] |", ["Note"]),
        ("[[folder/Note.md]] [[Node.js]] [[v1.2 plan]]", ["folder/Note", "Node.js", "v1.2 plan"]),
        ("[[#Here]] [[ ]] [[]] [[a\nb]] [[a[b]]", []),
        ("![[plan.png]] [[paper.PDF#page=3]]", []),
        ("[a](Note.md) [b](<A note.md>) [c](A%20note.md#x) [d](../up.md 'title')", ["Note", "A note", "../up"]),
        ("[a](https://example.org/x.md) [b](//host/x.md) [c](#x) [d](file.txt) [e](mailto:a@b.md)", []),
        ("`[[a]]` ``[[b]] ` [[c]]`` [[d]] ` [[e]]", ["d", "e"]),
        ("```md\n[[a]]\n~~~\n[[b]]\n```\n[[c]]", ["c"]),
        ("~~~~\n[[a]]\n~~~\n[[b]]\n~~~~~\n[[c]]", ["c"]),
        ("- ```\n  [[a]]\n  ```\n> [[b]]", ["b"]),
        ("```\n[[a]] without an end", []),
        ("---\nrelated: '[[Note]]'\n---\n", ["Note"]),
    ],
)
def test_links_are_found_outside_code(text: str, found: list[str]) -> None:
    assert targets(text) == found


def test_number_of_links_is_bounded() -> None:
    assert len(links_in("".join(f"[[note {number}]] " for number in range(2 * MAX_LINKS)))) == MAX_LINKS


@pytest.mark.parametrize(
    ("link", "origin", "found"),
    [
        (NoteLink("POND", False), "House", "Garden/Pond"),
        (NoteLink("Index", False), "Garden/Roses", "Garden/Index"),
        (NoteLink("Index", False), "House", "Index"),
        (NoteLink("Old/Index", False), "House", "Garden/Old/Index"),
        (NoteLink("den/Pond", False), "House", None),
        (NoteLink("Pond", True), "Garden/Roses", "Garden/Pond"),
        (NoteLink("Pond", True), "House", None),
        (NoteLink("../House", True), "Garden/Pond", "House"),
        (NoteLink("/House", True), "Garden/Pond", "House"),
        (NoteLink("../../House", True), "Garden/Pond", None),
        (NoteLink("../House", False), "House", None),
        (NoteLink("B/C/Well", False), "House", "A/B › C/Well"),
        (NoteLink("..", True), "Garden/Pond", None),
        (NoteLink("\0", False), "House", None),
    ],
)
def test_links_name_notes(link: NoteLink, origin: str, found: str | None) -> None:
    paths = ("House", "Index", "Garden/Pond", "Garden/Roses", "Garden/Index", "Garden/Old/Index", "A/B › C/Well")
    notes = {parts_of(path.split("/")): path for path in paths}
    named = NoteIndex(notes).find(link, parts_of(origin.split("/")))
    assert (notes[named] if named is not None else None) == found


def test_properties_are_read() -> None:
    said = front_matter(
        "---\nTitle: The  house\ntags: [home, '#stone', home, 7, [x]]\naliases: Villa\n"
        "created: 2024-05-20\nupdated: '2024-06-01T10:00:00+02:00'\n---\nText.\n"
    )
    assert said == FrontMatter(
        title="The house",
        tags=("home", "stone", "7"),
        aliases=("Villa",),
        happened_at=datetime(2024, 5, 20, tzinfo=UTC),
        updated_at=datetime(2024, 6, 1, 8, tzinfo=UTC),
    )
    spoken = front_matter("---\ndate: 2022-03-04T00:30:00+02:00\n---\nToday I sold the kayak.").date
    assert spoken is not None
    assert spoken.isoformat() == "2022-03-04T00:30:00+02:00"  # the day is that of its writer
    assert front_matter("---\r\ntags: a, b #c\r\n---\r\n").tags == ("a", "b")
    assert front_matter("---\ndate: 9999-12-31\n---\n").happened_at is None
    for text in ("", "Text\n---\na: b\n---\n", "---\nno end", "----\na: b\n---\n"):
        assert front_matter(text) == FrontMatter()


@pytest.mark.parametrize(
    "block",
    [
        "a: &a [x]\nb: [*a, *a]",
        "[" * 500,
        "{a: " * 500,
        "- text",
        "a: !!python/object/apply:os.system [true]",
        "a: b: c",
        "date: 2024-13-45",
        "a: " + "9" * 5_000,
        "? [a]\n: b",
    ],
)
def test_properties_that_are_not_plain_are_not_read(block: str) -> None:
    said = front_matter(f"---\n{block}\ntitle: x\n---\n")
    assert said.problem
    assert said.title is None


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("Daily/2023-05-20.md", 20),
        ("2023-05-20 Harbour.md", 20),
        ("20230520.md", 20),
        ("journals/2023_05_20.md", 20),
        ("2023.05.20.md", 20),
        ("20.05.2023.md", 20),
        ("May 20th, 2023.md", 20),
        ("20 May 2023.md", 20),
        ("20 mai 2023.md", 20),
        ("20. Mai 2023.md", 20),
        ("2023年5月20日.md", 20),
        ("Journal/2023/05/20.md", 20),
        ("Journal/2023/05-May/20.md", 20),
        ("05-20-2023.md", 20),
        ("20231345.md", None),
        ("12023-05-20.md", None),
        ("Room 2023.md", None),
        ("May.md", None),
    ],
)
def test_name_of_a_daily_note_is_its_date(path: str, day: int | None) -> None:
    assert date_in_name(path) == (datetime(2023, 5, day, tzinfo=UTC) if day else None)


@pytest.mark.parametrize(
    ("stated", "found", "problem"),
    [
        ("2022-03-04", datetime(2022, 3, 4, tzinfo=UTC), None),
        ("20220304", datetime(2022, 3, 4, tzinfo=UTC), None),
        ("March 4, 2022", datetime(2022, 3, 4, tzinfo=UTC), None),
        ("04.03.2022", datetime(2022, 3, 4, tzinfo=UTC), None),
        ("25/03/2022", datetime(2022, 3, 25, tzinfo=UTC), None),
        ("04/03/2022", None, "its date '04/03/2022' is 2022-04-03 or 2022-03-04: write the right one"),
        ("soon", None, "its date 'soon' is not readable: write it as 2024-05-20"),
        ("", None, None),
    ],
)
def test_unclear_dates_are_reported(stated: str, found: datetime | None, problem: str | None) -> None:
    said = front_matter(f"---\ndate: {stated}\n---\nText\n")
    assert (said.date, said.problem) == (found, problem)


def test_long_properties_are_text() -> None:
    assert front_matter("---\na: " + "x" * MAX_FRONT_MATTER_CHARACTERS + "\n---\n") == FrontMatter()


@pytest.mark.parametrize(
    "piece", ["[[a", "[[", "](", "](a", "`" + "``", "` `` ", "```\n", "[[a|", "> ", " ", "- ", "x_ ", "#a"]
)
def test_links_take_time_in_proportion(piece: str) -> None:
    def seconds(times: int) -> float:
        text = f"- {piece * times}"
        started = time.process_time()
        links_in(text, has_relations=True)
        tags_of(lines_of(f"- [a] {text}"))
        return time.process_time() - started

    assert min(seconds(40_000) for _ in range(3)) < 40 * max(min(seconds(4_000) for _ in range(3)), 0.001)


def test_folders_become_names(tmp_path: Path) -> None:
    folder = tmp_path / "My vault"
    (folder / "a/b/c/d/e").mkdir(parents=True)
    (folder / "a/.hidden").mkdir()
    (folder / "a/.hidden/Note.md").write_text("x")
    with pytest.raises(InvalidInputError, match="--format vault"):
        format_of(folder)
    (folder / "a/b/c/d/e/Note.MD").write_text("x")
    (folder / "a/b/Note.md").write_text("x")
    assert not vault.is_vault(folder)
    assert format_of(folder) == vault.FORMAT
    (folder / ".obsidian").mkdir()
    assert vault.is_vault(folder)
    assert [note.names for note in vault.open_vault(folder).notes] == [
        ("My vault", "a", "b", "Note"),
        ("My vault", "a", "b", "c › d › e", "Note"),
    ]


def test_most_notes_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault, "MAX_NOTES", 3)
    for number in range(5):
        (tmp_path / f"{number}.md").write_text("x")
    found = vault.open_vault(tmp_path)
    assert [note.path for note in found.notes] == ["0.md", "1.md", "2.md"]
    assert found.beyond == 2


def test_note_that_becomes_a_link_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of another")
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Note.md").write_text("x")
    opened = vault.open_vault(folder)
    (folder / "Note.md").unlink()
    (folder / "Note.md").symlink_to(secret)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        vault.read_note(opened, opened.notes[0], 100)


@pytest.mark.parametrize(("name", "day"), [("2023-05-20.md", 20), ("04-03-2022.txt", None), ("2023-05-20.pdf", None)])
def test_text_is_of_the_day_in_its_name(name: str, day: int | None) -> None:
    assert day_of_file(name) == (datetime(2023, 5, day, tzinfo=UTC) if day else None)


def test_properties_become_flat_metadata() -> None:
    given = {
        "a": "x",
        "b": True,
        "c": 7,
        "d": [1, "y"],
        "e": {"f": 1},
        "g": None,
        "h": [[1]],
        "i" * 101: "x",
        "j": "z" * 3_000,
    }
    assert metadata_of(given) == {"a": "x", "b": True, "c": "7", "d": ["1", "y"]}


@pytest.mark.parametrize(
    ("line", "relation"),
    [
        ("- relates_to [[B]] (often)", "relates to"),
        ("* 'owned by' [[B]]", "owned by"),
        ("- [[B]]", "relates to"),
        ("See [[B]]", "links to"),
        ("- [decision] we take [[B]]", "links to"),
    ],
)
def test_a_line_states_a_relation(line: str, relation: str) -> None:
    (link,) = links_in(line, has_relations=True)
    assert (link.target, link.relation) == ("B", relation)
    assert [one.relation for one in links_in(line)] == ["links to"]
