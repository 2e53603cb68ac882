"""Dates of a conversation, in the languages that the offline model knows."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resources.offline.date_words import LANGUAGES
from resources.offline.dated_quotes import dated
from resources.offline.dates import MAX_DATES, find_dates, resolve_dates
from resources.offline.prose import Prose
from tests.support.chats import MONDAY, chat

DECEMBER = datetime(2025, 12, 10, 19, 5, tzinfo=UTC)


def dates_of(*turns: str, at: datetime = MONDAY) -> list[str]:
    """The dates of messages that two people write in turn."""
    return find_dates(Prose(chat(*((("Ann", "Ben")[n % 2], text) for n, text in enumerate(turns)), at=at)))


NOVEMBER = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "I was in Lisbon on May 3-4, 2024", ["2024-05-03", "2024-05-04"]),
        ("en", "We went March 16-17", ["2026-03-16", "2026-03-17"]),
        ("en", "It was on November 21 and 23.", ["2026-11-21", "2026-11-23"]),
        ("en", "July 4th-6th we camped", ["2026-07-04", "2026-07-05", "2026-07-06"]),
        ("en", "between May 3 and May 5, 2023", ["2023-05-03", "2023-05-05"]),
        ("en", "We met on 3 May and 5 June 2023.", ["2023-05-03", "2023-06-05"]),
        ("en", "We met on May 3, June 4 and July 5, 2023.", ["2023-05-03", "2023-06-04", "2023-07-05"]),
        ("en", "on March 1, March 3 and March 9, 2022", ["2022-03-01", "2022-03-03", "2022-03-09"]),
        ("en", "We stayed from March 2 2024 at 3pm until March 3.", ["2024-03-02", "2024-03-03"]),
        ("en", "The fair is June 3-5 and 7th, 2025.", ["2025-06-03", "2025-06-04", "2025-06-05", "2025-06-07"]),
        ("en", "On May 3 and 2 friends came.", ["2026-05-03"]),
        ("en", "I was there Mon 3 and Tue 4 March.", ["2025-03-03", "2025-03-04"]),
        ("en", "I was there Mon 4 and Fri 5 March.", []),
        ("en", "December 30 to January 3, 2024", ["2023-12-30", "2024-01-03"]),
        ("en", "May 3 and January 5, 2024", ["2024-01-05"]),
        ("en", "From Sept 28 - 3 Oct", ["2026-09-28", "2026-10-03"]),
        ("en", "in May and June 2023", ["2023-05", "2023-06"]),
        ("en", "the 3rd, 4th and 5th of June 2023", ["2023-06-03", "2023-06-04", "2023-06-05"]),
        ("en", "I moved half a year ago.", ["2026-05"]),
        ("en", "May 3/4, 2024", ["2024-05-03", "2024-05-04"]),
        ("en", "Add May 3/4 cup.", []),
        ("en", "19３2-05 and 20２4-05-03", ["1932-05", "2024-05-03"]),
        ("de", "Wir waren 16.03.-17.03.2024 weg.", ["2024-03-16", "2024-03-17"]),
        ("de", "Wir waren am 20.05. und 22.05.2024 da.", ["2024-05-20", "2024-05-22"]),
        ("de", "am 3.5. und 4.5.2023", ["2023-05-03", "2023-05-04"]),
        ("de", "Ich war am 3. Mai und am 5. Juni 2023 da.", ["2023-05-03", "2023-06-05"]),
        ("de", "zwischen dem 3. Mai und dem 5. Mai 2023", ["2023-05-03", "2023-05-05"]),
        ("de", "Am 3./4. und 6. Juni war Fest.", ["2026-06-03", "2026-06-04", "2026-06-06"]),
        ("de", "vom 3.-5.5.2023", ["2023-05-03", "2023-05-04", "2023-05-05"]),
        ("de", "vom 3. bis 5. und am 7. Juni 2023", ["2023-06-03", "2023-06-04", "2023-06-05", "2023-06-07"]),
        ("de", "Vor einem halben Jahr zog ich um.", ["2026-05"]),
        ("es", "del 3 al 5 de mayo de 2024 y el 7", ["2024-05-03", "2024-05-04", "2024-05-05", "2024-05-07"]),
        ("es", "entre el 3 de mayo y el 5 de mayo de 2023", ["2023-05-03", "2023-05-05"]),
        ("fr", "entre le 3 mai et le 5 mai 2023", ["2023-05-03", "2023-05-05"]),
        ("fr", "du 3 au 5 mai 2024 et le 7", ["2024-05-03", "2024-05-04", "2024-05-05", "2024-05-07"]),
        ("it", "tra il 16.03. e il 17.03.2024", ["2024-03-16", "2024-03-17"]),
        ("nl", "16.03. en 17.03.2024", ["2024-03-16", "2024-03-17"]),
        ("en", "February 29-March 1, 2025", ["2025-03-01"]),
        ("it", "dal 3 al 5 maggio 2024", ["2024-05-03", "2024-05-04", "2024-05-05"]),
        ("it", "il 1° maggio e il 3 giugno 2024", ["2024-05-01", "2024-06-03"]),
        ("nl", "Ik was er op 3 mei 2024, in juni 2023.", ["2024-05-03", "2023-06"]),
        ("nl", "3-5 mei 2024", ["2024-05-03", "2024-05-04", "2024-05-05"]),
        ("pt", "em 3 de maio de 2024, março de 2023", ["2024-05-03", "2023-03"]),
        ("zh", "我2024年5月3日去了, 5月4日回来", ["2024-05-03", "2026-05-04"]),
        ("ja", "2024年5月に行きました", ["2024-05"]),
        ("ko", "5월 3일에 갔다, 2024년 6월 1일", ["2026-05-03", "2024-06-01"]),
    ],
)
def test_lists_and_ranges_share_their_year(language: str, text: str, expected: list[str]) -> None:
    assert resolve_dates(text, NOVEMBER, language) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went to a support group yesterday.", ["2023-05-07"]),
        ("the day before yesterday", ["2023-05-06"]),
        ("tomorrow week", ["2023-05-16"]),
        ("a week today", ["2023-05-15"]),
        ("Update, it's Monday evening now.", ["2023-05-08"]),
        ("We talk then, Monday.", ["2023-05-15"]),
        ("We danced until late last night.", ["2023-05-07"]),
        ("We camped two weekends ago.", ["2023-04-29"]),
        ("It was last weekend!", ["2023-05-06"]),
        ("two days ago, or three weeks ago", ["2023-05-06"]),
        ("last week and next month", ["2023-06"]),
        ("last month, last year, ten years ago", ["2023-04", "2022", "2013"]),
        ("in a couple of months", ["2023-07"]),
        ("We met last May and will meet next May", ["2022-05", "2024-05"]),
        ("in the summer of 2021, or in the winter of '98", ["2021", "1998"]),
        ("on 7 May 2023 and May 9th, 2023", ["2023-05-07", "2023-05-09"]),
        ("moved to Friday June 16", ["2023-06-16"]),
        (
            "He was born on 3 May 1887, served 1914-1918 and is in the 1921 census.",
            ["1887-05-03", "1914", "1918", "1921"],
        ),
        ("On the last Friday of June we close.", ["2023-06-30"]),
        ("March 2022, 2021-12-24, 2020-02 and 12/31/2019", ["2022-03", "2021-12-24", "2020-02", "2019-12-31"]),
        ("The order of 04/05/2023 came.", ["2023-05-04"]),
        ("since 2016", ["2016"]),
        ("We came on 2 May. The next day it rained, and two days later we left.", ["2023-05-02"]),
        ("We are happy that they gave us 13 July.", ["2023-07-13"]),
        ("It came on 30 December last year, and Last year the frost came on 3 November.", ["2022-12-30", "2022-11-03"]),
        ("She paid on New Year's Day.", ["2023-01-01"]),
        ("We stay from June 28 to July 3.", ["2023-06-28", "2023-07-03"]),
        ("I am free on June 28 and Tuesday, July 4.", ["2023-06-28", "2023-07-04"]),
        ("It ran from September 2, 2021 to February 9, 2022.", ["2021-09-02", "2022-02-09"]),
        ("We met on Sept. 2, 2021. Then it rained. He came in May. 2 of us left.", ["2021-09-02", "2023-05"]),
        ("We moved to Lisbon in September.", ["2022-09"]),
    ],
)
def test_phrase_is_resolved(text: str, expected: list[str]) -> None:
    assert resolve_dates(text, MONDAY) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met her last Friday", ["2023-05-05"]),
        ("I went for a check-up Monday", ["2023-05-01"]),
        ("My bike makes a terrible noise since Sunday.", ["2023-05-07"]),
        ("Send it by Friday.", ["2023-05-12"]),
        ("They rebuilt it on Saturday and we liked it.", ["2023-05-06"]),
        ("He comes on Saturday.", ["2023-05-13"]),
        ("Tell me by Friday week.", ["2023-05-19"]),
        ("The exam is a week from Friday.", ["2023-05-19"]),
        ("Last week on Tuesday he rang; Tuesday of next week is better.", ["2023-05-02", "2023-05-16"]),
        ("Thanks for Sunday, it was lovely.", ["2023-05-07"]),
    ],
)
def test_weekday_is_the_nearest_in_the_direction_of_the_tense(text: str, expected: list[str]) -> None:
    assert resolve_dates(text, MONDAY) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He lost his job in September.", ["2025-09"]),
        ("The deposit is due on 9 January.", ["2026-01-09"]),
        ("The fine was due on 31 January.", ["2025-01-31"]),
        ("She used it on 30 December.", ["2024-12-30"]),
        ("20 June: tax", ["2025-06-20"]),
        ("Sunday 1 February it is", ["2026-02-01"]),
    ],
)
def test_another_year_needs_a_reason(text: str, expected: list[str]) -> None:
    assert resolve_dates(text, DECEMBER) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The course is from 14 to 16 April 2024.", ["2024-04-14", "2024-04-15", "2024-04-16"]),
        ("The 17th to the 19th I am away.", ["2023-05-17", "2023-05-18", "2023-05-19"]),
        ("It ran from 1 March to 30 June 2021.", ["2021-03-01", "2021-06-30"]),
        ("We are away from 3 to 20 June.", ["2023-06-03", "2023-06-20"]),
        ("We leave on 17 June and come home on Thursday the 22nd.", ["2023-06-17", "2023-06-22"]),
        ("Can you be there on the 2nd and the 3rd?", ["2023-06-02", "2023-06-03"]),
    ],
)
def test_ranges_and_bare_days(text: str, expected: list[str]) -> None:
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
        "the 5th floor, the 19th century, in 2000 steps, for 1950 euros",
        "I run every Tuesday and Thursday, and rest on Sundays.",
        "He gives lessons on the first Saturday of every month.",
        "Nets on Thursday as usual?",
        "I swim in April every year.",
        "We might go in December.",
        "I could bring it on Sunday.",
        "It never rains in September.",
        "Rehearsals are Tuesday and Friday evenings, and the office is open Monday to Friday.",
        "We rehearse on Tuesday and Friday, every week.",
        "He said he'd call on Monday, but he didn't.",
        "If you want him, tell him before 1 June.",
        "Not today, and not on Friday.",
        "Two days later it rained.",
        "Rent is due on the 15th each month.",
        "The original date was 31 May.",
        "I play in the Sunday Street Band.",
        "this week, one week",
        "Next year it will cost more.",
        "How likely is it in a year?",
        "What is the boat worth today?",
        "It feels like just yesterday.",
        "Assume that it went live on 30 March.",
        "They deliver from Monday through Saturday.",
        "Different ways of mar.",
        "```\n2023-05-01 failed\n```",
        "",
    ],
)
def test_no_date(text: str) -> None:
    assert resolve_dates(text, MONDAY) == []


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (["The first session is on 4 June.", "The session is off."], ["2023-06-04"]),
        (["Shall we meet on the 18th?", "I can't do that, sorry. The 19th?", "Fine, the 19th."], ["2023-05-19"]),
        (["We go on the 20th.", "We can't go on the 20th of May, but on the 27th."], ["2023-05-27"]),
        (["Did you hear from the school?", "Yes, on Friday."], ["2023-05-05"]),
        (["Our session is tomorrow.", "The session tomorrow is off. New date is the 18th."], ["2023-05-18"]),
        (["Is it still the 17th of May?", "No, it is the 24th."], ["2023-05-24"]),
        (
            ["Are the talks on 2 and 9 June?", "Is the hall open on 4 July?", "On 4 July, yes."],
            ["2023-06-02", "2023-06-09", "2023-07-04"],
        ),
        (["We fly in June.", "On 14 June?", "Yes. And the Meiers in July."], ["2023-06-14", "2023-07"]),
        (["I come on Friday, the 19th.", "Good.", "At four on Friday, then?"], ["2023-05-19"]),
        (["The party is on 5 June. Two days later we fly.", "Good."], ["2023-06-05"]),
        (["The party is on 5 June.", "The shop moved its sale to 9 July.", "And ours?"], ["2023-06-05", "2023-07-09"]),
    ],
)
def test_later_sentences_take_dates_back(turns: list[str], expected: list[str]) -> None:
    assert dates_of(*turns) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "am 3. März", ["2023-03-03"]),
        ("de", "Am 3. Juni 2024 oder am 14.02. und am 1.2.2022", ["2024-06-03", "2022-02-01"]),
        (
            "de",
            "Gestern und vorgestern, morgen und übermorgen",
            ["2023-05-07", "2023-05-06", "2023-05-09", "2023-05-10"],
        ),
        ("de", "Guten Morgen! Ich komme jeden Montag, auch morgens, und freitags.", []),
        ("de", "Am Samstag ist der Schlauch geplatzt.", ["2023-05-06"]),
        ("de", "Der Gutachter kommt am Donnerstag um 9 Uhr.", ["2023-05-11"]),
        ("de", "Er kommt am Montag, dem 15.", ["2023-05-15"]),
        ("de", "vor zwei Tagen, letzten Monat, seit 2019, im März 2020", ["2023-05-06", "2023-04", "2019", "2020-03"]),
        ("de", "vom 14. bis 16. Juni", ["2023-06-14", "2023-06-15", "2023-06-16"]),
        ("de", "Das kostet 2000 Euro. Das Haus wurde 1998 gebaut.", ["1998"]),
        ("de", "Im Sommer 1967", ["1967"]),
        ("de", "Am 3. Mai kamen sie, und am nächsten Tag fuhren sie ab.", ["2023-05-03"]),
        ("de", "Er kommt nächste Woche am Freitag.", ["2023-05-19"]),
        ("es", "El 3 de marzo de 2022, el 12/06/2023 y el 1 de junio", ["2022-03-03", "2023-06-12", "2023-06-01"]),
        ("es", "ayer, anteayer, mañana y pasado mañana", ["2023-05-07", "2023-05-06", "2023-05-09", "2023-05-10"]),
        ("es", "por la mañana, la semana pasada, todos los lunes y los jueves", []),
        ("es", "el mes pasado, el año que viene, hace tres días", ["2023-04", "2023-05-05"]),
        ("es", "Firmamos este viernes.", ["2023-05-12"]),
        ("es", "Llegó el sábado.", ["2023-05-06"]),
        ("es", "Abrimos el sábado 20.", ["2023-05-20"]),
        ("es", "en el verano del 98", ["1998"]),
        ("es", "Salimos el 3 de mayo. Dos días después llegó.", ["2023-05-03"]),
        ("es", "Viene el martes de la semana que viene.", ["2023-05-16"]),
        ("fr", "le 3 mars 2022, le 14/02/2023 et le 1er juin", ["2022-03-03", "2023-02-14", "2023-06-01"]),
        ("fr", "hier, avant-hier, demain et après-demain", ["2023-05-07", "2023-05-06", "2023-05-09", "2023-05-10"]),
        ("fr", "Je nage tous les lundis, et le mardi.", []),
        ("fr", "le mois dernier, l'année prochaine, il y a trois jours", ["2023-04", "2023-05-05"]),
        ("fr", "Il est arrivé samedi.", ["2023-05-06"]),
        ("fr", "On se voit vendredi prochain, le 12.", ["2023-05-12"]),
        ("fr", "du 14 au 16 juin", ["2023-06-14", "2023-06-15", "2023-06-16"]),
        ("it", "Ci vediamo il 3 marzo, 2023-06-01 o 12.06.2023", ["2023-03-03", "2023-06-01", "2023-06-12"]),
    ],
)
def test_languages(language: str, text: str, expected: list[str]) -> None:
    assert resolve_dates(text, MONDAY, language) == expected


@pytest.mark.parametrize(
    ("language", "quote", "shown"),
    [
        (
            "en",
            "I saw her yesterday evening, and last Sunday; today we meet on the 29th.",
            "I saw her yesterday evening (7 May 2023), and last Sunday; today we meet on the 29th (29 May 2023).",
        ),
        ("en", "It came last month, in October 2021.", "It came last month (April 2023), in October 2021."),
        ("en", "We married on 14 August.", "We married on 14 August (2022)."),
        ("en", "From 17 to 19 June I am away.", "From 17 to 19 June I am away."),
        ("en", "It's Monday of the last week.", "It's Monday of the last week."),
        ("de", "Gestern Abend war er da, freitags nie.", "Gestern Abend (7 May 2023) war er da, freitags nie."),
        ("es", "Ayer por la noche llegó.", "Ayer por la noche (7 May 2023) llegó."),
        ("it", "Ci vediamo venerdì.", "Ci vediamo venerdì."),
        ("it", "Ci vediamo il 3 marzo.", "Ci vediamo il 3 marzo."),
        ("zh", "我们5月3日见面。", "我们5月3日见面。"),
        ("en", "We met on 3 May and 5 June 2021.", "We met on 3 May and 5 June 2021."),
        ("en", "Gestern kam Ana.", "Gestern (7 May 2023) kam Ana."),
        ("de", "Ayer vi a Ana.", "Ayer (7 May 2023) vi a Ana."),
        ("en", "Hier j'ai vu Ana.", "Hier (7 May 2023) j'ai vu Ana."),
        ("fr", "Hier ist der Schlüssel.", "Hier ist der Schlüssel."),
        ("es", "Yesterday I saw Ana.", "Yesterday (7 May 2023) I saw Ana."),
    ],
)
def test_quote_says_what_its_dates_mean(language: str, quote: str, shown: str) -> None:
    assert dated(quote, MONDAY, language) == shown


@pytest.mark.parametrize(
    ("language", "quote", "shown", "dates"),
    [
        ("en", "The mast will arrive on 12 May.", "The mast will arrive on 12 May (2027).", ["2027-05-12"]),
        ("en", "The mast arrives on 12 May.", "The mast arrives on 12 May.", ["2027-05-12"]),
        ("en", "My birthday is on 4 May.", "My birthday is on 4 May.", []),
        ("en", "Ana was born on 4 May.", "Ana was born on 4 May.", []),
        ("en", "We celebrated her birthday on 4 May.", "We celebrated her birthday on 4 May.", ["2026-05-04"]),
        ("en", "Bought the mast on 4 May.", "Bought the mast on 4 May.", ["2026-05-04"]),
        ("en", "The village fair is on 3 January.", "The village fair is on 3 January.", ["2027-01-03"]),
        ("en", "I moved here on 3 December.", "I moved here on 3 December (2025).", ["2025-12-03"]),
        ("en", "They got married on 14 February.", "They got married on 14 February.", ["2026-02-14"]),
        ("de", "Am 3. Dezember sind wir umgezogen.", "Am 3. Dezember (2025) sind wir umgezogen.", ["2025-12-03"]),
        ("de", "Ich habe ihn am 3. Dezember gekauft.", "Ich habe ihn am 3. Dezember (2025) gekauft.", ["2025-12-03"]),
        ("es", "Me casé el 14 de diciembre.", "Me casé el 14 de diciembre (2025).", ["2025-12-14"]),
        ("fr", "Je me suis mariée le 14 décembre.", "Je me suis mariée le 14 décembre.", ["2025-12-14"]),
        ("en", "Harvest starts in March.", "Harvest starts in March.", ["2027-03"]),
        ("en", "The market is on Saturday.", "The market is on Saturday.", []),
        ("en", "The dentist is on Monday.", "The dentist is on Monday.", ["2026-11-30"]),
        (
            "en",
            "We met at the market on Saturday.",
            "We met at the market on Saturday (21 November 2026).",
            ["2026-11-21"],
        ),
        ("en", "We met on Saturday.", "We met on Saturday (21 November 2026).", ["2026-11-21"]),
        ("en", "The rent is due on the 1st.", "The rent is due on the 1st.", ["2026-12-01"]),
        ("de", "Jeden Montag gehe ich schwimmen.", "Jeden Montag gehe ich schwimmen.", []),
        ("de", "Ana hat am 4. Mai Geburtstag.", "Ana hat am 4. Mai Geburtstag.", []),
        ("de", "Wir pflanzten ihn am 4. Januar.", "Wir pflanzten ihn am 4. Januar.", ["2026-01-04"]),
        ("de", "Am 3. Januar werde ich operiert.", "Am 3. Januar (2027) werde ich operiert.", ["2027-01-03"]),
        ("es", "Mi cumpleaños es el 4 de mayo.", "Mi cumpleaños es el 4 de mayo.", []),
        ("es", "Ana nació el 4 de mayo.", "Ana nació el 4 de mayo.", []),
        ("fr", "Mon anniversaire est le 4 mai.", "Mon anniversaire est le 4 mai.", []),
        ("fr", "Le marché est samedi.", "Le marché est samedi.", []),
    ],
)
def test_quote_invents_no_year(language: str, quote: str, shown: str, dates: list[str]) -> None:
    at = datetime(2026, 11, 27, tzinfo=UTC)
    assert dated(quote, at, language) == shown
    assert resolve_dates(quote, at, language) == dates


def test_text_without_a_time_has_only_dates_with_a_year() -> None:
    text = "The mast arrives on 12 May, the sail on 3 and 4 June 2025. Yesterday it rained; see 2024-01-05."
    assert resolve_dates(text, NOVEMBER, is_dated=False) == ["2025-06-03", "2025-06-04", "2024-01-05"]


def test_quote_counts_from_what_was_said_before() -> None:
    assert dated("The 2nd is fine.", MONDAY, "en", "Shall we meet on 2 July?") == "The 2nd (2 July 2023) is fine."


@given(st.text(max_size=200), st.datetimes(timezones=st.just(UTC)), st.sampled_from([*LANGUAGES, "it"]))
@example("", datetime(1, 1, 1, tzinfo=UTC), "en")  # last year is before the calendar
def test_any_text_at_any_time_gives_iso_dates(text: str, at: datetime, language: str) -> None:
    for day in resolve_dates(f"last year {text} two days ago, el 31 de abril, am 31.", at, language):
        assert re.fullmatch(r"\d{4}(-\d\d){0,2}", day)


def test_dates_are_bounded() -> None:
    days = ", ".join((MONDAY + timedelta(days=n)).date().isoformat() for n in range(400))
    assert len(dates_of(days)) == MAX_DATES
