"""Names of speakers before a colon, apart from labels of lists, logs and recipes.

``text`` reads dialogues and ``subtitles`` transcripts with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from neurigraph_pipelines.inbox.imports.given_names import GIVEN_NAMES
from neurigraph_pipelines.inbox.imports.label_words import LABELS, SURNAMES

SPEAKER = re.compile(r"[ \t]*(?P<name>[^\W\d_][\w .'’-]{0,39})(?::(?:[ \t]+|$)|：[ \t]*)")
"""A name, or a label, with the colon and the white space after it."""

_PARTICLES = frozenset(
    "de da do dos das del della di du la le van von der den ten ter zu zum af al bin ben ibn y e".split()
)
_MOST_WORDS = 4
_LONGEST_WITHOUT_CASE = 12
_LEAST_TALK = 0.34
"""Share of spoken lines of a dialogue that are sentences, or of several words."""

_MOST_CUES = 0.9
_FEWEST_CUES = 4
"""Share and number of labelled cues of a transcript in which each change of the speaker has a label."""

_LEAST_TALK_OF_CYCLES = 0.8
_SHORTEST_CYCLE = 3
_WORDS_OF_TALK = 4
_SHORT_TALK = frozenset(
    """hi hello hey bye goodbye yes no yeah yep nope ok okay thanks sure hallo ja nein danke hola adiós sí gracias
    salut bonjour oui non merci ciao sì grazie hoi nee bedankt olá oi tchau sim não obrigado obrigada""".split()
)
"""Words that are said alone, and stand in no list."""

_TO_OTHERS = _SHORT_TALK | frozenset(
    """i i'm i'll i've i’m i’ll i’ve me my you your you're we our us let's ich mir mich mein meine du dir dich wir uns
    ihr yo me mi tú te nosotros je j'ai moi mon toi tu nous vous io mio noi voi ik mij jij je wij ons eu meu você nós
    я меня мне ты тебе вы мы нам""".split()
)
"""Words of people who talk with each other; lists of records have none."""

_PEOPLE_IN_CHATS = frozenset(("user", "human", "me", "you"))
_PROGRAMS_IN_CHATS = frozenset(("assistant", "ai", "bot", "chatgpt", "gpt", "claude"))
"""Roles that stand together in no list of things."""

_TALK_ENDS = tuple('.!?…。！？~)"”»')


def is_name(label: str) -> bool:
    """Return whether a label may be a name: words with capital letters, none of them a word that labels a list."""
    words = label.split()
    if not 1 <= len(words) <= _MOST_WORDS:
        return False
    parts = [part for word in words for part in (word, *word.split("-"))]
    known = [part.strip(".").casefold() for part in parts]
    if known[0] in LABELS or any(part in LABELS and part not in SURNAMES for part in known):
        return False
    if words[0][0].isupper():
        return all(word[0].isupper() or word.isdigit() or word.casefold() in _PARTICLES for word in words)
    return not words[0][0].islower() and len(label) <= _LONGEST_WITHOUT_CASE


def is_person(label: str) -> bool:
    """Return whether a label is the name of a person for certain: it begins with a given name, or such as "Dr."."""
    first = label.split()[0]
    return is_name(label) and any(word.strip(".").casefold() in GIVEN_NAMES for word in (first, first.split("-")[0]))


def speakers_of_cues(cues: Sequence[Sequence[str | None]]) -> frozenset[str]:
    """Return the speakers of a transcript: people, labels that occur again, and all if each cue begins with a label.

    Args:
        cues: The label of each line of each cue, or None.
    """
    names = Counter(label for labels in cues for label in labels if label is not None and is_name(label))
    sure = {name for name, count in names.items() if count > 1 or is_person(name)}
    begun = sum(labels[0] in names for labels in cues)
    if len(names) > 1 and begun >= _MOST_CUES * len(cues) and (not sure or len(cues) >= _FEWEST_CUES):
        return frozenset(names)
    have_surnames = any(" " in name for name in sure)
    return frozenset(sure | {name for name in names if have_surnames and " " in name})


def speakers_of(lines: Sequence[str], roles: Collection[str]) -> frozenset[str]:
    """Return the speakers of a dialogue; none if the lines are no dialogue.

    A name speaks several times, or is a known role; once there are speakers, names that speak once count as well.

    Args:
        lines: All lines of a text, or of its beginning.
        roles: Labels in lower case that are always speakers.
    """
    labelled = [(match["name"], line[match.end() :], line) for line in lines if (match := SPEAKER.match(line))]
    counts = Counter(name for name, _, _ in labelled)
    often = {name for name, count in counts.items() if name.lower() in roles or (count > 1 and _may_speak(name))}
    if not often:
        return frozenset()
    once = {name for name, words, _ in labelled if counts[name] == 1 and is_name(name) and _is_talk(words)}
    speakers = frozenset(often | once)
    spoken = [(name, words, line) for name, words, line in labelled if name in speakers]
    return speakers if len(speakers) > 1 and _is_dialogue(spoken) else frozenset()


def _may_speak(name: str) -> bool:
    """Return whether a label that occurs several times may be a name; names of chats may be in lower case."""
    return is_name(name) or (is_name(name.title()) and len(name.split()) == 1)


def _is_dialogue(spoken: Sequence[tuple[str, str, str]]) -> bool:
    """Return whether labelled lines are spoken: sentences, not indented, in no list that repeats its labels."""
    names = [name for name, _, _ in spoken]
    if {name.lower() for name in names} & _PEOPLE_IN_CHATS and {name.lower() for name in names} & _PROGRAMS_IN_CHATS:
        return True
    if not any(is_person(name) for name in names) and not any(_is_conversation(words) for _, words, _ in spoken):
        return False
    if sum(line[:1] in (" ", "\t") for _, _, line in spoken) > len(spoken) / 2:
        return False
    talk = sum(_is_talk(words) for _, words, _ in spoken) / len(spoken)
    if sum(name[0].islower() for name in names) > len(names) / 2:  # programs that write logs have such names
        ended = sum(words.strip().endswith(_TALK_ENDS) for _, words, _ in spoken) / len(spoken)
        return talk >= _LEAST_TALK_OF_CYCLES and ended >= _LEAST_TALK
    return talk >= (_LEAST_TALK_OF_CYCLES if _is_cycle(names) else _LEAST_TALK)


def _is_talk(words: str) -> bool:
    words = words.strip()
    return (
        words.endswith(_TALK_ENDS)
        or words.casefold() in _SHORT_TALK
        or len(words.split()) >= _WORDS_OF_TALK
        or (not words.isascii() and len(words) > 7)
    )


def _is_conversation(words: str) -> bool:
    """Return whether words ask, answer, or name the one who speaks or is spoken to."""
    words = words.strip().casefold()
    said = {word.strip(".,!?…'’") for word in words.split()}
    return words.endswith(("?", "？", "!", "！")) or not said.isdisjoint(_TO_OTHERS)


def _is_cycle(names: Sequence[str]) -> bool:
    """Return whether three labels or more repeat in the same order, as in a list of records."""
    length = next((place for place, name in enumerate(names) if place and name == names[0]), 0)
    return length >= _SHORTEST_CYCLE and all(name == names[place % length] for place, name in enumerate(names))
