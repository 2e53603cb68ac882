"""Formulas of Office (OMML) in one line, such as ``1/2`` and ``x^2``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from lxml import etree

from resources.extractors.zipped import attribute, local

FORMULA = "oMath"
"""The name of the element of a formula."""

_ONE = re.compile(r"[^\W_]+(?:[.,]\d+)?|\(.*\)")
_BEGIN = "\u2063"
_BESIDE = re.compile(rf"(?<=\w){_BEGIN}(?=\w)")


def formula(element: etree._Element) -> str:
    """Return a formula as one line, with a mark before it for ``joined``."""
    return _BEGIN + " ".join(_written(element).split())


def joined(pieces: Iterable[str]) -> str:
    """Join words and formulas; a fraction stands apart from a number before it."""
    return _BESIDE.sub(" ", "".join(pieces)).replace(_BEGIN, "")


def _written(element: etree._Element) -> str:
    name = local(element)
    if name == "t":
        return element.text or ""
    if not name or name.endswith("Pr") or name in ("del", "moveFrom"):
        return ""
    write = _FORMS.get(name)
    if write is not None:
        return write(element)
    words = ""
    for part in element:
        text = _written(part)
        words += f" {text}" if local(part) == "f" and words[-1:].isalnum() else text
    return words


def _part(element: etree._Element, name: str) -> str:
    return next((_written(one) for one in element if local(one) == name), "")


def _single(element: etree._Element, name: str) -> str:
    """Return a part, in brackets if it is more than one number or word."""
    text = _part(element, name).strip()
    return text if _ONE.fullmatch(text) or not text else f"({text})"


def _property(element: etree._Element, name: str, usual: str) -> str:
    found = (one for properties in element if local(properties).endswith("Pr") for one in properties)
    return next((attribute(one, "val") or "" for one in found if local(one) == name), usual)


def _fraction(element: etree._Element) -> str:
    line = " over " if _property(element, "type", "") == "noBar" else "/"
    return f"{_single(element, 'num')}{line}{_single(element, 'den')}"


def _scripts(element: etree._Element) -> str:
    """Return the terms below and above."""
    return "".join(f"{mark}{text}" for name, mark in (("sub", "_"), ("sup", "^")) if (text := _single(element, name)))


def _bracketed(element: etree._Element) -> str:
    inner = _property(element, "sepChr", "|").join(_written(one) for one in element if local(one) == "e")
    return f"{_property(element, 'begChr', '(')}{inner}{_property(element, 'endChr', ')')}"


def _listed(element: etree._Element) -> str:
    rows = (one for one in element if local(one) in ("mr", "e"))
    return "; ".join(
        ", ".join(_written(one) for one in row if local(one) == "e") if local(row) == "mr" else _written(row)
        for row in rows
    )


_FORMS: dict[str, Callable[[etree._Element], str]] = {
    "f": _fraction,
    "sSup": lambda element: _single(element, "e") + _scripts(element),
    "sSub": lambda element: _single(element, "e") + _scripts(element),
    "sSubSup": lambda element: _single(element, "e") + _scripts(element),
    "rad": lambda element: f"{_part(element, 'deg')}√{_single(element, 'e')}",
    "nary": lambda element: f"{_property(element, 'chr', '∫')}{_scripts(element)} {_part(element, 'e')}",
    "d": _bracketed,
    "func": lambda element: f"{_part(element, 'fName')} {_single(element, 'e')}",
    "limLow": lambda element: f"{_part(element, 'e')}_{_single(element, 'lim')}",
    "limUpp": lambda element: f"{_part(element, 'e')}^{_single(element, 'lim')}",
    "m": _listed,
    "eqArr": _listed,
}
"""Elements with parts that stand above, below or beside each other."""
