"""Placement by the offline language model, also of real conversations."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.ingestion.assign import assign_batch
from neurigraph_pipelines.model import ConceptKind, Filing, Outline, OutlineNode, PlannedNode, Segment
from resources.minilm.embedder import LocalEmbedder
from resources.offline.language_model import OfflineLanguageModel
from resources.offline.lexicon import topics
from resources.offline.names import find_names
from resources.offline.prose import Prose
from tests.support.chats import JUNK, MODEL, MONDAY, chat

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data with LoCoMo and QMSum is not here")


LAUNCH = chat(
    ("user", "My employee Dave runs the product launch, the budget is $40,000."),
    ("assistant", "What did Dave deliver this quarter?"),
    ("user", "The prototype, before the deadline. Dave deserves a raise."),
    at=MONDAY,
)


ANNIVERSARY = chat(
    ("user", "My brother-in-law Dave and my sister Ana have their wedding anniversary next month. What gift?"),
    ("assistant", "A family photo album would be lovely."),
    ("user", "Ana loves flowers and Dave likes wine; my sister cooks for the whole family."),
    at=MONDAY + timedelta(days=1),
)
FISHING = chat(
    ("user", "Went fishing with my fishing buddy Dave, he caught a huge bass."),
    ("assistant", "What lure did Dave use?"),
    ("user", "A spinner bait. Next we try fly fishing for trout."),
    at=MONDAY + timedelta(days=2),
)


def file_all(segments: Sequence[Segment]) -> tuple[list[list[Filing]], dict[tuple[str, ...], PlannedNode]]:
    filed = [filings for filings in assign_batch(segments, {}, MODEL, 0.75) if isinstance(filings, list)]
    assert len(filed) == len(segments)
    nodes = {node.path: node for filings in filed for filing in filings for node in filing.new_nodes}
    return filed, nodes


def test_person_in_three_topics() -> None:
    filed, nodes = file_all([LAUNCH, ANNIVERSARY, FISHING])
    (launch,), (anniversary,), (fishing,) = filed
    assert launch.path == ("Business", "Dave")
    assert anniversary.path[0] == "Family"
    assert fishing.path == ("Hobbies", "Fishing")
    assert [path for path, node in nodes.items() if name_key(path[-1]) == "dave"] == [("Business", "Dave")]
    edges = [edge for filings in filed for filing in filings for edge in filing.edges]
    to_dave = {(edge.from_path, edge.relation) for edge in edges if edge.to_path == ("Business", "Dave")}
    assert to_dave == {
        (("Business",), "employee"),
        (("Family",), "brother-in-law"),
        (("Hobbies", "Fishing"), "fishing buddy"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My knee hurts, should I see a doctor?", "Health"),
        ("Plan a trip to Lisbon with flights and a hotel", "Travel"),
        ("How do I roll over my 401k into an IRA before taxes are due?", "Finance"),
        ("Our builder wants $18,000 to renovate the kitchen", "Home"),
        ("best sourdough recipe, with rye flour?", "Food"),
        ("write a python function that parses json", "Technology"),
        ("help me study for my spanish exam", "Education"),
        ("our puppy chewed the leash", "Pets"),
        ("we volunteer at the homeless shelter", "Community"),
        ("I started watercolor painting", "Hobbies"),
    ],
)
def test_topics_by_cue_words_alone(text: str, expected: str) -> None:
    (placement,) = MODEL.place(chat(("user", text)), Outline())
    assert placement.steps[0].name == expected
    assert placement.steps[0].confidence >= 0.75


def path_of(*turns: tuple[str, str], title: str | None = None, model: OfflineLanguageModel = MODEL) -> list[str]:
    (placement,) = model.place(chat(*turns, title=title), Outline())
    return [step.name for step in placement.steps if step.confidence >= 0.75]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The hive swarmed and the queen bee is gone. Is any honey left in the hive?", ["Hobbies", "Beekeeping"]),
        ("Meine Katze frisst nicht. Der Tierarzt sagt, es seien die Zähne.", ["Pets"]),
        ("Wir haben einen Wasserschaden und warten auf die Trocknungsfirma und den Küchenbauer.", ["Home"]),
        ("Mi abuela cumple ochenta años y viene toda la familia, también mis primos.", ["Family"]),
        ("Mon fils a son examen au lycée et le professeur a donné des devoirs.", ["Education"]),
        (
            "The offer price went up, so my solicitor wrote to the court about divorce and custody.",
            ["Legal", "Divorce"],
        ),
        ("These sneakers pinch. Which sneakers last? My old sneakers are torn.", ["Sneakers"]),
    ],
)
def test_subject_decides(text: str, expected: list[str]) -> None:
    assert path_of(("user", text)) == expected


def test_table_of_expenses_is_money() -> None:
    table = "date,category,amount\n2025-01-03,groceries,54.20\n2025-01-04,rent,890.00\n2025-01-05,electricity,61.10"
    assert path_of(("user", table), title="expenses.csv")[0] == "Finance"


def test_notes_of_a_beekeeper_are_no_technology(local_embedder: LocalEmbedder) -> None:
    notes = (
        "My apiary scale sends its weight by radio. The battery of the sensor was empty on Sunday.",
        "The colony gained 1.2 kilos in a day, the lime trees are in flower.",
        "I logged the temperature between the frames: 34.6 degrees, so there is brood.",
        "The super is half full of honey. I cut out the drone brood because of the mites.",
    )
    turns = [("user", note) for note in notes]
    assert path_of(*turns, model=OfflineLanguageModel(local_embedder))[:1] == ["Hobbies"]
    assert path_of(*turns)[:1] in ([], ["Hobbies"])


def test_unknown_subject_has_its_own_words(local_embedder: LocalEmbedder) -> None:
    text = "My turban came loose twice. Six metres of muslin make a turban, and I tie a turban again each morning."
    assert path_of(("user", text), model=OfflineLanguageModel(local_embedder)) == ["Turban"]


def test_friend_who_writes_to_owner_is_no_subject() -> None:
    turns = [("Bob", "My bike lost its chain again."), ("Marek", "I have gears and a chain for your bike, Bob.")] * 3
    assert path_of(*turns) == ["Hobbies", "Cycling"]


def test_meaning_counts_without_cue_words(local_embedder: LocalEmbedder) -> None:
    model = OfflineLanguageModel(local_embedder)
    text = "The starter doubled overnight, the crumb came out open and the crust crackled."
    assert path_of(("user", text)) == []
    assert path_of(("user", text), model=model) == ["Food"]
    assert path_of(("user", "Thanks, that is great!"), model=model) == []


def test_unclear_area_waits_for_a_decision() -> None:
    turns = [("user", "The dog chewed the tax return."), ("user", "Now the puppy ate my savings book.")]
    (placement,) = MODEL.place(chat(*turns), Outline(()))
    assert placement.steps == ()
    assert sorted(placement.proposals) == [("Finance",), ("Pets",)]
    (more,) = MODEL.place(chat(*(turns * 4)), Outline(()))
    assert len(more.steps) == 1, "where much is said, the first area is right often enough"


def test_a_name_decides_between_two_areas() -> None:
    own = Outline((OutlineNode(("Finance",), ConceptKind.TOPIC), OutlineNode(("Finance", "Holt"), ConceptKind.TOPIC)))
    said = [("user", "The dog chewed the tax return."), ("user", "Ask Holt about the puppy and the savings book.")]
    (placement,) = MODEL.place(chat(*said), own)
    assert [step.name for step in placement.steps] == ["Finance", "Holt"]
    assert placement.proposals == ()


def test_child_that_user_has_is_used() -> None:
    own = Outline(
        (
            OutlineNode(("Work",), ConceptKind.TOPIC),
            OutlineNode(("Work", "Greenhouses"), ConceptKind.TOPIC),
        )
    )
    turns = [
        ("user", f"A client of our company ordered greenhouses, {n} of them, before the deadline.") for n in range(5)
    ]
    (placement,) = MODEL.place(chat(*turns), own)
    assert [step.name for step in placement.steps] == ["Business", "Greenhouses"]


@pytest.mark.parametrize("text", ["hi", "", "Wow, thanks!", "🎉", "ok cool"])
def test_small_talk_demands_no_topic(text: str) -> None:
    (placement,) = MODEL.place(chat(("user", text)), Outline())
    assert placement.steps == ()


@pytest.mark.parametrize(("other", "names"), [("Anna", ("Mel",)), ("Melvin", ())])
def test_short_form_that_fits_two_speakers_names_neither(other: str, names: tuple[str, ...]) -> None:
    segment = chat(
        ("Melanie", "Hello there, I moved the boat."),
        ("Ben", "Did Mel see it? I asked Mel twice."),
        (other, "Mel laughed at Mel's boat."),
    )
    assert {person.name: person.aliases for person in find_names(Prose(segment)).persons}["Melanie"] == names


def test_project_by_short_name() -> None:
    first = chat(("user", "Project Atlas needs a vendor contract. The deadline for Project Atlas is Friday."))
    again = chat(("user", "How is Atlas doing? I think the Atlas garden is late."), at=MONDAY + timedelta(days=1))
    filed, nodes = file_all([first, again])
    assert nodes["Business", "Project Atlas"].kind is ConceptKind.PROJECT
    assert [filings[0].path for filings in filed] == [("Business", "Project Atlas")] * 2


def test_short_form_that_fits_two_speakers() -> None:
    """Mel is Melanie as long as nobody else could be meant."""
    turns = [("Melanie", "I went to the pottery class."), ("Caroline", "How was it, Mel? You looked happy, Mel.")]
    names = find_names(Prose(chat(*turns)))
    assert {person.name: person.aliases for person in names.persons}["Melanie"] == ("Mel",)
    names = find_names(Prose(chat(*turns, ("Melissa", "It was fun."))))
    assert [person.name for person in names.persons if "Mel" in person.aliases] == []


def test_title_names_subject() -> None:
    turns = (("user", "Seven days of rain. The best was 97 centimetres."), ("assistant", "And the price?"))
    (placement,) = MODEL.place(chat(*turns, title="Fishing with Dave at Lake Orrin"), Outline())
    assert [step.name for step in placement.steps] == ["Hobbies", "Dave"]
    assert placement.steps[0].confidence >= 0.75


def test_relations_through_a_relative_are_read() -> None:
    found = MODEL.extract_keywords(chat(("user", "I was at my sister Ana's. Ana's husband Dave cooked.")))
    assert "brother-in-law: Dave" in found.relationships


def test_existing_topic_is_used() -> None:
    own = Outline((OutlineNode(("Beekeeping",), ConceptKind.TOPIC, keywords=("hive", "honey", "queen bee")),))
    (placement,) = MODEL.place(
        chat(("user", "The hive swarmed, the queen bee is gone. Any honey left in the hive?")), own
    )
    assert placement.steps[0].name == "Beekeeping"


@pytest.mark.parametrize(
    "text",
    [
        "Project <script>alert(1)</script> launch Project <script>",
        "my boss Robert'); DROP TABLE nodes;-- said Robert'); DROP TABLE nodes;--",
        f"my boss {'Xy' * 150} said so, {'Xy' * 150} said so, with {'Xy' * 150}",
        "my boss 12345 said 12345 and Project 999 launch of Project 999",
    ],
)
def test_hostile_names_become_no_nodes(text: str) -> None:
    (placement,) = MODEL.place(chat(("user", text), ("user", text)), Outline())
    for step in placement.steps:
        assert re.fullmatch(r"[A-Za-z' .-]{2,40}", step.name)


def test_own_user_is_no_node() -> None:
    by_slug = chat(("Bob", "My doctor says my knee needs surgery."), ("Ann", "Oh no, poor knee, Bob! Bob, rest."))
    by_role = chat(("Rob", "My doctor says my knee needs surgery."), ("assistant", "Rob, rest."), slug="x1")
    for segment, own in ((by_slug, "Bob"), (by_role, "Rob")):
        (placement,) = MODEL.place(segment, Outline())
        assert own not in {step.name for step in placement.steps}


def test_every_topic_has_a_description_and_cues() -> None:
    names = [topic.name for topic in topics()]
    assert len(names) == len(set(names)) >= 12
    for topic in topics():
        assert topic.description.endswith(".")
        assert len(topic.cues) >= 15
        assert all(cues for cues in topic.subtopics.values())


# Real conversations


def locomo(name: str) -> list[Segment]:
    talk = json.loads((DATA / "locomo" / f"{name}.json").read_text())["conversation"]
    numbers = sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key)))
    return [
        chat(
            *((turn["speaker"], turn["text"]) for turn in talk[f"session_{n}"]),
            at=datetime.strptime(talk[f"session_{n}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC),
            slug="demo",
            external_id=f"{name}:session_{n}",
        )
        for n in numbers
    ]


@needs_data
def test_locomo_becomes_a_sensible_tree() -> None:
    segments = [segment for name in ("conv-26", "conv-42", "conv-49") for segment in locomo(name)]
    filed, nodes = file_all(segments)
    parts = Counter(len(filings) for filings in filed)
    assert parts[1] > 0.75 * len(filed)
    assert max(parts) <= 3
    top = Counter(filings[0].path[0] if filings[0].path else "" for filings in filed)
    assert len(top) >= 4
    assert max(top.values()) <= len(segments) / 2
    assert top[""] <= 3
    persons = Counter(path[-1] for path, node in nodes.items() if node.kind is ConceptKind.PERSON)
    assert {name: persons[name] for name in ("Caroline", "Melanie", "Joanna", "Nate", "Evan", "Sam")} == dict.fromkeys(
        ("Caroline", "Melanie", "Joanna", "Nate", "Evan", "Sam"), 1
    )
    assert not {name_key(path[-1]) for path in nodes} & JUNK
    assert len(nodes) <= 40
    for segment in segments:
        summary = MODEL.summarize(segment, 200)
        assert 70 <= len(summary.text.split()) <= 200
        assert not re.match(r"\w+ and \w+: (wow|hey|thanks)", summary.title)


@needs_data
def test_batch_equals_one_by_one() -> None:
    segments = locomo("conv-26")
    together, _ = file_all(segments)
    known: list[OutlineNode] = []
    for segment, expected in zip(segments, together, strict=True):
        (alone,) = assign_batch([segment], {segment.ref.user_id: Outline(tuple(known))}, MODEL, 0.75)
        assert isinstance(alone, list)
        assert [filing.path for filing in alone] == [filing.path for filing in expected]
        for node in {node.path: node for filing in alone for node in filing.new_nodes}.values():
            known.append(OutlineNode(node.path, node.kind, node.summary, node.keywords, node.aliases, 1))


@needs_data
@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Bed004", "Education"),
        ("Bro003", "Education"),
        ("ES2002a", "Business"),
        ("IS1000a", "Business"),
        ("covid_1", "Government"),
        ("education_1", "Education"),
    ],
)
def test_qmsum_meetings_are_filed_by_topic(name: str, topic: str) -> None:
    turns = json.loads((DATA / "qmsum" / f"{name}.json").read_text())["meeting_transcripts"]
    segment = chat(*((turn["speaker"], turn["content"]) for turn in turns))
    (filings,), nodes = file_all([segment])
    assert filings[0].path[0] == topic
    assert ConceptKind.PERSON not in {node.kind for node in nodes.values()}
    text = MODEL.summarize(segment, 200).text
    assert "{" not in text
    assert len(text.split()) <= 200
