"""The kinds of phrases for dates and their patterns, in which words of a language stand for the names in braces."""

from __future__ import annotations

YEAR = r"(?P<year>(?:1[6-9]|20)\d\d)"
FIGURE = r"[0-3]?\d[./][01]?\d[./](?:1[6-9]|20)\d\d(?!\w)"
ANY_JOINED = r"(?: ?[–-] ?| (?:ed?|y|et|en|und|and|ao?|al|até|tot|t/m|bis|to) (?:(?:il|em|de|op) )?)"
LANGUAGES = ("en", "de", "es", "fr")
ANY = "any"
"""Codes of the languages with words for dates; of all others only dates in figures are read."""

MONTHS = {
    "it": "gennaio|gen febbraio|feb marzo|mar aprile|apr maggio|mag giugno|giu luglio|lug agosto|ago "
    "settembre|set|sett ottobre|ott novembre|nov dicembre|dic",
    "nl": "januari|jan februari|feb maart|mrt april|apr mei juni|jun juli|jul augustus|aug september|sept|sep "
    "oktober|okt november|nov december|dec",
    "pt": "janeiro|jan fevereiro|fev março|mar abril|abr maio|mai junho|jun julho|jul agosto|ago setembro|set "
    "outubro|out novembro|nov dezembro|dez",
}
"""Names of months in languages of which no other words for dates are known."""

NAMED_RULES = (
    ("days", r"\b(?:{day_number}{sign}(?:, ?|{joined}))+{day_number}{sign}{of}{month}(?:,?{of}{year}(?![-/.]?\d))?"),
    ("day_of_month", r"\b(?P<day>{day_number}){sign}{of}{month}(?:,?{of}{year}(?![-/.]?\d))?"),
    ("month_and_year", r"\b{month},?{of}{year}(?![-/.]?\d)"),
)
"""Kinds of phrases in these languages: "dal 3 al 5 maggio 2024", "3 de maio de 2024"."""

_MONTH_SIGN, _DAY_SIGN = r"(?P<m>1[0-2]|0?[1-9]) ?[月월]", r" ?(?P<d>3[01]|[12]\d|0?[1-9]) ?[日일号號]"

RULES = (
    # "2024年5月3日", "5월 3일".
    ("iso_day", ANY, rf"(?<!\d){{year}} ?[年년] ?{_MONTH_SIGN}{_DAY_SIGN}"),
    ("iso_month", ANY, rf"(?<!\d){{year}} ?[年년] ?{_MONTH_SIGN}"),
    ("month_day", ANY, rf"(?<![\d年년]){_MONTH_SIGN}{_DAY_SIGN}"),
    ("iso_day", ANY, r"(?<![\d-]){year}-(?P<m>[01]\d)-(?P<d>[0-3]\d)(?!\d)"),
    # "3./4.5.2023".
    (
        "figure_days",
        "de",
        r"(?<![\w./-])(?:{item}{listed_by})*{item}{joined}{on_the}{day}(?P<m>{month_number})\."
        r"(?:{year}|(?P<short>\d\d))(?!\w)",
    ),
    (
        "figure_days",
        "de",
        r"\b(?:am|vom|ab) (?:{item}{listed_by})*{item}{joined}{on_the}{day}(?P<m>{month_number})\.(?!\w)",
    ),
    # "16.03.-17.03.2024", of which only the second has a year.
    (
        "figures",
        ANY,
        r"(?<![\w./-])(?P<d>[0-3]?\d)(?P<sign>[./])(?P<m>[01]?\d)(?P<year>)\.?(?={before_figure}{figure})",
    ),
    ("figures", ANY, r"(?<=[\d.][–-])(?P<d>[0-3]?\d)(?P<sign>[./])(?P<m>[01]?\d)(?P=sign){year}(?!\d|[./-]\d)"),
    ("figures", ANY, r"(?<![\d./-])(?P<d>[0-3]?\d)(?P<sign>[./-])(?P<m>[0-3]?\d)(?P=sign){year}(?!\d|[./-]\d)"),
    ("iso_month", ANY, r"(?<![\d-]){year}-(?P<m>0[1-9]|1[0-2])(?![\w-])"),
    ("figures", "", r"(?<![\w./-])(?P<d>[0-3]?\d)(?P<sign>/)(?P<m>[0-3]?\d)/(?P<year>\d\d)(?!\w|[./-]\d)"),
    ("figures", "de fr", r"(?<![\w./-])(?P<d>[0-3]?\d)\.(?P<m>[0-3]?\d)\.(?P<year>\d\d)(?!\w|[./-]\d)"),
    (
        "figures",
        "de",
        r"(?:^|[(,;:–]\s?|\b(?:{before_figures}),? )(?P<d>{day_number})\.(?P<m>{month_number})\.(?P<year>)(?!\d)",
    ),
    ("figures", "de", r"\b(?:am|ab) (?P<d>{day_number})\.(?P<m>{month_number})(?P<year>)(?![\w.:,])"),
    ("figures", "en es fr", r"\b(?:{on}) (?P<d>{day_number})(?P<sign>/)(?P<m>{day_number})(?P<year>)(?![\w/]|,\d)"),
    # "March 28 to April 3", of which the next rule would read "28 to April 3".
    (
        "day_of_month",
        "en",
        r"\b(?:{any_weekday}{part_of_day},? )?{month} {day}"
        r"(?={joined}{on_the}(?:{any_month} \d|{item}(?: of)? {any_month}))",
    ),
    ("days", "", r"\b(?:{item}{listed_by})*{item}{joined}{on_the}{form}(?!\w){of_year}"),
    ("days", "en", r"\b{month} {item}(?:(?:{listed_by}|/){item}{item_ends})+{of_year}"),
    ("day_of_month", "", r"\b(?:{any_weekday}{part_of_day},? {article})?{form}(?!\w){of_year}"),
    ("nth_weekday", "", r"\b{nth} (?P<weekday>{weekdays}) (?:of|in|im|des|de|du|d['’]|en) ?{month}{of_year}"),
    ("month_and_year", "", r"\b{month}(?:{of_month})\b"),
    ("season", "", r"\b(?:{seasons}) {of_season}(?:{year}|['’]?(?P<short>\d\d))\b"),
    ("season", "", r"\b(?:{before} (?:{seasons})|(?:{seasons}) {after})\b"),
    ("month", "", r"\b(?:{before} |(?P<prefix>{before_month})[ -])?{month}(?: {after}\b)?"),
    ("holiday", "", r"\b(?:{holidays})\b"),
    ("ago", "", r"\b{form}"),
    ("ahead", "", r"\b{form}"),
    ("near", "", r"\b(?:{near})\b"),
    ("habit", "", r"\b(?:{form})(?!\w)"),
    ("ordinal", "", r"(?<![\w.,/:-])(?:{form})"),
    ("weekday", "", r"\b(?:(?P<the>{the}) |{before} )?(?P<weekday>{weekdays}){part_of_day}\b(?: {after}\b)?"),
    ("unit", "", r"\b(?:{before} {longer_unit}|{longer_unit} {after}\b)"),
    ("year", "", r"\b(?:(?P<prefix>{before_year}) )?{year}\b(?![/:%]|[.,]\d|-(?!\d{4}\b))"),
    ("year", "", r"(?<=[a-z] )['’](?P<short>\d\d)\b(?![-/:%\d]|[.,]\d)"),
)
"""Kinds of phrases in the order in which they are looked for, the languages that have them, and their patterns.

Longer and more certain forms come first. Without languages all with words have it. {form} is each form of the kind.
"""
