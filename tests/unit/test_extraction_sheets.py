"""Spreadsheets: sheets and rows as text, and hostile files, each of which fails alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.text.media_types import media_type_of
from resources.extractors.text_extractor import SubprocessExtractor
from tests.support.documents import cells_of, ods_of, xlsx_of

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def extractor() -> SubprocessExtractor:
    return SubprocessExtractor(seconds=30, memory_bytes=1 << 30, text_bytes=5_000_000)


def test_sheets_say_their_names_and_never_compute(extractor: SubprocessExtractor) -> None:
    formulas = (
        '<row r="2"><c r="A2" t="inlineStr"><is><t>Ana</t></is></c><c r="B2"><f>1+1</f><v>4711</v></c>'
        "<c r=\"C2\"><f>WEBSERVICE('http://localhost/')</f></c></row>"
    )
    book = xlsx_of(
        {
            "Fares": cells_of(("Fares of 2025",), ("place", "pounds"), ("Tresco", 12), ("Bryher", 14)),
            "Secret\u2028formulas": cells_of(("name", "code", "page")) + formulas,
            "Empty": "",
        }
    )
    assert media_type_of(book, "x.bin").reader == "sheets"
    found = extractor.extract([book], "sheets")
    assert [(part.place, part.section, part.text.splitlines()) for part in found.parts] == [
        (
            "sheet-1-rows-1-4",
            "sheet Fares",
            ["Fares of 2025", "place | pounds", "place: Tresco; pounds: 12", "place: Bryher; pounds: 14"],
        ),
        ("sheet-2-rows-1-2", "sheet Secret formulas", ["name | code | page", "name: Ana; code: 4711"]),
    ]
    table = (
        '<table:table table:name="Isles"><table:table-row><table:table-cell office:value-type="string">'
        "<text:p>Tresco</text:p></table:table-cell>"
        '<table:table-cell table:formula="of:=1+1" office:value-type="float" office:value="4711"/>'
        '</table:table-row><table:table-row table:number-rows-repeated="1048575">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>'
    )
    isles = ods_of(table)
    assert media_type_of(isles, "x.bin").reader == "ods"
    (part,) = extractor.extract([isles], "ods").parts
    assert (part.section, part.text) == ("sheet Isles", "Tresco | 4711")


def _lying(book: bytes) -> bytes:
    """Return an archive whose directory says that each member unpacks to one byte."""
    lying = bytearray(book)
    place = 0
    while (place := lying.find(b"PK\x01\x02", place)) >= 0:
        lying[place + 24 : place + 28] = (1).to_bytes(4, "little")
        place += 46
    return bytes(lying)


_FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
_LAUGHS = (
    '<!DOCTYPE a [<!ENTITY b "ha">'
    + "".join(f'<!ENTITY {c} "{f"&{b};" * 10}">' for b, c in pairwise("bcdefghij"))
    + "]>"
)
_REPEATED = (
    '<table:table table:name="T"><table:table-row table:number-rows-repeated="1000000000">'
    '<table:table-cell table:number-columns-repeated="1000000000" office:value-type="float" office:value="1"/>'
    "</table:table-row></table:table>"
)


@pytest.mark.parametrize(
    "made",
    [
        lambda: b"PK\x03\x04 and nothing else",
        lambda: xlsx_of({"One": cells_of(("a", "b"))})[:300],
        lambda: xlsx_of({"One": cells_of(("a", "b")) + _FAR}),
        lambda: xlsx_of({"One": ""}, {"xl/worksheets/sheet1.xml": MEGABYTE * 600 * b" "}),
        lambda: _lying(xlsx_of({"One": "<row>" * (16 * MEGABYTE)})),
        lambda: ods_of(_REPEATED),
    ],
    ids=["no archive", "cut off", "far corner", "bomb", "lying bomb", "repeated"],
)
def test_hostile_sheets_fail_alone(made: Callable[[], bytes]) -> None:
    content = made()
    extractor = SubprocessExtractor(seconds=20, memory_bytes=1 << 28, text_bytes=5_000_000)
    assert len(content) < MEGABYTE
    started = time.monotonic()
    with pytest.raises(UnreadableFileError):
        extractor.extract([content], media_type_of(content, "x.xlsx").reader or "sheets")
    assert time.monotonic() - started < 15


def test_entities_of_sheets_are_not_expanded(extractor: SubprocessExtractor) -> None:
    cells = cells_of(("a", "b")).replace(">a<", ">&j; &x;<")
    external = _LAUGHS.replace("]>", '<!ENTITY x SYSTEM "file:///etc/passwd">]>')
    sheet = f'{external}<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{cells}</sheetData></worksheet>'
    book = xlsx_of({"One": ""}, {"xl/worksheets/sheet1.xml": sheet.encode()})
    try:
        text = "\n".join(part.text for part in extractor.extract([book], "sheets").parts)
    except UnreadableFileError:
        text = ""
    assert "haha" not in text
    assert "root:" not in text


def test_comments_on_cells_are_read(extractor: SubprocessExtractor) -> None:
    comment = b'<comments xmlns="x"><commentList><comment ref="B2"><text><r><t>Ask </t></r><r><t>Liv.</t></r></text>'
    book = xlsx_of(
        {"Fares": cells_of(("place", "pounds"), ("Tresco", 12))},
        {"xl/comments1.xml": comment + b"</comment></commentList></comments>"},
    )
    assert [part.text for part in extractor.extract([book], "sheets").parts][1:] == ["Comment on B2: Ask Liv."]
    threads = b'<ThreadedComments xmlns="x"><threadedComment ref="A1"><text>Since May.</text></threadedComment>'
    book = xlsx_of(
        {"Fares": cells_of(("place", "pounds"), ("Tresco", 12))},
        {
            "xl/comments1.xml": comment + b"</comment></commentList></comments>",
            "xl/threadedComments/threadedComment1.xml": threads + b"</ThreadedComments>",
        },
    )
    assert [part.text for part in extractor.extract([book], "sheets").parts][1:] == ["Comment on A1: Since May."]
    isles = ods_of(
        '<table:table table:name="Isles"><table:table-row><table:table-cell>'
        "<office:annotation><text:p>Ask Liv.</text:p></office:annotation>"
        "<text:p>Tresco</text:p></table:table-cell></table:table-row></table:table>"
    )
    assert [part.text for part in extractor.extract([isles], "ods").parts] == ["Tresco", "Comment: Ask Liv."]
