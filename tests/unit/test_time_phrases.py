"""Time phrases of questions as periods, at any moment and in any zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.text.time_phrases import (
    MAX_PHRASES,
    YEARS_BACK,
    EventPhrase,
    event_phrases,
    period_around,
    time_phrases,
)
from neurigraph_pipelines.views.search import Period

WEDNESDAY = datetime(2023, 6, 14, 15, tzinfo=UTC)
OPEN = None


def named(text: str, now: datetime = WEDNESDAY) -> list[tuple[str | None, str | None]]:
    """The stretches as ISO days: the first, and the day after the last."""
    return [
        (p.starts_at.date().isoformat() if p.starts_at else OPEN, p.ends_at.date().isoformat() if p.ends_at else OPEN)
        for p in time_phrases(text, now)
    ]


SURE = [
    ("What did we do in May 2023?", "2023-05-01", "2023-06-01"),
    ("what did I say yesterday", "2023-06-13", "2023-06-14"),
    ("the day before yesterday", "2023-06-12", "2023-06-13"),
    ("What did we eat last night?", "2023-06-13", "2023-06-14"),
    ("what is on tonight", "2023-06-14", "2023-06-15"),
    ("this morning", "2023-06-14", "2023-06-15"),
    ("tomorrow", "2023-06-15", "2023-06-16"),
    ("Who called last week?", "2023-06-05", "2023-06-12"),
    ("last Friday", "2023-06-09", "2023-06-10"),
    ("what happened two weekends ago?", "2023-06-03", "2023-06-05"),
    ("last weekend", "2023-06-10", "2023-06-12"),
    ("this weekend", "2023-06-17", "2023-06-19"),
    ("3 days ago", "2023-06-11", "2023-06-12"),
    ("two months ago", "2023-04-01", "2023-05-01"),
    ("a year ago", "2022-01-01", "2023-01-01"),
    ("in the last three months", "2023-03-15", "2023-06-15"),
    ("over the past week", "2023-06-07", "2023-06-15"),
    ("this year", "2023-01-01", "2024-01-01"),
    ("next month", "2023-07-01", "2023-08-01"),
    ("in the summer of 2022", "2022-06-01", "2022-09-01"),
    ("winter 2022", "2022-12-01", "2023-03-01"),
    ("in Q2 2022", "2022-04-01", "2022-07-01"),
    ("between March and June 2022", "2022-03-01", "2022-07-01"),
    ("from 3 May to 8 June 2022", "2022-05-03", "2022-06-09"),
    ("before 2020", OPEN, "2020-01-01"),
    ("after 8 May 2023", "2023-05-09", OPEN),
    ("since May 2023", "2023-05-01", OPEN),
    ("until the 8th of May 2023", OPEN, "2023-05-09"),
    ("budget for 2023", "2023-01-01", "2024-01-01"),
    ("New Year's Eve 2022", "2022-12-31", "2023-01-01"),
    ("New Year’s Eve 2022", "2022-12-31", "2023-01-01"),
    ("On Monday, 8 May 2023, who came?", "2023-05-08", "2023-05-09"),
    ("2023-05-08", "2023-05-08", "2023-05-09"),
    ("8.5.2023", "2023-05-08", "2023-05-09"),
    ("13/5/2023", "2023-05-13", "2023-05-14"),
    ("Que s'est-il passé le 8 mai 2023 ?", "2023-05-08", "2023-05-09"),
    ("Was war am 8. Mai 2023?", "2023-05-08", "2023-05-09"),
    ("2023/05/08", "2023-05-08", "2023-05-09"),
    ("13-5-2023", "2023-05-13", "2023-05-14"),
    ("half a year ago", "2022-12-01", "2023-01-01"),
    ("a year and a half ago", "2021-12-01", "2022-01-01"),
    ("a fortnight ago", "2023-05-29", "2023-06-05"),
    ("the weekend before last", "2023-06-03", "2023-06-05"),
    ("in the week before last", "2023-05-29", "2023-06-05"),
    ("in May of last year", "2022-05-01", "2022-06-01"),
    ("May this year", "2023-05-01", "2023-06-01"),
    ("spring of last year", "2022-03-01", "2022-06-01"),
    ("no later than May 2023", OPEN, "2023-06-01"),
    ("no earlier than May 2023", "2023-05-01", OPEN),
    ("the week before Christmas 2022", "2022-12-18", "2022-12-25"),
    ("on the day after Christmas Day 2022", "2022-12-26", "2022-12-27"),
    ("two weeks after 8 May 2023", "2023-05-16", "2023-05-23"),
    ("at Thanksgiving 2022", "2022-11-24", "2022-11-25"),
    ("around Easter 2022", "2022-04-17", "2022-04-18"),
    ("on Good Friday 2023", "2023-04-07", "2023-04-08"),
    ("Easter Monday 2024", "2024-04-01", "2024-04-02"),
]


@pytest.mark.parametrize(("text", "start", "end"), SURE)
def test_unambiguous_time(text: str, start: str | None, end: str | None) -> None:
    assert named(text)[0] == (start, end)


GUESSES = [
    ("What happened last May?", "2023-05-01", "2023-06-01"),
    ("what did I do on 8 May?", "2023-05-08", "2023-05-09"),
    ("on 8 July", "2022-07-08", "2022-07-09"),
    ("in June", "2023-06-01", "2023-07-01"),
    ("in july", "2022-07-01", "2022-08-01"),
    ("on Friday", "2023-06-09", "2023-06-10"),
    ("on Wednesday", "2023-06-07", "2023-06-08"),
    ("last summer", "2022-06-01", "2022-09-01"),
    ("last winter", "2022-12-01", "2023-03-01"),
    ("in winter", "2022-12-01", "2023-03-01"),
    ("since Christmas", "2022-12-25", OPEN),
    ("between March and June", "2023-03-01", "2023-07-01"),
    ("between November and February", "2022-11-01", "2023-03-01"),
    ("in early 2022", "2022-01-01", "2022-05-03"),
    ("at the end of March", "2023-03-21", "2023-04-01"),
    ("mid-June 2022", "2022-06-11", "2022-06-21"),
    ("from 3 May to 8 June", "2023-05-03", "2023-06-09"),
    ("a few weeks ago", "2023-05-08", "2023-06-05"),
    ("5/8/2023", "2023-05-08", "2023-05-09"),
    ("29 February", "2020-02-29", "2020-03-01"),
    ("over the weekend", "2023-06-10", "2023-06-12"),
    ("several weeks ago", "2023-05-08", "2023-06-05"),
    ("two summers ago", "2021-06-01", "2021-09-01"),
    ("last Easter", "2023-04-09", "2023-04-10"),
    ("a week before Thanksgiving", "2022-11-17", "2022-11-24"),
]


@pytest.mark.parametrize(("text", "start", "end"), GUESSES)
def test_likeliest_reading_comes_first(text: str, start: str | None, end: str | None) -> None:
    assert named(text)[0] == (start, end)
    assert not time_phrases(text, WEDNESDAY)[0].certain


@pytest.mark.parametrize("text", [text for text, *_ in SURE])
def test_certain_time_is_one_period(text: str) -> None:
    (period,) = time_phrases(text, WEDNESDAY)
    assert period.certain


def test_yearless_dates_include_past_years() -> None:
    assert named("on 8 May") == [(f"{year}-05-08", f"{year}-05-09") for year in range(2023, 2023 - YEARS_BACK, -1)]
    assert named("since May") == [("2023-05-01", OPEN)]
    assert named("last May") == [("2023-05-01", "2023-06-01")]


@pytest.mark.parametrize(
    "text",
    [
        "may we march there?",
        "We may need the second one.",
        "What did he fall over?",
        "Sun, sat and second-hand may do.",
        "room 2023",
        "31 February 2023",
        "99/99/2023",
        "2023-13-45",
        "at 12 people",
        "on the weekend of the wedding",
        "",
        "\x00\ud800🦊",
    ],
)
def test_time_lookalikes_are_ignored(text: str) -> None:
    assert named(text) == []


def test_matched_words_are_verbatim() -> None:
    (period,) = time_phrases("Who came between\n 3 May 2023  and 8 May 2023?", WEDNESDAY)
    assert period.words == "between 3 May 2023 and 8 May 2023"


def test_days_use_callers_time_zone() -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    late = datetime(2023, 6, 14, 23, tzinfo=UTC)  # the 15th in Tokyo
    (period,) = time_phrases("yesterday", late.astimezone(tokyo))
    assert period == Period(
        words="yesterday",
        starts_at=datetime(2023, 6, 14, tzinfo=tokyo),
        ends_at=datetime(2023, 6, 15, tzinfo=tokyo),
        certain=True,
    )
    berlin = ZoneInfo("Europe/Berlin")  # clocks change inside this month
    (month,) = time_phrases("in March 2023", WEDNESDAY.astimezone(berlin))
    assert month.starts_at == datetime(2023, 2, 28, 23, tzinfo=UTC)
    assert month.ends_at == datetime(2023, 3, 31, 22, tzinfo=UTC)


_WORDS = st.sampled_from(
    "in on since before after between and from to until the last next this two a few days weeks weekends months years "
    "ago May march 8 29 31 February 2023 1900 summer of winter early late end Christmas Friday yesterday tomorrow Q3 "
    "2023-05-08 12/12/2022 8 mai 2023 before the move".split()
)
_ZONES = st.sampled_from([UTC, timezone(timedelta(hours=-12))])
_MOMENTS = st.datetimes(timezones=_ZONES)
# dateparser takes a second to load, and looks at a word in every language that it knows.


@given(st.lists(_WORDS, max_size=25).map(" ".join), _MOMENTS)
def test_any_text_gives_valid_periods(text: str, now: datetime) -> None:
    periods = time_phrases(text, now)
    assert len(periods) <= MAX_PHRASES * YEARS_BACK
    assert len(set(periods)) == len(periods)
    for period in periods:
        assert period.starts_at is not None or period.ends_at is not None
        if period.starts_at and period.ends_at:
            assert period.starts_at < period.ends_at
        assert all(bound.tzinfo is now.tzinfo for bound in (period.starts_at, period.ends_at) if bound)
        assert period.words in text


@given(st.text(max_size=200), _MOMENTS)
def test_no_text_is_too_strange(text: str, now: datetime) -> None:
    time_phrases(text, now)
    for phrase in event_phrases(text):
        assert phrase.event in phrase.words


def test_many_dates_are_bounded() -> None:
    assert len(time_phrases(" ".join(f"{day} May 2023," for day in range(1, 29)), WEDNESDAY)) == MAX_PHRASES
    assert len(event_phrases("before the move " * 400)) <= MAX_PHRASES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where did we live before the move?", EventPhrase("before", "the move", "before the move")),
        ("What did Ana say after the wedding about Dave?", EventPhrase("after", "the wedding", "after the wedding")),
        (
            "before the move to Lisbon did I sell the car",
            EventPhrase("before", "the move to Lisbon", "before the move to Lisbon"),
        ),
        (
            "after my call with Ana yesterday",
            EventPhrase("after", "my call with Ana", "after my call with Ana"),
        ),
        ("Was it ready before Bob's trip?", EventPhrase("before", "Bob's trip", "before Bob's trip")),
        ("since the surgery", EventPhrase("after", "the surgery", "since the surgery")),
        (
            "What did I cook the day after the wedding?",
            EventPhrase("after", "the wedding", "the day after the wedding", (timedelta(0), timedelta(days=1))),
        ),
        (
            "two weeks before our move",
            EventPhrase("before", "our move", "two weeks before our move", (timedelta(days=7), timedelta(days=14))),
        ),
    ],
)
def test_events_dated_by_memory(text: str, expected: EventPhrase) -> None:
    assert event_phrases(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "during the walk",
        "before the end of May",
        "after the 8th of May",
        "since the summer",
        "before long",
        "after all",
        "until the",
    ],
)
def test_date_is_no_event(text: str) -> None:
    assert event_phrases(text) == []


def test_event_day_belongs_to_both_sides() -> None:
    wedding = datetime(2022, 7, 25, 14, tzinfo=UTC)
    day, next_day = datetime(2022, 7, 25, tzinfo=UTC), datetime(2022, 7, 26, tzinfo=UTC)
    stretches = {
        relation: period_around(EventPhrase(relation, "the wedding", "…"), wedding) for relation in ("before", "after")
    }
    assert [(p.starts_at, p.ends_at) for p in stretches.values()] == [(None, next_day), (day, None)]
    assert not any(p.certain for p in stretches.values())


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("the day after the wedding", "2022-07-26", "2022-07-27"),
        ("the day before the wedding", "2022-07-24", "2022-07-25"),
        ("two weeks before the wedding", "2022-07-11", "2022-07-18"),
        ("a month after the wedding", "2022-07-26", "2022-08-25"),
    ],
)
def test_offset_from_event_is_short_period(text: str, start: str, end: str) -> None:
    (phrase,) = event_phrases(f"What happened {text}?")
    period = period_around(phrase, datetime(2022, 7, 25, 14, tzinfo=UTC))
    assert (period.starts_at, period.ends_at) == tuple(
        datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (start, end)
    )
    assert period.words == text
