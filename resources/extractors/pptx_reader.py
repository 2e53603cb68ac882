"""PowerPoint presentations: the words, tables and notes of each slide, hidden slides marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree

from neurigraph_pipelines.text.raised import raised
from resources.extractors.formulas import FORMULA, formula, joined
from resources.extractors.grouping import Part, Piece, grouped, row_of
from resources.extractors.zipped import attribute, local, require_bounded, xml_of

_LONGEST_TITLE = 100
_BREAKS = {"br": "\n", "tab": "\t"}


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of paragraphs of each slide; a row of a table counts as one."""
    require_bounded(stream)
    from pptx import Presentation

    presentation = Presentation(stream)
    for name in ("title", "author"):
        if value := getattr(presentation.core_properties, name):
            facts[name] = str(value)[:300]
    facts["slides"] = str(len(presentation.slides))
    for number, slide in enumerate(presentation.slides, start=1):
        title = slide.shapes.title.text_frame.text if slide.shapes.title is not None else ""
        hidden = " (hidden)" if slide._element.get("show") in ("0", "false") else ""
        section = f"slide {number}{hidden} {' '.join(title.split())[:_LONGEST_TITLE]}".strip()
        pieces = [*_pieces(slide.shapes._spTree), *_diagrams(slide)]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            pieces += [f"Notes: {notes}"] if notes else []
        yield from grouped(_of(pieces, section), f"slide-{number}-paragraphs")


def _of(pieces: list[str], section: str) -> Iterator[Piece]:
    return ((piece, section) for piece in pieces)


def _pieces(parent: etree._Element) -> Iterator[str]:
    """Yield the paragraphs and rows below an element, through groups; of alternatives the newest."""
    for element in parent:
        name = local(element)
        if name == "p":
            if text := _text(element):
                yield text
        elif name == "tr":
            if row := row_of(" ".join(_pieces(cell)) for cell in element if local(cell) == "tc"):
                yield row
        elif name == "AlternateContent":
            yield from _pieces(_newest(element))
        elif name:
            yield from _pieces(element)


def _newest(alternatives: etree._Element) -> etree._Element:
    """Return the alternative for the newest program."""
    return next((one for one in alternatives if local(one) == "Choice"), alternatives)


def _text(paragraph: etree._Element) -> str:
    return joined(_inline(paragraph)).strip()


def _inline(parent: etree._Element) -> Iterator[str]:
    for element in parent:
        name = local(element)
        if name == "t":
            yield element.text or ""
        elif name in _BREAKS:
            yield _BREAKS[name]
        elif name == FORMULA:
            yield formula(element)
        elif name == "r" and any(local(one) == "rPr" and _is_up(one) for one in element):
            yield from map(raised, _inline(element))
        elif name:
            yield from _inline(_newest(element) if name == "AlternateContent" else element)


def _is_up(properties: etree._Element) -> bool:
    baseline = attribute(properties, "baseline") or "0"
    return not baseline.startswith("-") and bool(baseline.strip("0"))


def _diagrams(slide: object) -> Iterator[str]:
    """Yield the words of drawn diagrams and charts, which lie in parts of their own."""
    for relation in slide.part.rels.values():  # type: ignore[attr-defined]
        if relation.is_external:
            continue
        kind = relation.reltype.rpartition("/")[2]
        if kind == "diagramData":
            yield from _pieces(xml_of(relation.target_part.blob))
        elif kind == "chart":
            yield from words_of_chart(xml_of(relation.target_part.blob))


def words_of_chart(root: etree._Element) -> Iterator[str]:
    """Yield the titles of a chart, and each series with its values."""
    yield from _pieces(root)
    for series in (one for one in root.iter() if local(one) == "ser"):
        found = {local(one): [v.text or "" for v in one.iter() if local(v) == "v"] for one in series}
        names, values = found.get("cat", []), found.get("val", [])
        pairs = zip(names, values, strict=False) if names else (("", value) for value in values)
        points = "; ".join(f"{name}: {value}" if name else value for name, value in pairs)
        yield f"{' '.join(found.get('tx', []))}: {points}".removeprefix(": ")
