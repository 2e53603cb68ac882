"""How names are written: capitals, titles before them, and the small words that hold a name of several words together.

Only forms; ``runs`` and ``relations`` decide which of them are names.
"""

from __future__ import annotations

import re

UPPER = "".join(chr(code) for code in range(0x41, 0x530) if chr(code).isupper())
"""Capital letters of the Latin, Greek and Cyrillic scripts, for a character class."""

CAPITALISED = rf"[{UPPER}][\w+]{{0,40}}(?:['’.&-][\w+]{{2,40}}){{0,3}}"
"""A capitalised word. An apostrophe, dot, ampersand or hyphen belongs to it with two letters after it: no ``'s``."""

TITLE = (
    r"(?:(?:Mr|Mrs|Ms|Mx|Dr|Prof|Rev|Fr|St|Sr|Sra|Srta|Mme|Mlle|M|Hr|Fr)\.|Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Father|"
    r"Sister|Brother|Sir|Lady|Lord|Captain|Herrn?|Frau|Familie|Señora?|Sra?|Don|Doña|Monsieur|Madame|Mademoiselle|Mme)"
)
"""A title that belongs to the name after it."""

_LINK = (
    r"(?:of\sthe|of|de\slas?|de\slos|de\sl['’]|della|del|dels|de|das|dos|da|do|du|des|di|van\sder|van\sden|van|"
    r"von\sder|von|zu|zum|ter|upon|sur|al|bin|ibn|&)"
)
NAME = rf"(?:{TITLE}\s)?(?!{TITLE}\s){CAPITALISED}(?:\s(?:{_LINK}\s)?(?!{TITLE}\s){CAPITALISED}){{0,5}}"
"""One to six capitalised words with small words such as ``de la`` between them."""

_TITLED = re.compile(rf"(?P<title>{TITLE})\s(?P<name>.+)", re.S)


def without_title(name: str) -> tuple[str, str]:
    """Return the title before a name, if it has one, and the rest."""
    match = _TITLED.fullmatch(name)
    return (match["title"], match["name"]) if match else ("", name)
