"""Reasons as sentences of their own: of "Hanna missed the ferry because the bridge was closed", the closed bridge.

``text.causes`` finds the reason; this module words it, or returns nothing where a pronoun stays unclear. English only.
"""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.text.causes import causes_of
from resources.offline.lexicon import english, forms, word_lists
from resources.offline.references import WORD
from resources.offline.retelling import has_verb

_FORMS = forms("reasons")

MAX_REASON = 30
"""Most words of a reason."""

_WORDS = word_lists("reasons")
_NO_NAME = _WORDS["no_name"]
_BEFORE_VERBS = frozenset("i we you they he she it".split())
_FIRST = 4
"""Words of a clause among which its verb is."""


def reasons_of(sentence: str, before: str = "") -> Iterator[str]:
    """Yield the reasons that a sentence gives, each as a sentence."""
    for one in causes_of(sentence, before):
        is_before = one.spans_sentences and one.cause == before.strip().rstrip(".!")
        if one.relation not in ("caused_by", "influenced_by") or is_before:
            continue
        worded = worded_reason(one.cause, one.effect, is_phrase=one.is_phrase)
        if worded is not None:
            yield worded


def worded_reason(reason: str, effect: str = "", *, is_phrase: bool = False) -> str | None:
    """Return a reason as a sentence, with a noun of the effect for its pronoun; None if that is unclear.

    Args:
        is_phrase: Whether the reason is a noun with its modifiers, and no clause.
    """
    words = [word.lower().replace("’", "'") for word in WORD.findall(reason)]
    if not 2 <= len(words) <= MAX_REASON:
        return None
    if match := _FORMS.pronoun.match(reason):
        noun = _meant(match[0].lower(), effect)
        if noun is None:
            return None
        reason = f"{noun}{reason[match.end() :]}"
    if is_phrase and _FORMS.modified.search(reason):
        return None
    if not is_phrase:
        is_clause = words[0] in _BEFORE_VERBS or has_verb(words, english().verbs)
        if not is_clause and not any(map(_FORMS.inflected.fullmatch, words[1:_FIRST])):
            return None
        return f"{reason[:1].upper()}{reason[1:]}."
    if (match := _FORMS.determined.match(reason)) is not None:
        noun = match["noun"]
        if noun.split(" of ")[0].split(" in ")[0].endswith("s"):
            return f"There were {noun}."
        return f"There was {'an' if _FORMS.vowel.match(noun) else 'a'} {noun}."
    return f"{reason[:1].upper()}{reason[1:]} was a reason."


def _meant(pronoun: str, effect: str) -> str | None:
    """Return the noun of an effect that a pronoun at the beginning of its reason means."""
    effect = effect.strip().rstrip(".!")
    if pronoun == "they":
        match = _FORMS.plural_at_end.search(effect)
        return match["noun"].strip().capitalize() if match else None
    if pronoun not in ("it", "he", "she"):
        return None
    match = (_FORMS.subject if pronoun == "it" else _FORMS.name).match(effect)
    if match is None or match["noun"] in _NO_NAME or (pronoun != "it" and _FORMS.own.match(effect)):
        return None
    return match["noun"]
