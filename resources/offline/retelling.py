"""A speaker's words about themselves, told in the third person: ``I moved`` becomes ``Nora moved``.

English only, and only where the grammar is certain: ``retold`` returns None for everything else, and the caller quotes
the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from resources.offline.lexicon import english, word_lists

_PIECE = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|\s+|[^\w\s]+|_")

_CONTRACTED = {"'m": "is", "'re": "is", "'ve": "has", "'ll": "will"}
_AGREEING = {
    "am": "is", "are": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "aren't": "isn't",
    "were": "was", "weren't": "wasn't",
}  # fmt: skip
_WORDS = word_lists("retelling")
_FIXED = _WORDS["fixed"]
_ADVERBS = _WORDS["adverbs"]
_NO_VERB = _WORDS["no_verb"]
_CLAUSE_OPENERS = _WORDS["clause_openers"]
_INVERTING = _WORDS["inverting"]
_UNCERTAIN = _WORDS["uncertain"]

IRREGULAR_PAST = _WORDS["irregular_past"]
"""Past forms that do not end in ``ed``: English makes no new ones."""

SAME_IN_PAST = _WORDS["same_in_past"]
"""Verbs whose past cannot be told from the present."""

_QUOTING = frozenset('"“”„«»')
_NO_PAST = _WORDS["no_past"]


def retold(sentence: str, speaker: str, hearer: str | None) -> str | None:
    """Return ``sentence`` in the third person; None if that is uncertain. A sentence without I and you stays.

    Args:
        sentence: One English sentence, not a question.
        speaker: The name for "I".
        hearer: The name for "you"; None if it is not known.
    """
    pieces = _PIECE.findall(sentence)
    words = [n for n, piece in enumerate(pieces) if piece[0].isalnum()]
    told, subject = False, ""
    for place, number in enumerate(words):
        lower = _lower(pieces[number])
        if lower in _UNCERTAIN:
            return None
        person, form = _person(lower)
        if not form:
            continue
        name = speaker if person == 1 else hearer
        if name is None or not _QUOTING.isdisjoint(sentence):
            return None
        told = True
        if form == "possessive":
            pieces[number] = possessive(name)
        elif form == "object":
            pieces[number] = name
        elif form.startswith("'"):
            verb = _contracted(form, pieces, words[place + 1 :])
            if verb is None or (verb in {"is", "has"} and _goes_on(pieces, words[place + 1 :])):
                return None
            pieces[number] = f"{name} {verb}"
        else:
            verb = pieces[words[place + 1]] if place + 1 < len(words) else ""
            if not _agree(pieces, words, place, is_you=person == 2, was_subject=bool(subject)):
                return None
            # "Nora called and Nora asked" is said with one name.
            again = subject == name and _lower(pieces[words[place - 1]]) in {"and", "but"} and is_past(_lower(verb))
            pieces[number : number + 2] = ["", ""] if again else [name, *pieces[number + 1 : number + 2]]
            subject = subject or name
    return "".join(pieces) if told else sentence


def lacks_subject(sentence: str) -> bool:
    """Whether a sentence seems to begin with its verb: an order, or a report without "I"."""
    first = _lower(sentence.split(" ", 1)[0].strip(",.;:!\"'()"))
    return (
        first in english().verbs
        or first in {"don't", "please", "let", "let's", "never", "will", "had", "was", "am"}
        or is_past(first)
    )


def possessive(name: str) -> str:
    """Return the genitive of a name."""
    return f"{name}'s"


def has_verb(words: Sequence[str], verbs: frozenset[str]) -> bool:
    """Whether one of ``words`` (lower case) is certainly or probably a finite verb.

    Args:
        words: The words of a sentence.
        verbs: Base forms of common verbs.
    """
    for word in words:
        if word in _FIXED or word in _AGREEING or word in IRREGULAR_PAST or word.endswith("n't"):
            return True
        if (word.endswith("ed") and len(word) > 4) or word.endswith(("'re", "'ve", "'ll", "'m", "'d")):
            return True
        if word in verbs or word in SAME_IN_PAST or _base(word) in verbs or word in {"it's", "that's", "there's"}:
            return True
    return False


def _base(word: str) -> str:
    """Return the base form of a word that may be the third person of a verb."""
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def _lower(piece: str) -> str:
    return piece.lower().replace("’", "'")


def _person(lower: str) -> tuple[int, str]:
    """Return 1 or 2 for the person and the form of a pronoun; no form for other words."""
    for person, subject, possessed in ((1, "i", "my"), (2, "you", "your")):
        if lower == subject:
            return person, "subject"
        if lower == possessed:
            return person, "possessive"
        if lower.startswith(f"{subject}'"):
            return person, lower[len(subject) :]
    return (1, "object") if lower == "me" else (0, "")


def _contracted(form: str, pieces: Sequence[str], following: Sequence[int]) -> str | None:
    if form != "'d":
        return _CONTRACTED.get(form)
    for number in following:
        word = _lower(pieces[number])
        if word not in _ADVERBS:
            return "had" if word in {"better", "been"} or is_past(word) else "would"
    return None


def is_past(word: str) -> bool:
    """Return whether a word is certainly or probably the past form of an English verb."""
    return word in IRREGULAR_PAST or (word.endswith("ed") and word not in _NO_PAST)


def _agree(pieces: list[str], words: Sequence[int], place: int, *, is_you: bool, was_subject: bool) -> bool:
    """Let the verb after the pronoun at ``place`` agree with a name; False if that is uncertain.

    Args:
        pieces: The sentence, changed in place.
        words: Which of the pieces are words.
        place: The pronoun, as an index of ``words``.
        is_you: Whether it is "you".
        was_subject: Whether the speaker was the subject before.
    """
    before = _lower(pieces[words[place - 1]]) if place else ""
    if before in _INVERTING:
        return False
    shared = before in {"and", "or"} and not was_subject  # "she and I are"
    at = place + 1
    while at < len(words) and (_lower(pieces[words[at]]) in _ADVERBS or _lower(pieces[words[at]]).endswith("ly")):
        at += 1
    joined = place + 1 < len(words) and pieces[words[place] + 1 : words[place] + 2] == [" "]
    if at >= len(words) or not joined:
        return is_you  # "for you."
    verb = _lower(pieces[words[at]])
    if is_you and verb in _NO_VERB:
        return before not in {"", *_CLAUSE_OPENERS}  # "told you the truth"
    if verb in _FIXED:
        return True
    if is_past(verb):
        return not _goes_on(pieces, words[at + 1 :])
    if shared and (verb in {"are", "were", "aren't", "weren't"} or "," not in "".join(pieces[: words[place - 1]][-2:])):
        return False
    opens = place == 0 or before in _CLAUSE_OPENERS or "," in pieces[words[place - 1] + 1 : words[place]]
    if verb in _NO_VERB or verb in SAME_IN_PAST or (is_you and not opens):
        return False
    if verb not in _AGREEING and (not verb.isalpha() or not pieces[words[at]].islower() or verb.endswith("ing")):
        return False
    if _goes_on(pieces, words[at + 1 :]):
        return False
    pieces[words[at]] = _AGREEING.get(verb) or _third_person(verb)
    return True


def _goes_on(pieces: Sequence[str], following: Sequence[int]) -> bool:
    """Whether a second verb follows that has to agree, too: ``I moved here and work there``."""
    return any(
        _lower(pieces[first]) in {"and", "or", "but", "then"} and _lower(pieces[second]) in english().verbs
        for first, second in pairwise(following)
    )


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"
