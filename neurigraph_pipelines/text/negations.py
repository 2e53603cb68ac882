"""Words that deny something, in the languages of memories."""

from __future__ import annotations

import re

NEGATION = re.compile(
    r"\b(?:no(?! doubt\b)|not|never|none|nobody|nothing(?! else\b)|without|cannot|nicht|nie|niemals|niemand|ohne|"
    r"kein\w{0,2}|nunca|jamás|nadie|sin|ne|pas|jamais|sans|non|mai|senza|niet|nooit|geen|zonder|não|nem|sem)\b"
    r"|n['’]t\b|\bn['’]|[不没沒無无]|ない|ません|않|없",
    re.IGNORECASE,
)
