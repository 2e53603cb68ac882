"""Values of which a thing has one at a time: when a passport expires, the code of a gate, a birthday, a home.

Closed forms of English and German, read from the words of a speaker, who may say "my" and "we". However it is put, each
gives the slot of the same thing: "The code of the gate is 4711", "Unser Torcode ist 4711". Every expression is linear.
"""

from __future__ import annotations

import re

from neurigraph_pipelines.model.facts import THE_USER, Slot
from resources.offline.lexicon import forms
from resources.offline.written_names import NAME

_FORMS = forms("properties")

RECURRING = frozenset(["birthday", "anniversary"])
"""Properties whose value is a day of every year: nothing happened on it."""

_NAME = f"(?-i:{NAME})"
_LEAD = (
    r"(?:(?:and|but|so|also|note|btw|by\sthe\sway|update|correction|und|aber|auch|übrigens|korrektur)\b[,:]?\s){0,2}"
)
_NOW = r"(?:(?:now|actually|currently|only|still|jetzt|nun|aktuell|noch|nur)\s){0,2}"
_IS = rf"(?::\s|\s{_NOW}(?:is|ist|lautet)\s{_NOW})"
_ON = r"(?:(?:on|in|by|am|im|zum|bis)\s)?(?:the\s)?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez)[a-zä]{0,6}"
_DATE = (
    rf"(?P<value>\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of\s)?{_MONTH}(?:,?\s\d{{4}})?|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?"
    rf"(?:,?\s\d{{4}})?|{_MONTH}\s\d{{4}}|\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{4}})\b"
)
_KEY = r"[\"“„'‘]?(?P<value>[^\s\"“”„]{3,40}?)[\"”“'’]?[.;,!?]{0,3}(?:$|(?<=[.;!?])\s)"
_MINE = r"(?P<mine>my|our|meine?|unsere?)"
_OWNER = rf"(?:{_MINE}|the|der|die|das|(?P<whose>{_NAME})(?:['’]s?|(?<!s)s))\s"
_WE = r"(?P<mine>we|i|wir|ich)"
_HOME = r"(?P<mine>(?:(?:my|our|mein|unser)\s)?(?:home|zuhause))"
_SOMEBODY = rf"(?:{_WE}|(?P<whose>{_NAME}))"
_THING = r"(?P<thing>(?!(?:it|this|that|which|he|she|they|es|sie)\s)[\w’'-]{2,30}(?:\s[\w’'-]{2,30}){0,2}?)"
_RASH = r"(?:rash(?:es)?|hives|allergic\sreactions?|ausschlag)"
_AILMENT = (
    r"(?:[\w-]{2,20}\s)?(?:rash(?:es)?|hives|fever|cough|cold|flu|headaches?|pains?|swelling|infection|nausea|ausschlag|fieber|"
    r"husten|schnupfen|erkältung|kopfschmerzen|schmerzen)"
)
_OPENS = r"(?P<what>code|pin|combination|password|passphrase|kennwort|passwort)"
_OF = (
    r"(?:(?:of|for|to)\s(?:(?:the|our|my)\s)?"
    r"|(?:von|für|zu|des|der|vom|zum|zur)\s(?:(?:dem|den|der|das|die|unser\w{0,2}|mein\w{0,2})\s)?)"
)
_CLOSED_FORMS = [
    (
        "expires",
        rf"(?:{_OWNER})?{_THING}\s{_NOW}(?:expires?:?|runs?\sout|(?:(?:is|are)\s{_NOW})?valid\suntil|läuft|(?:gilt|ist)\sbis)\s"
        rf"{_NOW}{_ON}{_DATE}",
    ),
    (
        "renews",
        rf"{_OWNER}{_THING}\s{_NOW}(?:renews?|(?:is|are)\sdue\sfor\srenewal|has\sto\sbe\srenewed|verlängert\ssich)\s"
        rf"{_NOW}{_ON}{_DATE}",
    ),
    ("", rf"(?:{_OWNER})?(?:{_THING}[\s-])?{_OPENS}{_IS}{_KEY}"),
    ("", rf"(?:{_OWNER})?{_THING}\s(?P<what>code|pin)\s(?P<value>\d{{3,10}})[.!]?$"),
    ("", rf"(?:(?:the|der|die|das)\s)?(?:(?P<part>[\w-]{{2,30}})\s)?{_OPENS}\s{_OF}{_THING}{_IS}{_KEY}"),
    ("", rf"the\s(?:[\w-]{{2,20}}\s){{0,2}}{_OPENS}\s(?:of|for|to)\s(?:the|my|our)\s{_THING}{_IS}{_KEY}"),
    (
        "phone number",
        rf"{_OWNER}(?:new\s)?(?:mobile\s|phone\s|telephone\s)+number{_IS}(?P<value>[+\d][\d\s()/-]{{4,20}}\d)",
    ),
    ("", rf"{_OWNER}(?P<thing>\w{{2,30}}){_OPENS}{_IS}{_KEY}"),
    (
        "",
        rf"{_OWNER}(?:wedding\s)?(?P<what>birthday|anniversary|geburtstag|hochzeitstag){_IS}{_ON}{_DATE}",
    ),
    ("birthday", rf"{_SOMEBODY}\s(?:hat|habe)\s{_NOW}am\s{_DATE}\sgeburtstag"),
    ("lives in", rf"{_WE}\s{_NOW}(?:live|wohnen?|leben?)\s{_NOW}in\s(?P<value>{_NAME})"),
    ("lives in", rf"(?P<whose>{_NAME})\s{_NOW}(?:wohnt|lebt)\s{_NOW}in\s(?P<value>{_NAME})"),
    ("lives in", rf"{_HOME}{_IS}(?:in\s)?(?P<value>{_NAME})"),
    ("moved to", rf"{_WE}(?:\shave|['’]ve)?\s{_NOW}moved\sto\s(?P<value>{_NAME})"),
    ("moved to", rf"{_SOMEBODY}\s(?:sind|bin|ist)\s{_NOW}nach\s(?P<value>{_NAME})\s(?:um)?gezogen"),
    ("works at", rf"{_SOMEBODY}\sarbeitet?\s{_NOW}bei\s(?:der\s)?(?P<value>{_NAME})"),
    ("allergic to", rf"{_SOMEBODY}\s(?:bin|ist)\s{_NOW}(?:nicht\s)?allergisch\sgegen\s(?P<value>\w{{3,30}})"),
    (
        "reacts to",
        rf"{_WE}\s(?:(?:do\snot|don['’]t|never)\s)?(?:get|got)\s(?:(?:an?|no|any)\s)?{_RASH}\sfrom\s(?P<value>[\w-]{{3,30}})",
    ),
    (
        "reacts to",
        r"(?P<value>[\w-]{3,30})\s(?:(?:does\snot|doesn['’]t|never)\s)?(?:gives?|gave)\s(?P<mine>me|us)\s"
        rf"(?:(?:an?|no|any)\s)?{_RASH}\b",
    ),
    (
        "has",
        r"(?P<mine>we)\s(?:have|don['’]t\shave|do\snot\shave)\s(?P<value>(?:an?|any|no)(?:\s[\w-]{2,30}){1,4})[.!]?$",
    ),
    (
        "has",
        r"no\s(?:more\s)?(?P<lost>(?!(?:idea|need|problem|worr|doubt|way|time|thank))[\w-]{3,30}(?:\s[\w-]{2,30}){0,2}?)\s"
        r"(?:any\s?more|any\slonger)[.!]?$",
    ),
    ("has", rf"keine?\s(?P<lost>{_AILMENT})\smehr[.!]?$"),
    (
        "has",
        rf"(?:the|my|der|die|das|mein\w{{0,2}})\s(?P<lost>{_AILMENT})\s(?:(?:is|are|has|have|ist|sind)\s)?{_NOW}(?:all\s)?"
        r"(?:gone|went\saway|healed|cleared(?:\sup)?|over|weg|verschwunden|abgeheilt)[.!]?$",
    ),
    ("has", rf"{_WE}\shaben?\s{_NOW}k?eine?[nm]?\s(?P<value>\w{{3,30}}(?:\s(?:am|im|auf\sder)\s\w{{2,30}})?)[.!]?$"),
]
_READ = [(name, re.compile(_LEAD + form, re.I)) for name, form in _CLOSED_FORMS]
_CALLED = {
    "kennwort": "password",
    "passwort": "password",
    "passphrase": "password",
    "geburtstag": "birthday",
    "hochzeitstag": "anniversary",
}


