"""Address books (.vcf): each person as one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from resources.extractors.decoding import open_text
from resources.extractors.grouping import Part, Piece, grouped

_SAID = {
    "nickname": "called",
    "org": "works at",
    "title": "as",
    "role": "role",
    "tel": "telephone",
    "email": "e-mail",
    "adr": "address",
    "bday": "born",
    "anniversary": "anniversary",
    "url": "page",
    "related": "related",
    "categories": "groups",
    "note": "note",
}

_PLAIN_KINDS = ("pref", "internet", "voice", "quoted-printable")


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of people."""
    yield from grouped(_people(open_text(stream, facts).read()), "people")


def _people(text: str) -> Iterator[Piece]:
    import vobject

    found = False
    for card in vobject.readComponents(text, ignoreUnreadable=True, allowQP=True):
        if card.name.upper() == "VCARD":
            found = True
            if sentence := _sentence(card.contents):
                yield sentence, None
    if not found:
        raise ValueError("there is no contact in it")


def _sentence(contents: dict[str, list[Any]]) -> str:
    name = next((shown for key in ("fn", "n", "org") for one in contents.get(key, ()) if (shown := _text_of(one))), "")
    parts = [name] if name else []
    for key, word in _SAID.items():
        for one in contents.get(key, ()):
            stated = [*one.params.get("TYPE", ()), *one.singletonparams]  # the latter in version 2.1
            kinds = ", ".join(kind.lower() for kind in stated if kind.lower() not in _PLAIN_KINDS)
            if (text := _text_of(one)) and text != name:
                parts.append(f"{word} ({kinds}) {text}" if kinds else f"{word} {text}")
    return "; ".join(parts)


def _text_of(line: Any) -> str:
    """Return a value as one line; addresses and names without their empty parts."""
    value = line.value
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    elif line.name.upper() == "ADR":
        text = ", ".join(" ".join(str(part).split()) for part in str(value).splitlines())
    else:
        text = str(value)
    return " ".join(text.split()).strip(" ,")
