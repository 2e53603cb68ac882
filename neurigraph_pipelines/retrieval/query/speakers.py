"""Who a question is about, among those who speak in the memories: by their names, or by "I" and "you".

Pure functions of text. That what such a person said counts more is the search's affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from neurigraph_pipelines.graph.naming import fold
from neurigraph_pipelines.model import Role
from neurigraph_pipelines.text.lexemes import Lexer, without_marks

_WORD = re.compile(r"[^\W_]+")
_POSSESSED_WORD = re.compile(r"[^\W_]+(?:['’][sS]\b)?")
_OF_USER = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_OF_ASSISTANT = re.compile(r"\b(?:you|your|yours)\b", re.IGNORECASE)
_ASKING = re.compile(
    r"\b(?:(?:can|could|would|will|do)\s+you\s+(?:please\s+)?(?:remind|tell|help|remember|recall|show|give|find|say)"
    r"(?:\s+(?:me|us))?|(?:remind|tell|give|show)\s+(?:me|us))\b",
    re.IGNORECASE,
)


def speakers_named(query: str, speakers: Iterable[str], lexer: Lexer) -> dict[str, frozenset[str]]:
    """The speakers whose name has a word that stands in the question, each with those words.

    Args:
        query: What is asked.
        speakers: Names in lower case.
        lexer: Its stop words name nobody: ``will`` is rarely Will.
    """
    asked = {word for word in _words(query) if not lexer.is_stop_word(word)}
    named = {speaker: asked.intersection(_words(speaker)) for speaker in speakers}
    return {speaker: frozenset(words) for speaker, words in named.items() if words}


def without_names(query: str, words: Iterable[str]) -> str:
    """The question without some words, each with its ``'s``; the whole question where nothing would be left.

    All that somebody said begins with their name when it is embedded, and would be near to a question that has it.
    """
    names = frozenset(words)
    if not names:
        return query
    rest = _POSSESSED_WORD.sub(lambda match: "" if names.issuperset(_words(match[0])[:1]) else match[0], query)
    return " ".join(rest.split()) if _WORD.search(rest) else query


def _words(text: str) -> list[str]:
    """As names are compared: without case and accents, which people leave out."""
    return _WORD.findall(without_marks(fold(text)))


def role_asked(query: str) -> Role | None:
    """Whose words a question to an assistant is about: the user's for "my", the assistant's for "your".

    Of both the first counts, once phrases such as "can you remind me" are left aside.
    """
    text = _ASKING.sub(" ", query)
    user, assistant = _OF_USER.search(text), _OF_ASSISTANT.search(text)
    if user is None:
        return Role.ASSISTANT if assistant is not None else None
    return Role.USER if assistant is None or user.start() < assistant.start() else Role.ASSISTANT
