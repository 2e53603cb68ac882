"""The word lists and topics of the data files beside this module, read once.

A language without a file has the stop words of the Stopwords ISO collection, and no other words.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

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
    """

    name: str
    description: str
    cues: tuple[str, ...]
    hints: tuple[str, ...]
    aliases: tuple[str, ...]
    subtopics: dict[str, tuple[str, ...]]
    foreign: dict[str, tuple[str, ...]]


def english() -> Lexicon:
    """Return the English word lists."""
    return lexicon_of("en")


@cache
def lexicon_of(language: str) -> Lexicon:
    """Return the word lists of a language, by its code such as ``de``."""
    data = dict(_read(f"{_FILES[language]}.toml")) if language in _FILES else {}
    relations = {word: kind for kind, words in data.pop("relations", {}).items() for word in reversed(words.split())}
    lists = {name: frozenset(words.split()) for name, words in data.items()}
    if "stop" not in lists:
        import stopwordsiso

        lists["stop"] = frozenset(stopwordsiso.stopwords(language)) if stopwordsiso.has_lang(language) else frozenset()
    return Lexicon(relations=relations, **lists)


@cache
def word_lists(section: str) -> dict[str, frozenset[str]]:
    """Return the word lists of a section of ``words.toml``."""
    return {name: frozenset(words.split()) for name, words in _read("words.toml")[section].items()}


@cache
def topics() -> tuple[Topic, ...]:
    """Return the topics of layer 1; of equal scores the earlier topic wins."""
    return tuple(_topic(entry) for entry in _read("topics.toml")["topic"])


def _topic(entry: dict[str, Any]) -> Topic:
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
    )


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip()))


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
