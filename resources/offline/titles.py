"""Titles of conversations: the given one, else the content of a sentence, else names and phrases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from neurigraph_pipelines.model import Role
from neurigraph_pipelines.text.lexemes import name_words
from resources.offline.cohesion import without_opening
from resources.offline.lexicon import forms, lexicon_of
from resources.offline.names import Names
from resources.offline.prose import Prose

_FORMS = forms("titles")

MAX_TITLE = 80
MOST_PHRASES = 8

LEAST = 8
"""Characters of a sentence that says enough."""
MAX_HEADING = 60

_ASKED = (
    (re.compile(r"(?P<kept>when|how|where) (?:do|should|can|must|could) (?:i|we) ", re.I), r"\g<kept> to "),
    (
        re.compile(r"(?:which|what) (?P<kept>.+?) (?:do|should|can|must) (?:i|we) (?:need|take|use|buy|get)\b", re.I),
        r"\g<kept>",
    ),
)
"""Questions as their subjects: "When do I prune the tree?", "Which papers do I need for the car?"."""


_LEAST_BEFORE_AND = 24
_LEAST = 12
_LEAST_WORDS = 4


def title_of(prose: Prose, names: Names, key_phrases: Sequence[str]) -> str:
    """Return the given title, or the content of a sentence, or names and phrases, such as ``Dave, launch and budget``.

    The parts of one conversation have titles of their own, so that they differ.
    """
    given = " ".join((prose.segment.ref.title or "").split())
    if _only_names(given, names):
        given = ""
    part = prose.segment.is_part
    if given and not part:
        return _shortened(given)
    if mail := _FORMS.subject_of_mail.search(prose.segment.messages[0].content):
        return heading(mail["subject"], prose.language)
    phrases = _as_written(prose, key_phrases[:3])
    speakers = [name for name in dict.fromkeys(names.speakers.values()) if name != names.owner]
    meeting = len({m.author for m in prose.segment.messages if m.author}) > 2
    subjects = (
        []
        if meeting or len(speakers) > 1
        else [one.name for one in (*names.projects, *names.persons) if one.mentions >= 2][:1]
    )
    if not subjects and not meeting and len(speakers) < 2:
        subjects = [relation.person for relation in names.relations if relation.whose is None][:1]
    parts = [*subjects, *phrases[: 3 - len(subjects)]]
    if told := _told(prose, key_phrases[:MOST_PHRASES], subjects, names):
        return told
    if len(speakers) == 2 and phrases:
        return _shortened(f"{' and '.join(speakers)}: {_listed(phrases[:2], prose.language)}", MAX_HEADING)
    if parts:
        listed = _listed(parts, prose.language)
        return _shortened(listed[0].upper() + listed[1:], MAX_HEADING)
    if given:
        return f"{_shortened(given)} (from message {prose.segment.messages[0].seq})"
    day = prose.segment.occurred_at
    first = next((s.text for s in prose.sentences if any(word.content for word in s.words)), "")
    return (
        _shortened(first, MAX_HEADING)
        if first
        else f"{prose.segment.ref.source_kind.value.capitalize()} of {day.day} {day:%B %Y}"
    )


def _told(prose: Prose, phrases: Sequence[str], subjects: Sequence[str], names: Names) -> str:
    """Return the sentence of a person that says most of the phrases and whom it is about, as a heading."""
    stems = {stem: 1 / (rank + 2) for rank, phrase in enumerate(phrases) for stem in prose.stems(phrase)}
    stems |= {stem: 1.0 for name in subjects for stem in prose.stems(name)}
    best, most = "", 0.0
    own = [one for one in prose.sentences if prose.message(one).role is Role.USER]
    for number, sentence in enumerate(one for one in own if len(one.content) >= 2):
        said = 0.2 + sum(stems.get(stem, 0.0) for stem in {word.stem for word in sentence.words})
        # What somebody comes to talk about is said at once.
        said *= min(len(sentence.content), 3) * (3.0 if number == 0 else 1.0 / (1 + number))
        said *= 0.4 if _FORMS.points_back.match(sentence.text) or _FORMS.addressed.search(sentence.text) else 1.0
        if said > most:
            called, _, rest = sentence.text.partition(", ")
            text = rest if called in names.speakers.values() else sentence.text
            best, most = heading(text, sentence.language), said
    return best if len(best) >= LEAST else ""


def _only_names(title: str, names: Names) -> bool:
    """Whether a title tells no more than who speaks, such as ``Caroline and Melanie``."""
    called = {word for name in names.speakers.values() for word in name_words(name)}
    return called.issuperset(set(name_words(title)) - {"and", "with", "chat", "conversation"})


def _as_written(prose: Prose, phrases: Sequence[str]) -> list[str]:
    """Return phrases with each word as it is written most often within sentences, where a capital means something."""
    forms: dict[str, Counter[str]] = {word: Counter() for phrase in phrases for word in phrase.split()}
    for sentence in prose.sentences:
        for word in sentence.words[1:]:
            bare = word.text.removesuffix("'s").removesuffix("’s")
            if bare.lower() in forms:
                forms[bare.lower()][bare] += 1
    written = {word: found.most_common(1)[0][0] if found else word for word, found in forms.items()}
    return [" ".join(written[word] for word in phrase.split()) for phrase in phrases]


def _listed(parts: list[str], language: str) -> str:
    """Join parts to a list, with "and" in English."""
    if language != "en":
        return ", ".join(parts)
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _shortened(text: str, most: int = MAX_TITLE) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:-") + "…"


def heading(sentence: str, language: str) -> str:
    """Return a sentence as a heading of at most ``MAX_HEADING`` characters, without the value of a code or number."""
    text = without_opening(sentence.strip(), language).rstrip(".!?…。 ")
    if language == "en":
        for rule in (_FORMS.letter, _FORMS.lead, _FORMS.owned, _FORMS.article):
            led = rule.match(text)
            text = text[led.end() :] if led and len(text) - led.end() >= _LEAST else text
        for asked, kept in _ASKED:
            text = asked.sub(kept, text, count=1) if asked.match(text) else text
        text = _FORMS.day.sub(r"\g<verb> ", text)
    ends = (clause.start() for clause in _FORMS.clause.finditer(text, _LEAST))
    end = next((end for end in ends if len(text[:end].split()) >= _LEAST_WORDS), None)
    text = text if end is None else _FORMS.unfinished.sub("", text[:end])
    secret = _FORMS.secret.match(text) if language == "en" else None
    text = _short_heading(secret["subject"] if secret else text, language)
    return text[:1].upper() + text[1:]


def _short_heading(text: str, language: str) -> str:
    """Return the words that fit, without an unfinished phrase at the end."""
    if len(text) <= MAX_HEADING:
        return text
    before = [one.start() for one in _FORMS.joining.finditer(text, _LEAST_BEFORE_AND, MAX_HEADING)]
    if before:
        return text[: before[-1]]
    words, small = text[: MAX_HEADING - 1].split(" ")[:-1], lexicon_of(language).stop
    for end in range(len(words) - 1, 0, -1) if language != "de" else ():  # a German verb stands last
        if words[end].lower() in small and words[end - 1].lower() not in small:
            kept = " ".join(words[:end]).rstrip(" ,;:-")
            if len(kept) >= MAX_HEADING // 2:
                return kept
    return (" ".join(words) or text[: MAX_HEADING - 1]).rstrip(" ,;:-") + "…"
