"""The word lists and topics of the data files beside this module, read once.

A language without a file has the stop words of the Stopwords ISO collection, and no other words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from neurigraph_pipelines.views.scalars import WireObject

_NAME = re.compile(r"\{([a-z_]+)\}")
_FILES = {"de": "german", "en": "english", "es": "spanish", "fr": "french"}
"""The data files of word lists, by language."""

_FOREIGN = {"de": "german", "es": "spanish", "fr": "french", "it": "italian"}
"""The fields of ``topics.toml`` with phrases of other languages than English."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Word lists of one language, all lower case; empty where its file has none.

    Attributes:
        before_noun: Words after which a noun is likely; ``before_verb`` likewise.
        relations: Words for relations (``coworker``), each with its topic.
    """

    stop: frozenset[str] = frozenset()
    filler: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()
    junk: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    decision: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    first_names: frozenset[str] = frozenset()
    before_noun: frozenset[str] = frozenset()
    before_verb: frozenset[str] = frozenset()
    relations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic of layer 1 with its phrases, each a tuple of words.

    Attributes:
        cues: Phrases that show the topic by themselves, those of the subtopics included.
        hints: Weaker phrases, which need others beside them.
        aliases: Other names under which a user may already have the topic.
        subtopics: Names of narrower topics and their phrases.
        foreign: Phrases of other languages that show the topic, by the language's code.
        examples: English sentences about the topic.
    """

    name: str
    description: str
    cues: tuple[str, ...]
    hints: tuple[str, ...]
    aliases: tuple[str, ...]
    subtopics: dict[str, tuple[str, ...]]
    foreign: dict[str, tuple[str, ...]]
    examples: tuple[str, ...]


def english() -> Lexicon:
    """Return the English word lists."""
    return lexicon_of("en")


@cache
def lexicon_of(language: str) -> Lexicon:
    """Return the word lists of a language, by its code such as ``de``."""
    data = dict(read_data(f"{_FILES[language]}.toml")) if language in _FILES else {}
    relations = {word: kind for kind, words in data.pop("relations", {}).items() for word in reversed(words.split())}
    lists = {name: frozenset(words.split()) for name, words in data.items()}
    if "stop" not in lists:
        import stopwordsiso

        lists["stop"] = frozenset(stopwordsiso.stopwords(language)) if stopwordsiso.has_lang(language) else frozenset()
    return Lexicon(relations=relations, **lists)


@cache
def word_lists(section: str) -> dict[str, frozenset[str]]:
    """Return the word lists of a section of ``words.toml``."""
    return {name: frozenset(words.split()) for name, words in read_data("words.toml")[section].items()}


class Forms:
    """The forms of a section of ``forms.toml`` as compiled patterns: each is an attribute."""

    def __init__(self, written: WireObject, others: Mapping[str, str]) -> None:
        self._tables = {name: rows for name, rows in written.items() if not isinstance(rows, str)}
        plain = {name: text.replace("\n", "") for name, text in written.items() if isinstance(text, str)}
        self._patterns = {**plain, **others}

    def __getattr__(self, name: str) -> re.Pattern[str]:
        """Compile a form when it is first used."""
        if name not in self._patterns:
            raise AttributeError(f"no form is called {name}")
        pattern = re.compile(filled(self._patterns[name], self._patterns))
        setattr(self, name, pattern)
        return pattern

    def table(self, name: str) -> list[tuple[str, re.Pattern[str]]]:
        """Return the forms of a table, each with its name and within the frame of the table, if it has one."""
        rows, frame = self._tables[name], self._patterns.get(f"{name}_frame", "{form}")
        named = rows.items() if isinstance(rows, dict) else rows
        return [
            (key, re.compile(filled(frame, self._patterns | {"form": form.replace("\n", "")}))) for key, form in named
        ]


def forms(section: str, **others: str) -> Forms:
    """Return the forms of a section of ``forms.toml``, in which names in braces stand for each other and for others."""
    return Forms(read_data("forms.toml")[section], others)


def filled(pattern: str, groups: Mapping[str, str]) -> str:
    """Put patterns in the place of their names in braces until there is none left."""
    whole = _NAME.sub(lambda name: groups[name[1]], pattern)
    return whole if whole == pattern else filled(whole, groups)


@cache
def topics() -> tuple[Topic, ...]:
    """Return the topics of layer 1; of equal scores the earlier topic wins."""
    return tuple(_topic(entry) for entry in read_data("topics.toml")["topic"])


def _topic(entry: WireObject) -> Topic:
    subtopics = {name: _phrases(text) for name, text in entry.get("subtopics", {}).items()}
    cues = dict.fromkeys((*_phrases(entry["cues"]), *(cue for cues in subtopics.values() for cue in cues)))
    return Topic(
        name=entry["name"],
        description=entry["description"],
        cues=tuple(cues),
        hints=_phrases(entry["hints"]),
        aliases=_phrases(entry.get("aliases", "")),
        subtopics=subtopics,
        foreign={code: _phrases(entry[name]) for code, name in _FOREIGN.items()},
        examples=tuple(read_data("examples.toml")[entry["name"]].splitlines()),
    )


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip()))


@cache
def read_data(name: str) -> WireObject:
    """Return a data file beside this module."""
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
