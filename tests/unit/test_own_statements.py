"""What a person says of their own life, without a name: what is compared, and when two such statements are at odds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

import pytest

from neurigraph_pipelines.knowledge.candidates import MAX_ALIKE, MAX_OWN, alike_pairs, own_pairs
from neurigraph_pipelines.model.facts import Slot
from neurigraph_pipelines.model.verdicts import Authority, KnownFact, Pair
from neurigraph_pipelines.text.assertions import assertions_of, differences
from neurigraph_pipelines.views.kinds import FactKind, Verdict
from resources.offline.facts import stated_before_asking
from resources.offline.verdicts import judge

_SPACE = UUID("6f1b2c3d-0000-4000-8000-000000000084")


def _said(statement: str, day: int, *, is_own: bool = True, who: tuple[str, ...] = ()) -> KnownFact:
    return KnownFact(
        fact_id=uuid5(_SPACE, f"{statement} {day}"),
        record_id=uuid5(_SPACE, str(day)),
        statement=statement,
        kind=FactKind.OTHER,
        confidence=0.6,
        authority=Authority.STATEMENT,
        said_at=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day),
        is_own=is_own,
        who=who,
    )


_HAY = [
    _said(f"The user has {verb} the {thing} in {place}.", day)
    for day, (verb, thing, place) in enumerate(
        (verb, thing, place)
        for verb in ("painted", "repaired", "cleaned")
        for thing in ("fence", "gutter", "shed")
        for place in ("spring", "autumn")
    )
]

_AT_ODDS = [
    ("The user met Pavel at a chess congress in Turin.", "The user has never met Pavel or been to a chess congress."),
    ("The user just placed an order for skis.", 'User: "I\'ve never placed an online order for skis."'),
    ("The user's grade on the 5 sewing exercises was good.", "The user has never done any sewing exercises."),
]
_CHANGED = [
    ("User: \"I'm close to my $600 annual budget for skis.\"", "The user has skis on an increased budget of $650."),
    ("The user's choir rehearsal in the parish hall is on Friday at 3 PM.",
     "The user had to reschedule the choir rehearsal in the parish hall to 4 PM."),
    ("The user's parser has reached 65% test coverage.", "The test coverage of the user's parser has improved to 78%."),
    ("The user has learned 8 accordion tunes.", "The user has now learned 12 accordion tunes."),
]  # fmt: skip
_FINE = [
    ("The user has never met Pavel.", "The user met Jana at a chess congress in Turin."),
    ("The user wants to place an order for skis.", "The user has never placed an order for skis."),
    ("The user has 8 accordion tunes to learn.", "The user has now sewn 12 curtains."),
    ("The user's rent is $600.", "The user has now paid $650 for a bicycle."),
    ("The user's rent is $600.", "The user's rent is $600 now, too."),
    ("The user has learned 8 tunes.", "The user's speed has improved by 20% over 6 weeks."),
    ("The user sleeps 8 hours.", "The user wants to sleep at least 9 hours now."),
]


def _judged(earlier: str, later: str) -> Verdict:
    return judge(Pair(_said(later, 9), _said(earlier, 1))).verdict


@pytest.mark.parametrize(("earlier", "later"), _AT_ODDS)
def test_denial_contradicts_what_was_done(earlier: str, later: str) -> None:
    assert _judged(earlier, later) is Verdict.CONTRADICTS


@pytest.mark.parametrize(("earlier", "later"), _CHANGED)
def test_figure_that_changed_updates_the_one_before(earlier: str, later: str) -> None:
    assert _judged(earlier, later) is Verdict.UPDATES


@pytest.mark.parametrize(("earlier", "later"), _FINE)
def test_what_can_both_be_true_is_unrelated(earlier: str, later: str) -> None:
    assert _judged(earlier, later) is Verdict.UNRELATED


@pytest.mark.parametrize(
    ("later", "verdict"),
    [
        ("The user drives a Volvo now.", Verdict.UPDATES),
        ("The user drives a Volvo.", Verdict.UNRELATED),
        ("The user now also drives a Volvo.", Verdict.UNRELATED),
    ],
)
def test_another_car_replaces_the_one_before_with_a_word_of_change(later: str, verdict: Verdict) -> None:
    cars = ((_said(later, 9), "a Volvo"), (_said("The user drives a Skoda.", 1), "a Skoda"))
    later_one, earlier = (replace(one, slot=Slot("The user", "drives", car)) for one, car in cars)
    assert judge(Pair(later_one, earlier)).verdict is verdict


def test_sure_enough_for_a_person_never_for_an_effect() -> None:
    for earlier, later in (*_AT_ODDS, *_CHANGED):
        assert judge(Pair(_said(later, 9), _said(earlier, 1))).confidence < 0.8


@pytest.mark.parametrize(("earlier", "later"), [*_AT_ODDS, *_CHANGED])
def test_pair_at_odds_is_found_among_other_statements(earlier: str, later: str) -> None:
    old, new = _said(earlier, 1), _said(later, 90)
    assert Pair(new, old) in own_pairs([new], [*_HAY, old, new])


def test_same_thing_word_for_word_is_found_among_much_of_the_same() -> None:
    hay = [_said(f"The user wants to read of a coin toss problem {day}, {thing}.", day)
           for day, thing in enumerate(["coin", "toss"] * 4)]  # fmt: skip
    old = _said("The user's score on the 5 coin toss problems was good.", 70)
    new = _said("The user has never completed any coin toss problems.", 90)
    other = _said("The user tossed a coin about the problems at the lake.", 80)
    pairs = own_pairs([new], [*_HAY, *hay, old, other, new])
    assert Pair(new, old) in pairs
    assert Pair(new, other) not in pairs


def test_a_model_compares_what_shares_rare_words() -> None:
    old = _said("The user is proud of the daily quota of the weather service.", 70)
    new = _said("The user wrote to the weather service about the daily quota.", 90)
    assert own_pairs([new], [*_HAY, old, new]) == []
    assert alike_pairs([new], [*_HAY, old, new]) == [Pair(new, old)]
    assert alike_pairs([new], [*_HAY, replace(old, is_own=False), new]) == []
    assert alike_pairs([replace(new, is_own=False)], [*_HAY, old, new]) == []
    many = [replace(old, fact_id=uuid5(_SPACE, str(number)), message=number) for number in range(MAX_ALIKE + 3)]
    assert len(alike_pairs([new], [*_HAY, *many, new])) <= MAX_ALIKE


def test_of_one_day_the_later_message_is_the_later_one() -> None:
    for earlier, later in (*_AT_ODDS, *_CHANGED):
        for number in range(4):  # ids differ with the day and say nothing of the order
            said = replace(_said(earlier, number), message=3), replace(_said(later, number), message=40)
            old, new = (replace(one, said_at=said[0].said_at, record_id=said[0].record_id) for one in said)
            assert own_pairs([old], [*_HAY, old, new]) == own_pairs([new], [*_HAY, old, new]) == [Pair(new, old)]


def test_statements_of_others_and_of_one_message_are_not_compared() -> None:
    earlier, later = _AT_ODDS[0]
    old, new = _said(earlier, 1), _said(later, 9)
    assert own_pairs([new], [*_HAY, old, new])
    assert own_pairs([new], [*_HAY, _said(earlier, 1, is_own=False), new]) == []
    assert own_pairs([new], [*_HAY, _said(earlier, 9), new]) == []


def test_one_statement_is_compared_with_few() -> None:
    new = _said("The user has never repaired a gutter or painted a fence.", 99)
    many = [_said(f"The user repaired a gutter and painted a fence, part {day}.", day) for day in range(MAX_OWN + 3)]
    others = [_said(f"The user has read {'x' * length}.", length) for length in range(3, 90)]
    assert len(own_pairs([new], [*others, *many, new])) == MAX_OWN


def test_what_is_about_named_people_is_judged_by_its_words() -> None:
    old = _said("The user heard that Ana keeps bees behind the barn in Porto.", 1, who=("Ana",))
    new = _said("The user heard that Ana keeps bees behind the barn in Porto since May.", 9, who=("Ana",))
    assert judge(Pair(new, old)).verdict is not Verdict.UNRELATED
    assert judge(Pair(_said(new.statement, 9), _said(old.statement, 1))).verdict is Verdict.UNRELATED


def test_figures_have_units_and_kinds() -> None:
    (one,) = assertions_of("The user has finished 1,200 coin toss problems.").measures
    assert (one.unit, one.value, one.kinds) == ("problem", "1200", frozenset(["coin", "toss"]))
    assert [m.unit for m in assertions_of("It costs $20, at 7:45 PM, on 3 May, of 30%.").measures] == [
        "$",
        "clock",
        "%",
    ]


def test_a_long_statement_takes_linear_time() -> None:
    text = "I have never " + "repaired 8 gutters at 5 PM for $3, " * 4_000
    assert list(differences(text, "The user repaired 9 gutters.")) != []


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("I've never been to Oslo, can you recommend a hotel?", "I've never been to Oslo"),
        ("I've never been to Oslo, so I'm not sure where to stay", "I've never been to Oslo"),
        ("My rent rose to 900 euros, what should I do?", "My rent rose to 900 euros"),
        ("I like Rome, do you?", None),
        ("Can you help me, I've never been to Oslo?", None),
        ("You said it rains in Oslo, is that so?", None),
    ],
)
def test_statement_before_a_question(text: str, stated: str | None) -> None:
    assert stated_before_asking(text) == stated
