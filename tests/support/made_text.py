"""Text for fuzzing readers: words that their own patterns match, signs of every script, and lines of the samples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

import resources.offline
from neurigraph_pipelines.retrieval.query import framing
from neurigraph_pipelines.text import day_expressions, time_phrases
from resources.offline.date_words import LANGUAGES, date_words
from resources.offline.lexicon import lexicon_of

ROOT = Path(__file__).parents[2]
MORE_DATA = ROOT.parent / "shared" / "data"
"""Real conversations beside the checkout, where there are any."""

_PARSER: Any = import_module("re._parser")
_OF_CATEGORY = {"CATEGORY_DIGIT": "0123456789٣３", "CATEGORY_SPACE": " \t\u3000", "CATEGORY_WORD": "aZ7_éſ日"}
ODD = (
    "٣ مايو ٢٠٢٣", "3月4日", "５月３日", "5월 3일", "३ मई", "½", "²", "①", "Ⅳ", "ſunday", "İ", "ß", "ﬁ",
    "\u200d", "\u202e", "\u0301", "\ufeff", "\x85", "\u2028", "0", "00", "31", "29 February", "32.13.2024",
    "0000-00-00", "2024-02-30", "24:60", "1e-400", "-0", "€", "%", "'s", "’", "“", "”", "(", ")", "–", "—", "...", "\n",
    "9" * 40, "30 février", "\t", "", " ", "?", "!",
)  # fmt: skip
"""Digits of other scripts, impossible days, and signs that count as spaces."""


def _modules() -> Iterator[ModuleType]:
    yield from (day_expressions, time_phrases, framing)
    for found in iter_modules(resources.offline.__path__):
        yield import_module(f"resources.offline.{found.name}")


def _patterns_in(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _patterns_in(one)
    elif isinstance(value, dict):
        yield from _patterns_in([*value.values()])


@cache
def patterns() -> list[re.Pattern[str]]:
    """Return the patterns of all readers, those of all languages included."""
    found = [one for module in _modules() for one in _patterns_in([*vars(module).values()])]
    found += [rule.pattern for code in LANGUAGES for rule in date_words(code).rules]
    return list(dict.fromkeys(found))


@cache
def words() -> list[str]:
    """Return words of all languages: small words, names and verbs."""
    found: set[str] = set()
    for code in (*LANGUAGES, "it", "nl", "pt", "zh", "ja", "ko"):
        lexicon = lexicon_of(code)
        found |= lexicon.stop | lexicon.first_names | lexicon.verbs | lexicon.relations.keys()
    return sorted(found)


@cache
def real_lines() -> list[str]:
    """Return lines that people wrote: those of the samples, and of the data beside the checkout."""
    files = sorted((ROOT / "samples").rglob("*.json*"))
    if MORE_DATA.is_dir():
        files += sorted(MORE_DATA.rglob("*.json*"))
    found: dict[str, None] = {}
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        for one in re.finditer(r'"(?:[^"\\]|\\.){20,2000}"', text):
            try:
                found[json.loads(one.group())] = None
            except ValueError:
                continue
    return list(found)


def matched(pattern: re.Pattern[str], random: Random) -> str:
    """Return text that a pattern matches, as far as it asks for nothing around it; now and then in other letters."""
    made = "".join(_made(_PARSER.parse(pattern.pattern, pattern.flags), random, {}))
    return random.choice((made, made, made.capitalize(), made.upper()))


def _made(parsed: Any, random: Random, groups: dict[int, str]) -> Iterator[str]:
    for operator, value in parsed:
        name = str(operator)
        if name in ("LITERAL", "NOT_LITERAL"):
            yield chr(value) if name == "LITERAL" else random.choice("x7 ")
        elif name == "ANY":
            yield random.choice("aZ 3.é")
        elif name == "IN":
            yield _one_of(value, random)
        elif name == "BRANCH":
            yield from _made(random.choice(value[1]), random, groups)
        elif name == "SUBPATTERN":
            groups[value[0]] = "".join(_made(value[3], random, groups))
            yield groups[value[0]]
        elif name.endswith("REPEAT"):
            for _ in range(random.randint(value[0], min(int(value[1]), value[0] + 2))):
                yield from _made(value[2], random, groups)
        elif name == "GROUPREF":
            yield groups.get(value, "")
        elif name == "ATOMIC_GROUP" or (name == "ASSERT" and value[0] > 0):
            yield from _made(value if name == "ATOMIC_GROUP" else value[1], random, groups)


def _one_of(choices: Any, random: Random) -> str:
    """Return a character of a set; one that is not in it where the set is what must not stand there."""
    operator, value = random.choice(choices)
    if str(operator) == "RANGE":
        return chr(random.randint(*value))
    if str(operator) == "LITERAL":
        return chr(value)
    return random.choice(_OF_CATEGORY.get(str(value), "k"))


def texts(longest: int = 12) -> st.SearchStrategy[str]:
    """Texts of up to so many pieces, of which each is of another kind."""
    piece = st.one_of(
        st.builds(
            lambda pattern, seed: matched(pattern, Random(seed)), st.sampled_from(patterns()), st.integers(0, 2**32)
        ),
        st.sampled_from(words()),
        st.sampled_from([word.capitalize() for word in words()]),
        st.sampled_from(ODD),
        st.sampled_from(real_lines()),
        st.integers(0, 3000).map(str),
        st.text(max_size=20),
    )
    return st.lists(piece, max_size=longest).map(" ".join)
