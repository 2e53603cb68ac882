"""Parts of a segment by the offline model, on written and generated conversations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from neurigraph_pipelines.ingestion.assign import file_segment
from neurigraph_pipelines.model import Message, Outline, Role, Segment, SegmentRef, SourceKind, TriggerType
from neurigraph_pipelines.model.errors import TransientError
from resources.minilm.embedder import NeurigraphEmbedder
from resources.offline.cohesion import Cohesion, Opening, opening_of
from resources.offline.language_model import OfflineLanguageModel
from resources.offline.prose import Prose

START = datetime(2025, 3, 3, 9, tzinfo=UTC)
MODEL = OfflineLanguageModel(None)
TRAINED = OfflineLanguageModel(NeurigraphEmbedder())

LAUNCH = [
    ("user", "My employee Dave runs the product launch and the budget is $40,000, the deadline is 14 June."),
    ("assistant", "What did Dave deliver this quarter, and which supplier is late with the prototype?"),
    ("user", "The prototype came before the deadline, but the supplier raised the invoice for the workshop."),
    ("assistant", "Then ask the supplier for a new contract, and tell the client about the delivery of the product."),
    ("user", "The client agreed. Dave deserves a raise, and marketing gets its own budget for the trade fair."),
    ("assistant", "A raise after the launch sounds fair; note it in the performance review of your employee."),
]
FISHING = [
    ("user", "By the way, I went fishing at the lake on Saturday and caught a huge bass with the new rod."),
    ("assistant", "Congratulations! Which lure did you use for the bass, and was the fishing good all day?"),
    ("user", "A spinner bait. Next weekend we try fly fishing for trout up at the river, camping in a tent."),
    ("assistant", "For trout a light rod is best; fly fishing needs patience, and camping needs a dry tent."),
    ("user", "I packed the tent and the fishing rod, and we will hike along the river to the campsite."),
    ("assistant", "Enjoy the hike and the fishing trip, and release the trout that are too small."),
]


def conversation(turns: Sequence[tuple[str, str]], *, title: str | None = None, first: int = 1) -> Segment:
    """A segment of turns; who is no role is a named author."""
    messages = tuple(
        Message(
            first + i,
            Role(who) if who in set(Role) else Role.USER,
            text,
            max(1, len(text) // 4),
            START + timedelta(minutes=i),
            author=None if who in set(Role) else who,
        )
        for i, (who, text) in enumerate(turns)
    )
    ref = SegmentRef(
        trigger_id=uuid4(),
        user_id=UUID(int=1),
        user_slug="bob",
        source_kind=SourceKind.CONVERSATION,
        source_id=uuid4(),
        source_external_id=None,
        title=title,
        trigger_type=TriggerType.CONVERSATION_END,
        first_message=first,
        last_message=first + len(messages) - 1,
        token_count=1,
        attempts=0,
    )
    return Segment(ref, messages)


def ranges(segment: Segment, model: OfflineLanguageModel = MODEL) -> list[tuple[str, int, int]]:
    placements = model.place(segment, Outline())
    return [(p.steps[0].name if p.steps else "", p.first_message, p.last_message) for p in placements]


def test_topic_change_is_cut() -> None:
    for model in (MODEL, TRAINED):
        assert ranges(conversation(LAUNCH + FISHING), model) == [("Business", 1, 6), ("Hobbies", 7, 12)]
    back = conversation(FISHING + LAUNCH, first=40)
    assert ranges(back, TRAINED) == [("Hobbies", 40, 45), ("Business", 46, 51)]


def test_small_talk_joins_a_topic() -> None:
    chatter = [("user", "Thanks, that helps!"), ("assistant", "You are welcome, any time.")]
    (_, _, end), (_, begin, last) = ranges(conversation(LAUNCH + chatter + FISHING))
    assert (begin, last) == (end + 1, 14)
    assert begin in {7, 9}


def test_aside_is_a_part_and_its_end_a_return() -> None:
    turns = LAUNCH + FISHING[:2] + LAUNCH
    assert ranges(conversation(turns), TRAINED) == [("Business", 1, 6), ("Hobbies", 7, 8), ("Business", 9, 14)]


def test_two_notes_are_two_parts() -> None:
    notes = [
        ("user", "The gate code of the workshop is 4711."),
        ("user", "By the way, my passport expires in March 2036."),
    ]
    assert [(first, last) for _, first, last in ranges(conversation(notes))] == [(1, 1), (2, 2)]


def test_names_tell_subjects_apart() -> None:
    def clearest(second: str) -> float:
        turns = [("user", "Yesterday Mugi ate nothing again."), ("user", f"The plan of {second} is ready.")]
        return Cohesion(Prose(conversation(turns)), {}, None).apart((0, 1), (1, 2))

    assert clearest("Sioned") > clearest("Mugi")


def test_answer_stays_with_its_question() -> None:
    turns = [("user", "Which lure is best for bass?"), ("assistant", "By the way, my invoice program says: a spinner.")]
    assert len(ranges(conversation(turns))) == 1


@pytest.mark.parametrize(
    ("text", "language", "new", "same"),
    [
        ("OK, completely different subject: the piano", "en", True, True),
        ("And for the car I need tyres", "en", True, False),
        ("The car needs tyres", "en", False, False),
        ("It needs tyres", "en", False, True),
        ("Gut. Was anderes: die Steuer", "de", True, True),
        ("Cambiando de tema, el coche", "es", True, False),
        ("Au fait, le jardin", "fr", True, False),
        ("話は変わりますが、猫です", "ja", True, False),
        ("By the way, the car", "xx", False, False),
    ],
)
def test_how_a_message_begins(text: str, language: str, new: bool, same: bool) -> None:
    assert opening_of(text, language) == Opening(new=new, same=same)


def test_single_topic_stays_whole() -> None:
    turns = [(who, f"{text} That is week {week}.") for week in range(40) for who, text in LAUNCH]
    assert ranges(conversation(turns)) == [("Business", 1, 240)]


def test_parts_begin_with_a_question() -> None:
    late = [("user", "And another thing, please."), ("tool", "calendar: nothing"), ("assistant", FISHING[0][1])]
    turns = LAUNCH + late + FISHING
    segment = conversation(turns)
    (_, _, end), (_, begin, _) = ranges(segment, TRAINED)
    assert begin == end + 1 == 7
    assert segment.messages[begin - 1].role is Role.USER


def test_parts_share_names_of_people() -> None:
    first = [("user", "My coworker Anna Smith said the client signs. Anna Smith wrote the contract."), *LAUNCH]
    second = [*FISHING, ("user", "My coworker Anna caught a trout while fishing, and Anna told me about the lake.")]
    business, hobbies = TRAINED.place(conversation(first + second), Outline())
    assert "Anna Smith" in {relation.other for relation in business.relations}
    assert "Anna" not in {relation.other for relation in hobbies.relations}
    assert "Anna Smith" in {relation.other for relation in hobbies.relations}


def test_parts_have_own_descriptions() -> None:
    segment = conversation(LAUNCH + FISHING, title="Monday with Bob")
    parts = [segment.within(first, last) for _, first, last in ranges(segment)]
    summaries = [MODEL.summarize(part, 120) for part in parts]
    assert len({summary.title for summary in summaries}) == 2
    assert not any(summary.title == "Monday with Bob" for summary in summaries)
    assert "fishing" in summaries[1].text.lower()
    assert "fishing" not in summaries[0].text.lower()
    launch, fishing = (set(MODEL.extract_keywords(part).topics) for part in parts)
    assert not launch & fishing
    assert MODEL.summarize(segment, 120).title == "Monday with Bob"


def test_empty_part_has_title_and_position() -> None:
    segment = conversation([*LAUNCH, ("user", "ok"), ("assistant", "ok")], title="Monday with Bob")
    assert MODEL.summarize(segment.within(7, 8), 60).title == "Monday with Bob (from message 7)"


class Close:
    """An embedder to which all texts are alike, or which cannot be reached."""

    model = "close"
    dimensions = 4
    prefix_trained = False
    is_remote = False
    max_tokens = 1_000

    def __init__(self, *, reachable: bool) -> None:
        self._reachable = reachable

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        if not self._reachable:
            raise TransientError("not now")
        return np.full((len(texts), 4), 0.5, np.float32)


def test_similar_meaning_is_not_cut() -> None:
    segment = conversation(LAUNCH + FISHING)
    assert len(ranges(segment, OfflineLanguageModel(Close(reachable=True)))) == 1
    assert ranges(segment, OfflineLanguageModel(Close(reachable=False))) == ranges(segment)


words = st.sampled_from(
    [text for _, text in LAUNCH + FISHING] + ["ok", "", "\x00\ud800", "我们明天去钓鱼。", "🎣" * 50]
)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "Ann", "tool"]), words), min_size=1, max_size=40))
def test_placements_tile_any_text(turns: list[tuple[str, str]]) -> None:
    segment = conversation(turns, first=5)
    filings = file_segment(segment, MODEL.place(segment, Outline()), Outline(), 0.75)
    covered = [seq for filing in filings for seq in range(filing.first_message, filing.last_message + 1)]
    assert covered == [message.seq for message in segment.messages]


@pytest.mark.slow
def test_segmentation_is_linear() -> None:
    def seconds(repeats: int) -> float:
        half = [(who, f"{text} {text} Number {i}.") for i in range(repeats) for who, text in LAUNCH]
        other = [(who, f"{text} {text} Number {i}.") for i in range(repeats) for who, text in FISHING]
        segment = conversation(half + other)
        began = time.process_time()
        assert [name for name, _, _ in ranges(segment)] == ["Business", "Hobbies"]
        return time.process_time() - began

    small, large = seconds(200), seconds(1_000)
    assert large < 60
    assert large < 9 * max(small, 0.5)


def test_what_shares_no_word_is_no_return() -> None:
    tablets = [
        ("user", "I started ramipril 5 mg for my blood pressure this week, one tablet in the morning."),
        ("assistant", "Good. Did the doctor say when to measure?"),
        ("user", "Morning and evening, and I write the values in a table."),
        ("assistant", "Keep it up for two weeks."),
    ]
    lease = [
        ("user", "Completely different subject: the warehouse lease. From March the rent is 2,400 euros."),
        ("assistant", "How long does it run?"),
        ("user", "Three years, and Carla Voss wants it signed by the 15th."),
    ]
    trip = [
        ("user", "By the way, Dave and I go fishing on Lake Orrin on Saturday."),
        ("assistant", "What do you fish for?"),
        ("user", "Pike, with silver spinners. Dave brings the boat. Dave is my brother-in-law."),
    ]
    placed = TRAINED.place(conversation(tablets + lease + trip), Outline())
    assert [(one.first_message, one.steps[0].name) for one in placed] == [(1, "Health"), (5, "Home"), (8, "Hobbies")]
