"""Key phrases of a segment, and its four keyword fields.

Phrases are found without a tagger, as words in the position of nouns (after articles, possessives, prepositions). Names
come from ``names``, dates from ``dates``.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from neurigraph_pipelines.model import Keywords, Role
from resources.offline.dates import find_dates
from resources.offline.lexicon import lexicon_of
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose, Sentence, Word, spaced, without_spaces

MAX_ENTITIES = 30
MAX_TOPICS = 15
MAX_RELATIONSHIPS = 12
MAX_PHRASES = 20_000
"""Most distinct candidate phrases that are scored, the most frequent first."""

ASSISTANT_WEIGHT = 0.5
"""An assistant's words count half, because people say most of what is worth remembering."""

CAPITAL_NOUNS = frozenset(["de"])
"""Languages in which every noun has a capital, and other words have none within a sentence."""

NOUNS_KNOWN = frozenset(["de", "es", "fr"])
"""Languages in which a word must be seen as a noun once: by its capital, or after an article or preposition."""

_RUNS = {
    # Hiragana is grammar, and a run of one of the other scripts is mostly one noun.
    "ja": re.compile(r"[\u30a1-\u30fa\u30fc]{2,12}|[\u4e00-\u9fff]{2,8}"),
    # A noun before its particle.
    "ko": re.compile(r"(?<![\uac00-\ud7af])[\uac00-\ud7af]{2,6}(?=[은는이가을를의와과](?![\uac00-\ud7af]))"),
}
"""Nouns of languages without capitals and articles, by their script."""

_VERBAL_ENDINGS = ("ly", "ed", "ize", "ise", "ful", "ous", "able", "ible", "est", "n't")


def extract(prose: Prose) -> Keywords:
    """Return the keyword fields of a segment, each bounded."""
    names = find_names(prose)
    return Keywords(
        entities=tuple(entities_of(names)),
        topics=tuple(key_phrases(prose, names)[:MAX_TOPICS]),
        dates=tuple(find_dates(prose)),
        relationships=tuple(dict.fromkeys(map(str, (*names.relations, *names.ties))))[:MAX_RELATIONSHIPS],
    )


def entities_of(names: Names) -> list[str]:
    """Return the named people and things, most mentioned first, each in its fullest form.

    The owner is in every record and a speaker whom nobody names in the text is its author, so neither is listed.
    """
    named = (one for one in (*names.projects, *names.persons, *names.others) if one.mentions)
    shown = {one.name: names.titled.get(one.name, one.name) for one in sorted(named, key=lambda one: -one.mentions)}
    longer = [name.split() for name in shown if " " in name]
    return [
        title
        for name, title in shown.items()
        if not any(len(name.split()) < len(words) and _stands_in(name.split(), words) for words in longer)
    ][:MAX_ENTITIES]


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def key_phrases(prose: Prose, names: Names) -> list[str]:
    """Return words and pairs of words that describe the segment, best first, without names."""
    own = {
        stem
        for one in (*names.persons, *names.projects)
        for form in (one.name, *one.aliases)
        for stem in prose.stems(form)
    }
    own |= {stem for speaker in names.speakers.values() for stem in prose.stems(speaker)}
    counts: defaultdict[tuple[str, ...], float] = defaultdict(float)
    nouns: Counter[tuple[str, ...]] = Counter()
    verbs: Counter[tuple[str, ...]] = Counter()
    places: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    surfaces: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    languages: dict[tuple[str, ...], str] = {}
    for sentence in prose.sentences:
        weight = ASSISTANT_WEIGHT if prose.message(sentence).role is Role.ASSISTANT else 1.0
        lexicon = lexicon_of(sentence.language)
        before = [""] + [word.lower for word in sentence.words]
        for position, phrase in _candidates(sentence):
            key = tuple(word.stem for word in phrase)
            if own.intersection(key):
                continue
            counts[key] += weight
            languages[key] = sentence.language
            previous = before[position]
            if sentence.language in CAPITAL_NOUNS:
                nouns[key] += position > 0 and phrase[-1].text[0].isupper()
            else:
                nouns[key] += previous in lexicon.before_noun or previous.endswith("'s")
            verbs[key] += previous in lexicon.before_verb
            places[key].add(sentence.message)
            surfaces[key][
                spaced([_shown(word, sentence.language, position + at) for at, word in enumerate(phrase)])
            ] += 1
    scores = {
        key: _score(key, count, nouns[key], verbs[key], len(places[key]), surfaces[key])
        for key, count in heapq.nlargest(MAX_PHRASES, counts.items(), key=lambda item: item[1])
        if _is_subject(len(key), languages[key], nouns[key], surfaces[key])
    }
    for one in names.others:
        key = prose.stems(one.name)
        if key in surfaces:
            surfaces[key] = Counter({one.name: one.mentions})
    ranked = sorted((key for key in scores if scores[key] > 0), key=lambda key: (-scores[key], key))
    return _without_overlap(ranked, surfaces)


def _is_subject(words: int, language: str, nouns: int, surfaces: Counter[str]) -> bool:
    """Whether a phrase may be a topic: where its language does not tell nouns from verbs, what is said twice."""
    if language == "en":
        return not _surface(surfaces).endswith(_VERBAL_ENDINGS)
    if language in NOUNS_KNOWN:
        return nouns > 0 and (words == 1 or surfaces.total() > 1)
    return language in _RUNS or surfaces.total() > 1


def _candidates(sentence: Sentence) -> Iterable[tuple[int, tuple[Word, ...]]]:
    words = sentence.words
    if sentence.language in _RUNS:
        for run in _RUNS[sentence.language].findall(sentence.text):
            yield 0, (Word(run, run, run, empty=False, content=True),)
        return
    for position, word in enumerate(words):
        if word.content:
            yield position, (word,)
    for position, (first, second) in enumerate(pairwise(words)):
        if first.content and second.content and first.stem != second.stem and not without_spaces(first.text):
            yield position, (first, second)


def _score(key: tuple[str, ...], count: float, nouns: int, verbs: int, messages: int, surfaces: Counter[str]) -> float:
    surface = _surface(surfaces)
    if len(surface) < 3 and not (without_spaces(surface) and count >= 2):
        return 0.0
    if len(key) == 2 and (count < 2 and not nouns):
        return 0.0
    noun_share = (nouns + 0.5) / (nouns + verbs + 1.0)
    pair = 1.0 if len(key) == 1 else (2.2 if count >= 2 else 0.9)
    return float(pair * noun_share * count**0.7 * (1 + 0.15 * min(messages, 10)))


def _without_overlap(ranked: Sequence[tuple[str, ...]], surfaces: dict[tuple[str, ...], Counter[str]]) -> list[str]:
    """Return ranked phrases, leaving out those that share a word with a better one."""
    seen: set[str] = set()
    chosen: dict[str, None] = {}
    for key in ranked:
        if seen.isdisjoint(key):
            seen.update(key)
            chosen[_surface(surfaces[key])] = None
        if len(chosen) >= 2 * MAX_TOPICS:
            break
    return list(chosen)


def _surface(surfaces: Counter[str]) -> str:
    """Return the form to show: the most frequent one; of several, the one most like a noun."""
    return min(surfaces, key=lambda form: (-surfaces[form], form.endswith("ed"), len(form), form))


def _shown(word: Word, language: str, position: int) -> str:
    if language in CAPITAL_NOUNS or (language != "en" and position > 0):
        return word.text
    bare = word.text[:-2] if word.lower.endswith("'s") else word.text
    return bare if bare.isupper() and len(bare) > 1 else bare.lower()
