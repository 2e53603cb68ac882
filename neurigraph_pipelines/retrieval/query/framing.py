"""The framing of a question, such as "can you give me a summary of", is left out of a search: memories do not have it.

Pure functions of text, for English; questions in other languages stay as they are.
"""

from __future__ import annotations

import re

_TELL = (
    r"(?:remind|tell|help|remember|recall|show|give|find|say|list|walk|summari[sz]e|provide|explain|describe|outline|"
    r"recap|review|share|mention|name|suggest|go\s+over)"
)
_TO_WHOM = r"(?:\s+(?:me|us)\b)?(?:\s+(?:through|about|of)\b)?"
_REQUEST = re.compile(
    rf"\b(?:can|could|would|will|do)\s+you\s+(?:please\s+)?{_TELL}\b{_TO_WHOM}"
    rf"|^[^\S\n]*(?:please\s+)?{_TELL}\b(?=\s){_TO_WHOM}|\b(?:remind|tell|give|show)\s+(?:me|us)\b",
    re.IGNORECASE,
)
_MENTIONED = (
    r"(?:said|mentioned|discussed|raised|covered|brought\s+up|asked\s+about|talked\s+about|gone\s+over|told\s+you)"
)
_OVERVIEW = re.compile(
    r"^[^\S\n]*an?\s+(?:\w+\s+){0,2}(?:summary|overview|recap|list|timeline|breakdown|outline)\s+of\b(?:\s+(?:how|what)\b)?"
    rf"|^[^\S\n]*the\s+order\s+in\s+which\s+(?:i|we)\s+(?:first\s+)?{_MENTIONED}\b"
    r"(?:\s+(?:different|various|several)\b(?:\s+(?:aspects|topics|things)\s+(?:of|about)\b)?)?"
    r"|\b(?:across|throughout|through|over|during|in|from)\s+(?:all\s+)?(?:of\s+)?(?:our|my)\s+"
    r"(?:(?:previous|past|earlier)\s+)?(?:conversation|chat|discussion|session|message|question)s?\b"
    r"|\bin\s+order\s*(?=[.?!]|$)|\bmention\s+only\s+(?:and\s+only\s+)?\w+\s+\w+"
    rf"|\b(?:i|we)(?:\s+have|['’]ve)?\s+{_MENTIONED}\b|\bhave\s+(?:i|we)\s+{_MENTIONED}\b"
    r"|\bdid\s+(?:i|we)\s+(?:say|mention|tell\s+you|bring\s+up|talk\s+about|discuss)\b|\bso\s+far\b",
    re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r"[^\W_]")


def without_requests(question: str) -> str:
    """Return the question without its request, such as "can you tell me"."""
    return _REQUEST.sub("\n", question)


def unframed(question: str) -> str:
    """Return the question without its framing; the whole question if nothing would be left."""
    rest = " ".join(_OVERVIEW.sub(" ", without_requests(question)).split())
    return rest if _WORD.search(rest) else question
