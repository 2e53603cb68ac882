"""The capitalised runs of a segment, and which of them are names.

In German every noun has a capital, so ``german_names`` decides there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import Stemmer

from neurigraph_pipelines.text.calendar_words import MONTHS, WEEKDAYS
from resources.offline.kin_words import TITLES, singular
from resources.offline.lexicon import english, forms, lexicon_of
from resources.offline.prose import Prose, Sentence
from resources.offline.written_names import NAME, TITLE, without_title

_FORMS = forms("runs", name=NAME)

MAX_NAMES = 200
"""Most distinct names of one segment, the most frequent first."""

HEADLINE_MENTIONS = 3
"""Mentions that a name in the title counts for, because a title says what the conversation is about."""

_LINKS = frozenset(["of", "the", "&", "de", "del", "della", "do", "da", "di", "du", "des", "von", "van", "der", "la"])


_CALENDARS = {
    "de": "montag montags dienstag dienstags mittwoch mittwochs donnerstag donnerstags freitag freitags samstag "
    "samstags sonnabend sonntag sonntags januar februar märz april mai juni juli august september oktober november "
    "dezember euro cent uhr ostern weihnachten pfingsten silvester",
    "es": "lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto "
    "septiembre octubre noviembre diciembre navidad",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril mai juin juillet août "
    "septembre octobre novembre décembre noël pâques",
}
"""Days, months and feasts, which are no names."""
GERMAN = "de"
LONGEST_NAME = 13
"""Letters of a single word from which it is taken for a compound noun."""

_RELATIVE = "|".join(sorted(TITLES))
_VERB = "will|kann|muss|soll|wird|kommt|kam|geht|ging|sagte?|meinte?|bringt|fährt|wohnt"
_BE_OR_HAVE = "hat|hatte|ist|war"
_WORD = r"[A-ZÄÖÜ][\wäöüß-]+"
_SHOWN = re.compile(
    rf"(?:{TITLE}\s|\b(?i:{_RELATIVE})\s|\b(?:nach|aus|in|bei|von|{_VERB})\s)(?P<after>{_WORD})(?!\s[A-ZÄÖÜ])"
    rf"|\b(?:{_BE_OR_HAVE})\s(?P<inverted>{_WORD})\s(?:ja|schon|auch|doch|noch|dann|wieder|mal|jetzt|nicht)\b"
    rf"|(?:^|[.!?:,]\s|\bund\s)(?P<subject>{_WORD})\s(?:{_VERB}|{_BE_OR_HAVE}|[a-zäöüß]{{3,}}(?:t|te))\b"
)


@dataclass(frozen=True, slots=True)
class Named:
    """A named person or thing.

    Attributes:
        aliases: Other forms found, such as a nickname or the original author line.
        sentences: Numbers of the sentences that mention the name.
    """

    name: str
    aliases: tuple[str, ...]
    mentions: int
    sentences: frozenset[int]


class Runs:
    """The capitalised runs of a segment, with their positions and context.

    Attributes:
        names: Those that may be names, the most frequent first.
        titled: Names with the title before them: ``Mr. Osei``; only names of one word need it.
    """

    def __init__(self, prose: Prose) -> None:
        """Read every sentence, and the title."""
        self._middle: Counter[str] = Counter()
        self._start: Counter[str] = Counter()
        self._signs: Counter[str] = Counter()
        self._where: dict[str, set[int]] = {}
        self._lower: Counter[str] = Counter()
        self.titled: dict[str, str] = {}
        self._doubtful: list[tuple[list[str], int]] = []
        self._lexicon = english()
        self._german = GermanNouns(prose)
        self._no_names = _openers() | _junk(prose.language)
        for number, sentence in enumerate(prose.sentences):
            self._read(number, sentence)
        if prose.headline is not None:
            for _ in range(HEADLINE_MENTIONS):
                self._read(0, prose.headline)
        self._decide_doubtful()
        frequent = (self._middle + self._start).most_common(20 * MAX_NAMES)
        names = [name for name, _ in frequent if self._is_name(name)][:MAX_NAMES]
        text = "\n".join(sentence.text for sentence in prose.sentences)
        # A phrase that also stands without capitals was a heading: ``Tree Diagram``.
        self.names = [name for name in names if " " not in name or name.lower() not in text]

    def named(self, name: str, aliases: Iterable[str]) -> Named:
        """Return a name with its mentions under any of its forms."""
        forms = dict.fromkeys((name, *aliases))
        where = frozenset(number for form in forms for number in self._where.get(form, ()))
        return Named(name, tuple(dict.fromkeys(aliases)), sum(map(self.count, forms)), where)

    def count(self, name: str) -> int:
        """Return how often a name is written."""
        return self._middle[name] + self._start[name]

    def in_middle(self, name: str) -> bool:
        """Whether a name is written where an ordinary word would have no capital."""
        return self._middle[name] > 0

    def person_signs(self, name: str) -> int:
        """Return how much speaks for a person; 2 is enough."""
        known = 2 if name.split()[0].lower() in self._lexicon.first_names else 0
        words = name.split()
        organisation = any(word.isupper() and len(word) > 1 for word in words) or not {"of", "&"}.isdisjoint(words)
        organisation = organisation or (name.endswith("s") and known == 0 and name not in self.titled)
        return 0 if organisation else known + self._signs[name]

    def is_entity(self, name: str) -> bool:
        """Whether a name is worth listing: people, organisations, products, places and works, but no peoples."""
        if _FORMS.demonym.fullmatch(name) and name.lower() not in self._lexicon.first_names:
            return False
        return " " in name or self._middle[name] + self._start[name] >= 2 or len(name) > 2

    def _read(self, number: int, sentence: Sentence) -> None:
        for word in sentence.words:
            if word.text[0].islower():
                self._lower[word.lower] += 1
                if word.text in self._lexicon.first_names and word.text not in self._lexicon.common:
                    self._add(word.text.title(), number, middle=True)
        if _FORMS.looks_like_code.search(sentence.text):
            return
        text = _FORMS.code.sub(lambda match: " " * len(match.group()), sentence.text)
        for match in _FORMS.run.finditer(text):
            self._read_run(match, text, number, sentence.language)

    def _read_run(self, match: re.Match[str], text: str, number: int, language: str) -> None:
        before = text[max(0, match.start() - 24) : match.start()]
        after = text[match.end() : match.end() + 24]
        title, run = without_title(match.group())
        opening = not title and (match.start() == 0 or bool(_FORMS.opening.search(before)))
        signs = bool(_FORMS.person_after.match(after) or _FORMS.person_before.search(before)) + 2 * (
            title not in ("", "St", "St.")
        )
        for words, offset in self._names_in(run.split(), language, opening=opening):
            if language == GERMAN and not self._german.may_be_name(words, titled=bool(title) and offset == 0):
                continue
            name = " ".join(words)
            self._signs[name] += signs
            if title and offset == 0:
                self.titled.setdefault(name, f"{title} {name}" if len(words) == 1 else name)
            if opening and offset == 0 and len(words) > 1:
                if _FORMS.headed.match(after):
                    continue
                self._doubtful.append((words, number))
            else:
                self._add(name, number, middle=not opening or offset > 0)

    def _add(self, name: str, number: int, *, middle: bool) -> None:
        (self._middle if middle else self._start)[name] += 1
        self._where.setdefault(name, set()).add(number)

    def _decide_doubtful(self) -> None:
        """Decide whether the first word of a sentence belongs to the name after it: ``Poor Jana``, ``Quay Street``."""
        for words, number in self._doubtful:
            whole, rest = " ".join(words), " ".join(words[2:] if words[1] in _LINKS else words[1:])
            is_ordinary = words[0].lower() in _openers() or self._lower[words[0].lower()]
            if not self._middle[whole] and (is_ordinary or self._middle[rest] or self._start[rest]):
                self._add(rest, number, middle=True)
                self._signs[rest] += self._signs.pop(whole, 0)
            else:
                self._add(whole, number, middle=True)

    def _names_in(self, run: list[str], language: str, *, opening: bool) -> Iterator[tuple[list[str], int]]:
        """Yield the names in a run, without words that are never names, each with its position."""
        part: list[str] = []
        start = 0
        junk = _junk(language)
        for position, word in enumerate(run):
            bad = word.lower().replace("’", "'") in junk and not (part and word in _LINKS)
            bad = bad or (opening and position == 0 and len(run) > 1 and word.lower() in _openers())
            if part and (bad or word in part):
                yield _bare(part), start
                part = []
            if not bad and (part or word not in _LINKS):
                start = position if not part else start
                part.append(word)
        if part:
            yield _bare(part), start

    def _is_name(self, name: str) -> bool:
        words = name.split()
        lower = name.lower()
        if (
            not 2 <= len(name) <= 60
            or not re.fullmatch(r"[\w'’&+. -]+", name)
            or "_" in name
            or _FORMS.error.fullmatch(name)
        ):
            return False
        if len(words) == 1:
            return self._is_single_name(name, lower)
        ordinary = self._lexicon.roles | self._lexicon.titles | self._lexicon.common
        has_letters = all(any(c.isalpha() for c in word) for word in words if word != "&")
        return has_letters and not name.isupper() and not all(word.lower() in ordinary for word in words)

    def _is_single_name(self, name: str, lower: str) -> bool:
        lexicon = self._lexicon
        known = lower in lexicon.first_names
        if lower in self._no_names or not any(map(str.isalpha, name[1:])) or (name.isupper() and len(name) > 5):
            return False
        if known or name in self.titled:
            return True
        if self._lower[lower] > self._middle[name]:
            return False
        # At the start of sentences a word has a capital anyway, so it must also do what people do.
        return self._middle[name] > 0 or (self._signs[name] > 0 and not self._lower[lower] and not lower.endswith("ly"))


@cache
def _junk(language: str) -> frozenset[str]:
    """Return words that are no part of a name, even with a capital."""
    days = frozenset(f"{day}{end}" for day in (*WEEKDAYS, *MONTHS) for end in ("", "s"))
    if language == "en":
        return english().junk | days
    return english().junk | days | frozenset(_CALENDARS.get(language, "").split()) | lexicon_of(language).stop


@cache
def _openers() -> frozenset[str]:
    """Return ordinary words that begin sentences."""
    lexicon = english()
    return lexicon.junk | lexicon.stop | lexicon.filler | lexicon.common


def _bare(words: list[str]) -> list[str]:
    while words and words[-1] in _LINKS:
        words = words[:-1]
    return words


class GermanNouns:
    """The hints of the German sentences of a segment on their capitalised words."""

    def __init__(self, prose: Prose) -> None:
        """Read every German sentence."""
        self._stem = Stemmer.Stemmer("german").stemWord
        self._common: set[str] = set()
        self._shown: set[str] = set()
        for sentence in prose.sentences:
            if sentence.language != GERMAN:
                continue
            self._common.update(
                self._stem(match["noun"].lower()) for match in _FORMS.determined.finditer(sentence.text)
            )
            shown = (
                match["after"] or match["inverted"] or match["subject"] for match in _SHOWN.finditer(sentence.text)
            )
            self._shown.update(shown)

    def is_common(self, word: str) -> bool:
        """Whether a word is an ordinary noun, as far as the segment shows."""
        lower = word.lower()
        if lower in english().first_names:
            return False
        if singular(lower):
            return True
        is_long = len(word) > LONGEST_NAME and "-" not in word
        return (
            bool(_FORMS.ending.fullmatch(lower))
            or is_long
            or lower in lexicon_of(GERMAN).stop
            or self._stem(lower) in self._common
        )

    def may_be_name(self, words: Sequence[str], *, titled: bool) -> bool:
        """Whether capitalised words in a row are a name."""
        if titled:
            return True
        common = [self.is_common(word) for word in words]
        if len(words) > 1:
            return not common[-1] or not common[0]
        return not common[0] and (words[0] in self._shown or words[0].lower() in english().first_names)
