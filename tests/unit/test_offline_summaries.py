"""Summaries of the offline language model: sentences that can be understood alone, and nothing that nobody said."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from neurigraph_pipelines.model import Summary
from resources.offline.dated_quotes import with_dates
from resources.offline.language_model import OfflineLanguageModel
from resources.offline.references import References
from resources.offline.retelling import retold
from tests.support.chats import chat

MODEL = OfflineLanguageModel(None)
MONDAY = datetime(2025, 3, 3, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I moved to Porto with my sister.", "Nora moved to Porto with Nora's sister."),
        ("I'm late and I've lost my key.", "Nora is late and Nora has lost Nora's key."),
        ("I have four buckets and I borrowed a strainer.", "Nora has four buckets and borrowed a strainer."),
        ("I bought bread and butter, and closed the shop.", "Nora bought bread and butter, and closed the shop."),
        ("I never carry more than I need.", "Nora never carries more than Nora needs."),
        ("I don't count on it, but I will ask.", "Nora doesn't count on it, but Nora will ask."),
        ("I'd like to know what I'd promised.", "Nora would like to know what Nora had promised."),
        ("You earned 51,240 euros and your van cost 12,500.", "Tom earned 51,240 euros and Tom's van cost 12,500."),
        ("I told you the truth.", "Nora told Tom the truth."),
        ("Here are tips to help you", "Here are tips to help Tom"),
        ("Salome paid 25,500 by phone.", "Salome paid 25,500 by phone."),
    ],
)
def test_first_person_becomes_name(said: str, told: str) -> None:
    assert retold(said, "Nora", "Tom") == told


@pytest.mark.parametrize(
    "said",
    [
        "We moved on Sunday.",
        "I hurt myself.",
        "I live here and work there.",
        "I moved here in March and work there now.",
        "I put it on the table.",
        'He said "I am late".',
        "She and I are friends.",
        "What do I know about wells.",
    ],
)
def test_uncertain_grammar_is_not_retold(said: str) -> None:
    assert retold(said, "Nora", "Tom") is None
    assert retold("I told you.", "Nora", None) is None


@pytest.mark.parametrize(
    ("said", "dated"),
    [
        ("We met on Saturday.", "We met on Saturday 1 March."),
        ("He came yesterday and pays tomorrow.", "He came on 2 March and pays on 4 March."),
        ("I run every Tuesday and Thursday.", "I run every Tuesday and Thursday."),
        ("As of today, 3 March 2025, Bo is well.", "As of today, 3 March 2025, Bo is well."),
        ("Mediation tomorrow is off, Bo is ill.", "Mediation on 4 March is off, Bo is ill."),
        ("I paid until today.", "I paid until 3 March."),
        ("I don't need last year.", "I don't need last year (2024)."),
        ("Yes, to tomorrow week.", "Yes, to 11 March."),
        ("We meet on Friday week.", "We meet on 14 March."),
        ("I left a week ago yesterday.", "I left a week ago yesterday."),
        ("The day after tomorrow week.", "The day after tomorrow week."),
        ("Today's soup, on Saturday the 8th.", "Today's soup, on Saturday the 8th of March."),
    ],
)
def test_relative_dates_become_absolute(said: str, dated: str) -> None:
    assert with_dates(said, MONDAY, 2025) == dated


def test_weekday_of_a_journey_is_one_of_its_days() -> None:
    journey = "We are in Lisbon from 15 to 18 May. Which flights did you book?"
    assert with_dates("Out on Thursday at 7, back on Sunday.", MONDAY, 2025, journey) == (
        "Out on Thursday 15 May at 7, back on Sunday 18 May."
    )


def test_weekday_with_a_day_before_is_not_resolved_again() -> None:
    assert with_dates("I come on Thursday.", MONDAY, 2025, "Thursday the 19th?") == "I come on Thursday."
    assert with_dates("He can do the 7th.", MONDAY, 2025, "Not the 14th of June.") == "He can do the 7th."
    assert with_dates("It is now on the 29th.", MONDAY, 2025) == "It is now on the 29th of March."


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("My neighbour Peter climbed up; he was stung 11 times", True),
        ("My daughter Achieng named her Malkia", False),
        ("Marek told him the truth", False),
        ("Mediation is off, because it would cost too much", True),
        ("They come on the 30th", False),
        ("Arvid wants to open it", False),
        ("I need the second one", False),
        ("The frame fell, no harm done.; My daughter Achieng named her Malkia", False),
        ("The mediation is off; same time on Monday", False),
        ("The bees left and they sat in the tree", True),
    ],
)
def test_pronouns_need_what_they_mean(text: str, clear: bool) -> None:
    assert References({"Peter", "Marek", "Achieng"}, {"mediation"}).are_clear(text) is clear


def test_conversation_is_told_in_sentences_that_stand_alone() -> None:
    summary = MODEL.summarize(
        chat(
            (
                "Ilse",
                "Hi Marek! My bike makes a noise. I bought it in May 2019 at Falkner, the chain was never changed.",
            ),
            ("Marek", "Oh dear. Shall I come? The harvest fair is on 7 June, so I have time on 14 June."),
            ("Ilse", "Great, thanks!! What will the parts cost?"),
            ("Marek", "Chain 25, cassette about 45. My colleague Jana broke her collarbone like that."),
            ("Ilse", "Wow! The harvest fair is now on 21 June, I read. ```x = {'a': 1}```"),
        ),
        200,
    ).text
    assert summary.startswith("On 8 May 2023: Ilse's bike makes a noise; Ilse bought it in May 2019 at Falkner")
    assert 'Asked "What will the parts cost?", Marek answered "Chain 25, cassette about 45' in summary
    assert "The harvest fair is now on 21 June" in summary
    assert "7 June" not in summary  # corrected later
    assert "x =" not in summary
    assert "Wow" not in summary


def test_thanks_before_an_answer_are_left_out() -> None:
    answer = "Thanks, Ann. We paid 1,200 euros for the tiles in May. Bo was there on 3 May with his van."
    told = MODEL.summarize(chat(("Ann", "What did the new roof of the house cost?"), ("Ben", answer)), 200)
    assert told.text.count("1,200 euros") == 1
    assert "Thanks" not in told.text


def test_chosen_sentences_of_a_message_are_one_sentence() -> None:
    text = "I paid 212 pounds to Harrow Mutual on 20 March. Well, well, well. I bought Anil's tester for 140 pounds."
    told = MODEL.summarize(chat(("Ann", text)), 200).text
    assert "Ann paid 212 pounds to Harrow Mutual on 20 March; Ann bought Anil's tester for 140 pounds." in told


def test_names_of_days_and_people_keep_their_capital_within_a_sentence() -> None:
    text = "Saturday costs 24 euros at Mill Quay. Sunday costs 19 euros at Corra. Miss Ina's hotel takes 340 euros."
    told = MODEL.summarize(chat(("Ann", text), ("Ben", "On sunday I miss it.")), 200).text
    assert "; Sunday costs 19 euros at Corra; Miss Ina's hotel takes 340 euros" in told


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("Afterwards there's a post at the institute", False),
        ("Otherwise the shop keeps the deposit", False),
        ("After the defence there's a post at the institute", True),
    ],
)
def test_what_happens_after_something_else_needs_it(text: str, alone: bool) -> None:
    assert References({"Ann"}, set()).begins_alone(text) is alone


def test_other_languages_are_quoted() -> None:
    text = "Ich habe am 13. Januar den neuen Boden bestellt. Er kostet 4.860 Euro. Das ist viel Geld für uns alle."
    summary = MODEL.summarize(chat(("Annegret", text)), 200).text
    assert 'Annegret: "Ich habe am 13. Januar den neuen Boden bestellt; er kostet 4.860 Euro' in summary


def test_assistant_counts_less_than_its_user_but_fills_a_report() -> None:
    advice = "Keep bees in the shade, count 12 frames and feed 3 kilos of sugar in October. "
    said = "I own 5 hives in Nyeri and I sold 34 kilos of honey to Tumaini Café on 2 May."
    assert "34 kilos" in MODEL.summarize(chat(("Ann", said), ("assistant", advice * 3)), 30).text
    report = "You earned 51,240 euros in 2024. " * 3
    assert "Ann earned 51,240 euros" in MODEL.summarize(chat(("Ann", "Write it."), ("assistant", report)), 60).text


@pytest.mark.parametrize(
    "text", ["I and you and it; " * 4_000, "so, " * 20_000, "on Monday " * 10_000, "I'd " * 20_000]
)
def test_long_text_takes_no_longer_for_each_word(text: str) -> None:
    seconds = []
    for part in (text[: len(text) // 4], text):
        start = time.process_time()
        MODEL.summarize(chat(("Ann", part), ("Ben", part)), 200)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 10 * seconds[0] + 0.2


def test_merged_summaries_take_turns() -> None:
    parts = [Summary(f"Day {number}", f"Ana walked {number} miles. Then Ana slept.") for number in range(1, 101)]
    merged = MODEL.merge(parts, 60)
    assert merged.title == "Day 1 – Day 100"
    assert "Ana walked 1 miles." in merged.text
    assert merged.text.index("walked 1 miles") < merged.text.index("walked 100 miles")
    assert len(merged.text.split()) <= 60
    assert MODEL.merge(parts[:1], 60) == Summary("Day 1", "Ana walked 1 miles. Then Ana slept.")
    assert MODEL.merge([Summary("Day 1", "One long sentence " * 30)], 10).text
