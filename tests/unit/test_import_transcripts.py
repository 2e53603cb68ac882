"""Imports of transcripts and plain text: who speaks, when it was, and texts that are no dialogue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from neurigraph_pipelines.inbox.import_format import DOCUMENT, import_format
from neurigraph_pipelines.inbox.imports.speakers import is_name
from neurigraph_pipelines.inbox.imports.times_in_names import time_in
from tests.support.exports import read_one

Said = list[tuple[str | None, str]]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def said(path: Path, name: str) -> Said:
    return [(one.author, one.content) for one in read_one(path, name).messages]


def cues(*texts: str, head: str = "WEBVTT\n\n") -> str:
    return head + "\n\n".join(f"00:00:{n:02}.000 --> 00:00:{n + 1:02}.000\n{text}" for n, text in enumerate(texts))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            cues(
                "Ana Ruiz: Shall we move it?", "Ben Ode: Yes.", "Note: this is important.", "Second option: we cancel."
            ),
            [
                ("Ana Ruiz", "Shall we move it?"),
                ("Ben Ode", "Yes."),
                ("Ben Ode", "Note: this is important."),
                ("Ben Ode", "Second option: we cancel."),
            ],
        ),
        (
            cues(
                "Ana: Hallo.", "Zweite Option: wir warten.", "Nächster Schritt: anrufen.", "Klaus: Ich zahle 400 Euro."
            ),
            [
                ("Ana", "Hallo."),
                ("Ana", "Zweite Option: wir warten."),
                ("Ana", "Nächster Schritt: anrufen."),
                ("Klaus", "Ich zahle 400 Euro."),
            ],
        ),
        (
            cues("<v Ana Ruiz>Shall we?</v>", "<v Ben Ode>Yes, to 3 June.</v>\n<v Ana Ruiz>No, later.</v>"),
            [("Ana Ruiz", "Shall we?"), ("Ben Ode", "Yes, to 3 June."), ("Ana Ruiz", "No, later.")],
        ),
        (cues("- Ana: Tea?\n- Ben: E-mail me."), [("Ana", "Tea?"), ("Ben", "E-mail me.")]),
        (
            cues(" \nwe<00:00:00.320><c> paid</c>", "we paid\n ", "we paid\neuros<00:00:02.5><c> for it</c>"),
            [(None, "we paid euros for it")],
        ),
        (cues("a b", "a b\nc d", "c d\ne f"), [(None, "a b c d e f")]),
        (cues("I said no.", "no."), [(None, "I said no."), (None, "no.")]),
        (cues("Ana: Ja.", head="").replace(".000", ",000"), [("Ana", "Ja.")]),
        (cues("Press A --> B.\n\nThen\n\nwait."), [(None, "Press A --> B."), (None, "Then wait.")]),
        (cues("Ja.", "Nein.", head="1\n").replace("\n\n", "\n\n2\n"), [(None, "Ja."), (None, "Nein.")]),
        (
            cues("Ja.\n\nNOTE of\nthe writer\n\nintro\n00:00:09.000 --> 00:00:10.000\nNein."),
            [(None, "Ja."), (None, "Nein.")],
        ),
        (cues("Ja.", "Nein.", head="").replace(".000", ""), [(None, "Ja."), (None, "Nein.")]),
        (cues("Ja.", "Nein.", head="").replace(".000", ",5"), [(None, "Ja."), (None, "Nein.")]),
        (
            cues("The price is <3 kg and x > y.", '<font color="#fff">Not</font> <i>more</i>.'),
            [(None, "The price is <3 kg and x > y."), (None, "Not more.")],
        ),
        (cues("Shall we?", "Yes.", "Yes.", "- No."), [(None, w) for w in ("Shall we?", "Yes.", "Yes.", "- No.")]),
    ],
)
def test_transcript_gives_words_to_their_speakers(text: str, expected: Said, tmp_path: Path) -> None:
    assert said(written(tmp_path / "x.vtt", text), "subtitles") == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GMT20240520-080000_Recording.transcript.vtt", datetime(2024, 5, 20, 8, tzinfo=UTC)),
        ("Weekly (2024-05-20 10:00 GMT+2).vtt", datetime(2024, 5, 20, 8, tzinfo=UTC)),
        ("Weekly (2024-05-20 9:30 PM GMT-3).vtt", datetime(2024, 5, 21, 0, 30, tzinfo=UTC)),
        ("2024-05-20 14.30.05 Standup.vtt", datetime(2024, 5, 20, 14, 30, 5, tzinfo=UTC)),
        ("2024_05_20.vtt", datetime(2024, 5, 20, tzinfo=UTC)),
        ("2024-13-20.vtt", None),
        ("talk 20240520.vtt", None),
    ],
)
def test_name_of_a_recording_dates_it(name: str, expected: datetime | None, tmp_path: Path) -> None:
    assert time_in(name) == expected
    if expected is not None:
        event = read_one(written(tmp_path / name, cues("hello there.")), "subtitles")
        assert event.started_at == expected


def test_offset_of_a_name_is_kept() -> None:
    time = time_in("Weekly (2024-05-20 10:00 GMT+2)")
    assert time is not None
    assert time.tzinfo == timezone(timedelta(hours=2))


def test_renamed_transcript_is_the_same(tmp_path: Path) -> None:
    names = ("a.vtt", "a (1).vtt", "Call 2024-05-20.vtt")
    ids = {read_one(written(tmp_path / name, cues("Ana: Hello.")), "subtitles").external_id for name in names}
    assert len(ids) == 1


@pytest.mark.parametrize(
    ("label", "is_speaker"),
    [
        *((label, False) for label in ("Budget", "Erstens", "Übrigens", "Vorteil", "Risk", "Bonjour", "Kubernetes")),
        *((label, False) for label in ("Berlin", "Presupuesto", "Avantage", "Inoltre", "New York", "Совет")),
        *((label, True) for label in ("Klaus", "Marie-Claire Petit", "Dr. Weber", "Speaker 3", "Юлия")),
    ],
)
def test_label_is_a_speaker_if_it_is_a_person(label: str, is_speaker: bool, tmp_path: Path) -> None:
    text = cues("Ana: Hello.", "Ben: Welcome.", f"{label}: We spend 40k.", "That is a lot.", "Ana: Yes.")
    found = said(written(tmp_path / "x.vtt", text), "subtitles")
    assert [author for author, _ in found] == ["Ana", "Ben", *[label if is_speaker else "Ben"] * 2, "Ana"]
    assert found[2][1].endswith("We spend 40k.")


@pytest.mark.parametrize("names", [("Kari", "Odd"), ("小王", "小李"), ("Ioana", "Bence"), ("Tove Lund", "Ana")])
def test_all_labels_are_speakers_if_each_cue_has_one(names: tuple[str, ...], tmp_path: Path) -> None:
    text = cues(*(f"{name}: Hello." for name in names), f"{names[0]}: Yes.", f"{names[1]}: No.")
    assert {author for author, _ in said(written(tmp_path / "x.vtt", text), "subtitles")} == set(names)


NO_DIALOGUES = {
    "list.txt": "Name: Ana Ruiz\nPhone: 600 001\nCity: Vigo\n\nName: Ben Ode\nPhone: 600 002\nCity: Oslo\n",
    "cars.txt": "Wagen: Golf\nFarbton: Rot\nHalter: Ana\n\nWagen: Polo\nFarbton: Blau\nHalter: Ben\n",
    "app.log": "Info: service started\nWarning: disk full\nError: cannot open db\nInfo: retry\nError: no db\n",
    "compose.txt": "services:\n  web:\n    image: nginx\n    ports:\n  db:\n    image: postgres\n    ports:\n",
    "system.txt": "kernel: usb 1-1 new device found\nsshd: accepted a key for bob\n" * 2,
    "config.txt": "host: a.example\nport: 80\nhost: b.example\nport: 81\n",
    "recipe.md": "# Soup\nStep one: cut the leeks\nStep two: boil\nNote: no salt\nStep one: peas\nNote: for four\n",
    "rezept.md": "Zutaten: 3 Eier\nSchritt eins: Eier trennen.\nZutaten: Mehl\nSchritt eins: Alles verrühren.\n",
    "tareas.txt": "Tarea: Llamar a Ana.\nFecha: Lunes.\nTarea: Comprar pan.\nFecha: Martes.\n",
    "week.txt": "Monday: Call the plumber.\nTuesday: Paint.\nMonday: Pay the plumber.\nTuesday: Rest.\n",
    "faq.txt": "Q: What is due?\nA: Form 77.\nQ: When is it due?\nA: In May.\n",
    "рецепт.txt": "Шаг: Нарежьте лук и морковь.\nСовет: Не солите сразу.\nШаг: Обжарьте всё.\nСовет: Без масла.\n",
    "glossary.txt": "Anchor: Holds the boat.\nMast: Carries the sail.\nAnchor: Weighs 20 kg here.\nMast: Is of wood.\n",
    "cities.txt": "Bergen: Rain all day.\nOslo: Sun until noon.\nBergen: Rain again today.\nOslo: Cloudy and cold.\n",
    "pro.txt": "Pro: It is cheap.\nCon: It is slow.\nPro: We know it well.\nCon: Nobody likes it.\n",
    "bug.txt": "Expected: The page loads.\nActual: It fails.\nExpected: I see it.\nActual: What happens?\n",
    "hardware.txt": "System: Dell XPS\nModel: 9310\nTool: Screwdriver\nUser: Ana\n",
    "備忘.txt": "名前: 田中\n電話: 600\n名前: 鈴木\n電話: 601\n",
}


@pytest.mark.parametrize("name", NO_DIALOGUES)
def test_text_that_is_no_dialogue_is_a_document(name: str, tmp_path: Path) -> None:
    assert import_format(written(tmp_path / name, NO_DIALOGUES[name])) == DOCUMENT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Ann: Did the parcel come?\nBen: Yes, at noon.\nAnn: Good.\nKlaus: I pay 400 euros.\n"
            "Note: keep this.\nBen: Ok.",
            [
                ("Ann", "Did the parcel come?"),
                ("Ben", "Yes, at noon."),
                ("Ann", "Good."),
                ("Klaus", "I pay 400 euros.\nNote: keep this."),
                ("Ben", "Ok."),
            ],
        ),
        (
            "小王：你好，今天去哪里？\n小李：去公园。\n小王：好的，走吧。\n小李：等一下我。",
            [("小王", "你好，今天去哪里？"), ("小李", "去公园。"), ("小王", "好的，走吧。"), ("小李", "等一下我。")],
        ),
        (
            "John Price: Who pays?\nMaría de la Cruz: I pay.\nJohn Price: Good.\nMaría de la Cruz: Fine.",
            [
                ("John Price", "Who pays?"),
                ("María de la Cruz", "I pay."),
                ("John Price", "Good."),
                ("María de la Cruz", "Fine."),
            ],
        ),
        (
            "Weekly (2024-05-20 10:00 GMT+2) - Transcript\nAttendees\nAna Ruiz, Ben Ode\nTranscript\n00:00:00\n"
            "Ana Ruiz: Shall we move it?\nBen Ode: Yes.\n00:05:00\nAna Ruiz: Good.\nBen Ode: Bye.\n"
            "Meeting ended after 00:06:10 👋\nThis editable transcript was computer generated and may be wrong.",
            [("Ana Ruiz", "Shall we move it?"), ("Ben Ode", "Yes."), ("Ana Ruiz", "Good."), ("Ben Ode", "Bye.")],
        ),
        (
            "Ana Ruiz  0:03\nShall we move it?\n\nBen Ode  0:10\nYes, to June.\n\nAna Ruiz  0:15\nGood, then.\n\n"
            "Ben Ode  1:02\nBye to all.\n\nTranscribed by https://otter.ai",
            [
                ("Ana Ruiz", "Shall we move it?"),
                ("Ben Ode", "Yes, to June."),
                ("Ana Ruiz", "Good, then."),
                ("Ben Ode", "Bye to all."),
            ],
        ),
    ],
)
def test_dialogue_in_text(text: str, expected: Said, tmp_path: Path) -> None:
    path = written(tmp_path / "talk.txt", text)
    assert import_format(path) == "text"
    assert said(path, "text") == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        *(
            (name, True)
            for name in ("Klaus", "Ana Ruiz", "Speaker 1", "José", "O'Neil", "Jean-Luc", "田中", "John Price")
        ),
        *((name, True) for name in ("John Price", "Juan de la Cruz", "Dr. Weber", "April", "May Lee")),
        *(
            (label, False)
            for label in ("Note", "Second option", "Zweite Option", "Nächster Schritt", "Monday", "Fazit")
        ),
        *((label, False) for label in ("Étape 2", "Opción", "Passo 1", "注意", "참고", "Then he said", "Hinweis", "Q")),
    ],
)
def test_labels_are_no_names(label: str, expected: bool) -> None:
    assert is_name(label) == expected
