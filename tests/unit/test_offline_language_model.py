"""The offline language model: dates, summaries, keywords and placement."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.ingestion.assign import assign_batch
from neurigraph_pipelines.model import (
    ConceptKind,
    Filing,
    Message,
    Outline,
    OutlineNode,
    PlannedNode,
    Role,
    Segment,
    SegmentRef,
    SourceKind,
    TriggerType,
)
from neurigraph_pipelines.ports import LanguageModel
from resources.offline.dates import foreign_dates, resolve_dates
from resources.offline.language_model import OfflineLanguageModel
from resources.offline.lexicon import topics
from resources.offline.names import person_of_author
from resources.offline.prose import sentences

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data with LoCoMo and QMSum is not here")

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
MODEL = OfflineLanguageModel(None)

JUNK = set(
    re.findall(
        r"\w+",
        "wow hey thanks awesome cool great yeah hi hello congrats good nice ok okay sure yes no may monday today user "
        "assistant someone project manager grad phd professor i you we she he it gonna lol bye",
    )
)


def chat(
    *turns: tuple[str, str],
    at: datetime = MONDAY,
    slug: str = "bob",
    title: str | None = None,
    external_id: str | None = None,
) -> Segment:
    """A segment of turns; ``user`` and ``assistant`` are roles, everything else is a named author."""
    messages = tuple(
        Message(
            seq=i + 1,
            role=Role.ASSISTANT if who == "assistant" else Role.USER,
            content=text,
            token_count=len(text) // 4,
            occurred_at=at + timedelta(seconds=20 * i),
            author=None if who in {"user", "assistant"} else who,
        )
        for i, (who, text) in enumerate(turns)
    )
    ref = SegmentRef(
        trigger_id=uuid4(),
        user_id=UUID(int=1),
        user_slug=slug,
        source_kind=SourceKind.CONVERSATION,
        source_id=uuid4(),
        source_external_id=external_id,
        title=title,
        trigger_type=TriggerType.CONVERSATION_END,
        first_message=1,
        last_message=len(messages),
        token_count=1,
        attempts=0,
    )
    return Segment(ref, messages)


def test_implements_port() -> None:
    model: LanguageModel = MODEL
    assert (model.name, model.concurrency) == ("offline", 1)


# Dates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went to a support group yesterday.", ["2023-05-07"]),
        ("the day before yesterday", ["2023-05-06"]),
        ("We camped two weekends ago.", ["2023-04-29"]),
        ("It was last weekend!", ["2023-05-06"]),
        ("I met her last Friday", ["2023-05-05"]),
        ("I went for a check-up Monday", ["2023-05-01"]),
        ("Send it by Friday.", ["2023-05-12"]),
        ("He said he'd bring the boat on Saturday", ["2023-05-13"]),
        ("two days ago, or three weeks ago", ["2023-05-06", "2023-04"]),
        ("last week and next month", ["2023-05", "2023-06"]),
        ("last month, last year, ten years ago", ["2023-04", "2022", "2013"]),
        ("We met last May and will meet next May", ["2022-05", "2024-05"]),
        ("in January it snowed", ["2023-01"]),
        ("Since December", ["2022-12"]),
        ("last summer", ["2022-06", "2022-07", "2022-08"]),
        ("in the summer of 2021", ["2021-06", "2021-07", "2021-08"]),
        ("this summer", ["2023-06", "2023-07", "2023-08"]),
        ("last winter", ["2022-12", "2023-01", "2023-02"]),
        ("on 7 May 2023 and May 9th, 2023", ["2023-05-07", "2023-05-09"]),
        ("moved to Friday June 16", ["2023-06-16"]),
        ("March 2022, 2021-12-24, 2020-02 and 12/31/2019", ["2022-03", "2021-12-24", "2020-02", "2019-12-31"]),
        ("since 2016", ["2016"]),
        ("in a couple of months", ["2023-07"]),
    ],
)
def test_relative_dates(text: str, expected: list[str]) -> None:
    assert resolve_dates(text, MONDAY) == expected


@pytest.mark.parametrize(
    "text",
    [
        "we may sit in the sun",
        "May I? I may, we may.",
        "march on, second to none",
        "Since we last spoke, 5 of 10 times",
        "31/31/2023 or 2023-13-45",
        "it fell, spring water",
        "version 2.10.3, call 555-1234",
        "",
    ],
)
def test_date_lookalikes_are_ignored(text: str) -> None:
    assert resolve_dates(text, MONDAY) == []


@given(st.text(max_size=200), st.datetimes(timezones=st.just(UTC)))
def test_any_text_at_any_time_gives_iso_dates(text: str, at: datetime) -> None:
    for day in resolve_dates(f"last year {text} two weeks ago next summer", at):
        assert re.fullmatch(r"\d{4}(-\d\d){0,2}", day)


def test_dates_of_other_languages() -> None:
    assert foreign_dates("Rendez-vous le 8 mai 2023, y el 3 de marzo de 2022.", MONDAY) == ["2023-05-08", "2022-03-03"]


# Summaries

REVIEW = chat(
    ("user", "Hi! I need help preparing Dave's performance review."),
    ("assistant", "Sure, happy to help! What did he deliver?"),
    (
        "user",
        "Dave is my employee, he runs the product launch. The deadline moved to June 14 and the budget is $40,000.",
    ),
    ("assistant", "Great. Anything else?"),
    ("user", "We decided that Dave will get a raise of 5% by Friday. Thanks!"),
)


def test_summary_holds_decisions_and_numbers() -> None:
    summary = MODEL.summarize(REVIEW, 60)
    assert summary.text.startswith("8 May 2023. User: ")
    for detail in ("$40,000", "June 14", "5%", "by Friday"):
        assert detail in summary.text
    assert "Thanks" not in summary.text
    assert "Anything else" not in summary.text
    assert summary.title.startswith("Dave, ")
    assert summary == MODEL.summarize(REVIEW, 60)


@pytest.mark.parametrize("words", [20, 60, 200, 5_000])
def test_summary_length(words: int) -> None:
    turns = [("Ann", f"Report {i} says that machine {i} in hall {i % 7} needs part number {i}.") for i in range(400)]
    length = len(MODEL.summarize(chat(*turns), words).text.split())
    assert 0.6 * min(words, 180) <= length <= min(words, 180) + 8


def test_given_title_is_kept() -> None:
    assert MODEL.summarize(chat(("user", "Wow"), title=" Weekly   sync "), 50).title == "Weekly sync"
    assert len(MODEL.summarize(chat(("user", "Wow"), title="long title " * 50), 50).title) <= 81


@pytest.mark.parametrize(
    "content",
    [
        "",
        "   \n",
        "🎉🎉",
        "hi",
        "Wow! Thanks!",
        "12345",
        "x" * 5_000,
        "|a|b|\n|-|-|\n" * 50,
        "a\x00b\ud800",
        "我们明天去北京开会。",
    ],
)
def test_any_text_has_summary_and_title(content: str) -> None:
    summary = MODEL.summarize(chat(("user", content)), 200)
    assert summary.text.strip()
    assert 0 < len(summary.title) <= 81
    assert summary.title.lower() not in JUNK
    summary.text.encode()
    summary.title.encode()


def test_chinese_is_summarised_by_sentences() -> None:
    text = "我们明天去北京开会，讨论新产品的预算。预算是五万元。好的！"
    assert "五万元" in MODEL.summarize(chat(("user", text)), 100).text


def test_transcript_noise_is_not_shown() -> None:
    shown = list(sentences("Um , I 'm Laura {vocalsound} and uh I run the the D_V_D_ project . {disfmarker}"))
    assert shown == ["I'm Laura and I run the DVD project."]


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant", "Ann", "<b>"]), st.text(max_size=300)), min_size=1, max_size=4
    )
)
def test_no_text_is_too_strange(turns: list[tuple[str, str]]) -> None:
    segment = chat(*turns)
    assert MODEL.summarize(segment, 100).text
    MODEL.extract_keywords(segment)
    (placement,) = MODEL.place(segment, Outline())
    assert (placement.first_message, placement.last_message) == (1, len(turns))


@pytest.mark.slow
def test_half_a_million_tokens_take_seconds() -> None:
    line = "My coworker Dave said on Friday that plant {} needs {} pumps, and nobody had expected such a number. "
    turns = [("user" if i % 2 else "assistant", line.format(i, i % 13) * 4) for i in range(5_000)]
    segment = chat(*turns)
    start = time.process_time()
    assert MODEL.summarize(segment, 200).text
    assert time.process_time() - start < 20


# Keywords


def test_keywords_are_names_topics_dates_and_relationships() -> None:
    found = MODEL.extract_keywords(
        chat(
            (
                "user",
                "My sister Ana and my coworker Dave saw Lisbon last summer. Dave's wife Lena took the photos.",
            ),
            ("assistant", "Wow! What did Ana like best in Lisbon?"),
            ("user", "Hey, the tram rides. Ana loves tram rides, and the tram museum. It was Monday."),
        )
    )
    assert {"Ana", "Dave", "Lena", "Lisbon"} <= set(found.entities)
    assert not {name.lower() for name in found.entities} & JUNK
    assert "tram" in " ".join(found.topics)
    assert found.dates[:3] == ("2022-06", "2022-07", "2022-08")
    assert set(found.relationships) == {"sister: Ana", "coworker: Dave", "Dave's wife: Lena"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my sister's husband Dave", "brother-in-law: Dave"),
        ("Dave, my brother-in-law, came.", "brother-in-law: Dave"),
        ("Dave is my boss", "boss: Dave"),
        ("dave is my boss", "boss: Dave"),
        ("Our builder Tom came.", "builder: Tom"),
        ("I met my fishing buddy Dave", "fishing buddy: Dave"),
        ("Dave married my sister Ana", "brother-in-law: Dave"),
        ("My best friend Anna Smith called", "best friend: Anna Smith"),
        ("Dr. Lee is my dentist", "dentist: Lee"),
    ],
)
def test_stated_relations_are_read(text: str, expected: str) -> None:
    assert expected in MODEL.extract_keywords(chat(("user", text))).relationships


@pytest.mark.parametrize(
    "text", ["my sister Wow", "my boss Monday", "my friend and I", "my sister is Great", "my wife Ok"]
)
def test_ordinary_words_are_no_relatives(text: str) -> None:
    assert MODEL.extract_keywords(chat(("user", text))).relationships == ()


def test_relation_belongs_to_speaker() -> None:
    found = MODEL.extract_keywords(chat(("Ann", "My sister Eva is here."), ("Ben", "Say hello to Eva, Ann.")))
    assert found.relationships == ("Ann's sister: Eva",)


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ("Caroline", "Caroline"),
        ("Hon. Ahmed Hussen (Minister of Families)", "Ahmed Hussen"),
        ("Lynne Neagle AM", "Lynne Neagle"),
        ("小明", "小明"),
        ("Project Manager", None),
        ("Grad A", None),
        ("The Acting Chair (Mr. Bruce Stanton)", None),
        ("speaker_1", None),
        ("<script>", None),
        ("A" * 300, None),
        ("user", None),
    ],
)
def test_role_is_no_person(author: str, name: str | None) -> None:
    assert person_of_author(author) == name


def test_keyword_fields_are_bounded() -> None:
    turns = [
        ("user", f"My friend Mary{chr(97 + i % 26)}o saw Town{chr(97 + i // 26)}x of gizmo{i} in {1900 + i % 120}.")
        for i in range(600)
    ]
    found = MODEL.extract_keywords(chat(*turns))
    assert len(found.entities) <= 20
    assert len(found.topics) <= 15
    assert len(found.dates) <= 24
    assert len(found.relationships) <= 12


# Placement

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
        ("I started watercolor painting", "Arts"),
    ],
)
def test_topics_by_cue_words_alone(text: str, expected: str) -> None:
    (placement,) = MODEL.place(chat(("user", text)), Outline())
    assert placement.steps[0].name == expected
    assert placement.steps[0].confidence >= 0.75


@pytest.mark.parametrize("text", ["hi", "", "Wow, thanks!", "🎉", "ok cool"])
def test_small_talk_demands_no_topic(text: str) -> None:
    (placement,) = MODEL.place(chat(("user", text)), Outline())
    assert placement.steps == ()


def test_project_by_short_name() -> None:
    first = chat(("user", "Project Atlas needs a vendor contract. The deadline for Project Atlas is Friday."))
    again = chat(("user", "How is Atlas doing? I think the Atlas garden is late."), at=MONDAY + timedelta(days=1))
    filed, nodes = file_all([first, again])
    assert nodes["Business", "Project Atlas"].kind is ConceptKind.PROJECT
    assert [filings[0].path for filings in filed] == [("Business", "Project Atlas")] * 2


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
        assert 80 <= len(summary.text.split()) <= 180
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
        ("Bed004", "Research"),
        ("Bro003", "Research"),
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
