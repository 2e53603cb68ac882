"""The areas of life that the words of a short text name, without vectors: a fraction of a millisecond a sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.text.languages import CODES, language_of
from resources.offline.areas import areas_by_key, table_of
from resources.offline.prose import Reader, sentences


class AreaWords:
    """Implements ``neurigraph_pipelines.model.ports.AreaReader`` by the cue words of ``topics.toml``."""

    def __init__(self, language: str = "english") -> None:
        """Create the reader.

        Args:
            language: Snowball's name of the language of texts that do not tell their own.
        """
        self._language = CODES[language]

    def areas(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Return the share of each area in each text."""
        readers: dict[str, Reader] = {}
        return [self._shares(text, readers) for text in texts]

    def _shares(self, text: str, readers: dict[str, Reader]) -> dict[str, float]:
        named = areas_by_key().get(name_key(text))
        if named is not None:
            return {named: 1.0}
        language = language_of(text) or self._language
        reader = readers.get(language) or readers.setdefault(language, Reader(language))
        table = table_of(language)
        weights: defaultdict[str, float] = defaultdict(float)
        for sentence in sentences(text, language):
            for _, phrase in table.matches(reader.words(sentence)):
                for area, weight in table.topics[phrase]:
                    weights[area] += weight
        total = sum(weights.values())
        return {area: weight / total for area, weight in weights.items()}
