"""What a conversation is about, and which of its units say so: the others need what was said before them."""

from __future__ import annotations

from collections.abc import Sequence

from resources.offline.names import Names
from resources.offline.prose import Prose
from resources.offline.units import Unit

MAX_PHRASES = 20
"""Key phrases that count as what a conversation is about."""

OPENING = 2
"""Sentences of a unit of which one names its theme; one where a language has no rules for references."""


class Themes:
    """The things, organisations and key phrases of one conversation."""

    def __init__(self, prose: Prose, names: Names, key_phrases: Sequence[str]) -> None:
        """Find them, the key phrases best first; the names of the speakers are none."""
        self._prose = prose
        speakers = set(names.speakers.values())
        named = [one.name for one in (*names.projects, *names.others) if one.name not in speakers]
        self._by_stem: dict[str, list[frozenset[str]]] = {}
        for phrase in (*named, *key_phrases[:MAX_PHRASES]):
            if stems := prose.stems(phrase):
                self._by_stem.setdefault(stems[0], []).append(frozenset(stems))

    def are_in(self, unit: Unit) -> bool:
        """Return whether a unit, or the question that it answers, names the unit's topic."""
        sentences = self._prose.sentences
        opening = unit.sentences[: OPENING if sentences[unit.sentences[0]].language == "en" else 1]
        numbers = opening if unit.before is None else (*opening, unit.before)
        stems = {word.stem for number in numbers for word in sentences[number].words}
        return any(theme <= stems for stem in stems & self._by_stem.keys() for theme in self._by_stem[stem])
