"""The speakers whom a question is about: those whom it names, or the user and the assistant by "I" and "you".

Pure functions of text. The ranking boosts what those speakers said.
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


def speakers_named(query: str, speakers: Iterable[str], lexer: Lexer) -> dict[str, frozenset[str]]:
    """Return the speakers whose name shares a word with the question, each with the shared words.

    Args:
        speakers: Names in lower case.
        lexer: Its stop words are not taken for names: ``will`` is rarely Will.
    """
    asked = {word for word in _words(query) if not lexer.is_stop_word(word)}
    named = {speaker: asked.intersection(_words(speaker)) for speaker in speakers}
    return {speaker: frozenset(words) for speaker, words in named.items() if words}


def without_names(query: str, words: Iterable[str]) -> str:
    """Return the question without some words and their ``'s``; the whole question if nothing would be left.

    Each message is embedded with its speaker's name in front, so all of a speaker's messages are near to a question
    that holds the name.
    """
    names = frozenset(words)
    if not names:
        return query
    rest = _POSSESSED_WORD.sub(lambda match: "" if names.issuperset(_words(match[0])[:1]) else match[0], query)
    return " ".join(rest.split()) if _WORD.search(rest) else query


def _words(text: str) -> list[str]:
    """Return the words of a text without case and accents, which people leave out of names."""
    return _WORD.findall(without_marks(fold(text)))


def role_asked(query: str) -> Role | None:
    """Return the role that a question to an assistant is about: the user for "my", the assistant for "your".

    If it has both, the first counts.

    Args:
        query: Without requests such as "can you remind me".
    """
    user, assistant = _OF_USER.search(query), _OF_ASSISTANT.search(query)
    if user is None:
        return Role.ASSISTANT if assistant is not None else None
    return Role.USER if assistant is None or user.start() < assistant.start() else Role.ASSISTANT