def property_of(said: str, speaker: str | None) -> Slot | None:
    """Return the property that a sentence gives a value; None if it asks, or has none of the forms.

    Args:
        said: The words of a speaker.
        speaker: How the speaker is called; None if what they say of themselves does not count.
    """
    for name, form in _READ if "?" not in said else ():
        if match := form.match(said):
            found = {key: value for key, value in match.groupdict().items() if value}
            what = found.get("what", "").casefold()
            value = f"no {found['lost']}" if "lost" in found else _FORMS.ordinal.sub("", found["value"])
            predicate = name or _CALLED.get(what, what)
            if what and predicate not in RECURRING and not _is_key(predicate, found, value):
                return None
            subject = _subject(found, speaker)
            return Slot(subject, predicate, value) if subject else None
    return None


def _is_key(predicate: str, found: dict[str, str], value: str) -> bool:
    """Return whether a value opens something: a password of any letters, or else of digits."""
    if predicate == "password":
        return _FORMS.no_key.fullmatch(value) is None
    things = found.get("thing", ""), found.get("whose", "") + "s"
    return any(map(str.isdigit, value)) and not any(map(_FORMS.formulaic.match, things))


def _subject(found: dict[str, str], speaker: str | None) -> str:
    """Return whose thing it is, and the thing. The things of a speaker without a name have no owner."""
    words = [found[name].casefold().rstrip("-") for name in ("thing", "part") if name in found]
    thing = " ".join(words[:1] if words[1:] and words[1] in words[0].split() else words)
    owner = found.get("whose", "")
    if "mine" in found or "lost" in found:
        if speaker is None:
            return ""
        owner = "" if thing and speaker == THE_USER else speaker
    return f"{owner}'s {thing}" if owner and thing else owner or thing
