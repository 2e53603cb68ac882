"""Relations between people that a text states: ``my coworker Dave``, ``Dave's wife Lena``.

Only statements next to a name count. ``names`` decides who is a person.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import product

from resources.offline.lexicon import english
from resources.offline.prose import Prose

MAX_RELATIONS = 20

_KEPT_WITH = {"friend", "buddy", "pal", "partner", "teammate", "mate", "boss", "manager", "coach"}
_NO_QUALIFIER = {
    "my",
    "our",
    "old",
    "dear",
    "good",
    "great",
    "close",
    "younger",
    "older",
    "little",
    "big",
    "late",
    "own",
    "new",
    "and",
    "amazing",
    "favorite",
    "also",
    "a",
    "the",
}
_IN_LAWS = {
    "sister husband": "brother-in-law", "brother wife": "sister-in-law", "wife brother": "brother-in-law",
    "husband brother": "brother-in-law", "wife sister": "sister-in-law", "husband sister": "sister-in-law",
    "wife mother": "mother-in-law", "husband mother": "mother-in-law", "wife father": "father-in-law",
    "husband father": "father-in-law", "sister son": "nephew", "brother son": "nephew",
    "sister daughter": "niece", "brother daughter": "niece",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """``person`` is the ``label`` of ``whose``; None means the conversation's owner."""

    label: str
    person: str
    whose: str | None = None

    def __str__(self) -> str:
        """Format as a keyword: ``sister: Ana``, ``Dave's wife: Lena``."""
        return f"{self.whose}'s {self.label}: {self.person}" if self.whose else f"{self.label}: {self.person}"


def _relation_patterns() -> tuple[list[re.Pattern[str]], frozenset[str]]:
    words = sorted(english().relations, key=len, reverse=True)
    relation = "|".join(map(re.escape, words))
    whose = r"(?P<whose>my|our|his|her|their|[A-Z][\w-]+['’]s)"
    middle = r"(?P<middle>(?:[a-z][\w-]*\s){0,2}?)"
    via = rf"(?:(?P<via>{relation})['’]s\s)?"
    name = r"(?P<name>[A-Za-z][\w-]+(?:\s[A-Z][\w-]+)?)"
    label = rf"(?P<label>{relation})"
    return [
        re.compile(
            rf"\b(?P<whose>(?i:my|our|his|her|their)|[A-Z][\w-]+['’]s)\s{via}{middle}{label},?\s(?:(?:named|called|is)\s)?{name}"
        ),
        re.compile(
            rf"\b{name}(?:,|\s\(|\s[-–—])\s?(?:who\sis\s|who['’]s\s|also\s|he['’]s\s|she['’]s\s)?{whose}\s{via}{middle}{label}\b"
        ),
        re.compile(rf"\b{name}(?:\sis|['’]s|\swas|\sbecame|\sis\salso)\s(?:also\s)?{whose}\s{via}{middle}{label}\b"),
    ], frozenset(words)


_RELATION_PATTERNS, _RELATION_WORDS = _relation_patterns()
_MARRIED = re.compile(
    r"\b(?P<name>[A-Z][\w-]+)(?:['’]s|\sis|\swas|\sgot)?\s(?:married(?:\sto)?)\s(?P<whose>my|our)\s(?P<middle>)(?P<label>sister|brother)(?:,?\s(?P<spouse>[A-Z][\w-]+))?"
)


def stated_relations(prose: Prose, speakers: dict[str, str], owner: str | None) -> tuple[StatedRelation, ...]:
    """Return the relations between named people that ``prose`` states, most frequent first.

    Args:
        prose: The segment.
        speakers: Names of people by author line; with several speakers, "my" refers to the speaker.
        owner: Author line of the account's user, whose relations have no ``whose``.
    """
    lexicon = english()
    found: Counter[StatedRelation] = Counter()
    last_person: str | None = None
    for sentence in prose.sentences:
        lowered = {word.lower.removesuffix("'s").rstrip("s") for word in sentence.words}
        if not lowered & {word.rstrip("s") for word in _RELATION_WORDS} and "married" not in lowered:
            continue
        author = prose.message(sentence).author
        speaker = speakers.get(author, author) if author and author != owner and len(speakers) > 1 else None
        for pattern in _RELATION_PATTERNS:
            position = 0
            while match := pattern.search(sentence.text, position):
                position = match.start() + 1
                person = _person_in(match["name"])
                whose = match["whose"].lower()
                if person is None or not _acceptable(whose, match["whose"]):
                    continue
                label = _label(match["middle"], match["label"].lower(), match["via"])
                if whose in {"my", "our"}:
                    found[StatedRelation(label, person, speaker)] += 1
                elif whose in {"his", "her", "their"}:
                    if last_person and last_person != person:
                        found[StatedRelation(label, person, last_person)] += 1
                else:
                    holder = re.sub(r"['’]s$", "", match["whose"])
                    if holder != person and holder.lower() not in lexicon.junk:
                        found[StatedRelation(label, person, holder)] += 1
                last_person = person if whose in {"my", "our"} else last_person
        for match in _MARRIED.finditer(sentence.text):
            person = _person_in(match["name"])
            if person:
                in_law = "brother-in-law" if match["label"] == "sister" else "sister-in-law"
                found[StatedRelation(in_law, person, speaker)] += 1
                if match["spouse"]:
                    found[StatedRelation("spouse", person, match["spouse"])] += 1
    for first, second in product(list(found)[:MAX_RELATIONS], repeat=2):
        through = _IN_LAWS.get(f"{first.label} {second.label}")
        if through and second.whose == first.person:
            found[StatedRelation(through, second.person, first.whose)] += 1
    return tuple(relation for relation, _ in found.most_common(MAX_RELATIONS))


def _acceptable(whose: str, written: str) -> bool:
    return whose in {"my", "our", "his", "her", "their"} or (
        written[0].isupper()
        and whose not in {"it's", "that's", "he's", "she's", "what's", "who's", "let's", "here's", "there's"}
    )


def _person_in(text: str) -> str | None:
    """Return the person's name at the start of ``text``; None if it is an ordinary word."""
    lexicon = english()
    words = [re.sub(r"['’]s$", "", word) for word in text.split()]
    first = words[0]
    if first.lower() in lexicon.first_names and first.islower():
        return first.title()
    if not first[0].isupper() or first.lower() in lexicon.junk | lexicon.stop | lexicon.common | lexicon.filler:
        return None
    last = words[1:] if len(words) > 1 and words[1].lower() not in lexicon.junk and text.endswith(words[1]) else []
    name = " ".join([first, *last])
    return name if re.fullmatch(r"[^\W\d_][\w' -]{1,39}", name) and not first.isupper() else None


def _label(middle: str, word: str, via: str | None) -> str:
    if via:
        return _IN_LAWS.get(f"{via.lower()} {word}", f"{via.lower()}'s {word}")
    qualifiers = [part for part in middle.split() if part not in _NO_QUALIFIER]
    return f"{qualifiers[-1]} {word}" if qualifiers and word in _KEPT_WITH else word
