"""Text extraction of office documents, books, calendars, address books, notebooks and notes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable

import pytest
from docx import Document
from docx.opc.packuri import PackURI
from docx.opc.part import Part as OpcPart
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from odfdo import Document as OdfDocument
from odfdo import DrawPage, Element, Frame, Header, Paragraph, Table
from pptx import Presentation

from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.text.media_types import media_type_of
from resources.extractors.text_extractor import SubprocessExtractor
from tests.support.documents import msg_of, ods_of

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


@pytest.fixture(scope="module")
def extractor() -> SubprocessExtractor:
    return SubprocessExtractor(seconds=30, memory_bytes=1 << 30, text_bytes=5_000_000)


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    written = io.BytesIO()
    save(written)
    return written.getvalue()


_WORDS = """
<w:body {spaces}>
 <w:p><w:pPr><w:rPr><w:ins w:id="9" w:author="x"/></w:rPr></w:pPr><w:r><w:t>Plain.</w:t></w:r></w:p>
 <w:sdt><w:sdtContent><w:p><w:r><w:t>Block control</w:t></w:r></w:p></w:sdtContent></w:sdt>
 <w:p><w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:t>paid</w:t></w:r><w:r><w:pict><textpath string="Art"/></w:pict>
  </w:r><w:r><w:drawing><docPr descr="Our hut"/></w:drawing></w:r></w:p>
 <w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:p><w:r><w:t>Click</w:t></w:r></w:p>
 </w:sdtContent></w:sdt>
 <w:p><w:r><w:t xml:space="preserve">Owner </w:t></w:r>
 <w:sdt><w:sdtContent><w:r><w:t>Kari</w:t></w:r></w:sdtContent></w:sdt></w:p>
 <w:p><w:del w:id="1" w:author="x"><w:r><w:delText>1 June</w:delText></w:r></w:del>
  <w:moveFrom w:id="3" w:author="x"><w:r><w:t>moved away</w:t></w:r></w:moveFrom>
  <w:ins w:id="2" w:author="x"><w:r><w:t>8 June</w:t></w:r></w:ins></w:p>
 <w:p><w:smartTag><w:r><w:t>Thursday</w:t></w:r></w:smartTag>
 <w:fldSimple w:instr="DATE"><w:r><w:t xml:space="preserve"> noon</w:t></w:r></w:fldSimple></w:p>
 <w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>Box:</w:t></w:r><w:r><mc:AlternateContent>
  <mc:Choice Requires="wps"><w:txbxContent><w:p><w:r><w:t>bring boots</w:t></w:r></w:p></w:txbxContent></mc:Choice>
  <mc:Fallback><w:txbxContent><w:p><w:r><w:t>bring boots</w:t></w:r></w:p></w:txbxContent></mc:Fallback>
 </mc:AlternateContent></w:r></w:p>
 <w:tbl><w:tr><w:tc><w:p><w:r><w:t>Owner</w:t></w:r></w:p></w:tc>
 <w:sdt><w:sdtContent><w:tc><w:p><w:r><w:t>outer</w:t></w:r></w:p>
  <w:tbl><w:tr><w:tc><w:p><w:r><w:t>inner</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p/></w:tc></w:sdtContent></w:sdt></w:tr>
  <w:tr><w:trPr><w:del w:id="4" w:author="x"/></w:trPr>
   <w:tc><w:p><w:r><w:t>deleted row</w:t></w:r></w:p></w:tc></w:tr>
  <w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>A</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc>
   <w:tc><w:p><w:r><w:t>900</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>
</w:body>
"""
_SPACES = f'{nsdecls("w")} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'


def _docx() -> bytes:
    document = Document()
    section = document.sections[0]
    section.header.paragraphs[0].text, section.footer.paragraphs[0].text = "Minutes", "Keeper: Odile"
    body = document.element.body
    for number, element in enumerate(parse_xml(_WORDS.format(spaces=_SPACES))):
        body.insert(number, element)
    document.add_comment(document.add_paragraph("Last.").runs, text="Really?", author="Ann")
    return _saved(document.save)


def _pptx() -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Budget"
    slide.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "Boats first."
    table = slide.shapes.add_table(1, 3, 0, 0, 9, 9).table
    table.cell(0, 0).text, table.cell(0, 2).text = "rope", "40 €"
    slide.notes_slide.notes_text_frame.text = "Ask Kari."
    return _saved(presentation.save)


def _odt() -> bytes:
    document = OdfDocument("text")
    document.body.clear()
    document.body.append(Header(1, "Plan"))
    paragraph = Paragraph("The hut is green.")
    paragraph.insert_note(after="green", note_id="n1", citation="1", body="Since May.")
    paragraph.append(Element.from_tag("<text:date>3 May</text:date>"))
    document.body.append(paragraph)
    table = Table("T", width=4, height=1)
    table.set_values([["tiles", None, None, "40"]])
    document.body.append(table)
    return _saved(document.save)


def _odp() -> bytes:
    document = OdfDocument("presentation")
    document.body.clear()
    page = DrawPage("p1", name="Start")
    page.append(Frame.text_frame("We sail on Friday.", size=("7cm", "5cm"), position=("1cm", "1cm")))
    document.body.append(page)
    return _saved(document.save)


def _ods() -> bytes:
    cells = (
        '<table:table table:name="Rents"><table:table-row><table:table-cell><text:p>flat</text:p></table:table-cell>'
        "<table:table-cell><text:p>rent</text:p></table:table-cell></table:table-row><table:table-row>"
        "<table:table-cell><text:p>A</text:p></table:table-cell><table:table-cell office:value-type='currency' "
        "office:currency='EUR' office:value='900'><text:p>900 €</text:p></table:table-cell>"
        "</table:table-row></table:table>"
    )
    return ods_of(cells)


def _zip(members: dict[str, str]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return written.getvalue()


def _epub(**more: str) -> bytes:
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">'
        'Isles</dc:title></metadata><manifest><item id="b" href="two%20.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="a" href="../one.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{}</body></html>'
    return _zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="in/book.opf"/></rootfiles></container>',
            "in/book.opf": package,
            "in/two .xhtml": page.format("<h1>Bryher</h1><p>It is small.</p>"),
            "one.xhtml": page.format("<h1>Tresco</h1><p>Gärten.</p>"),
            **more,
        }
    )


_RTF = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\header Minutes\par}M\'fcller pays 900 \u8364?.{\v secret}
{\deleted gone} \v also secret\v0 It is due{\footnote in May}.
{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt Box}}}{\*\annotation{\*\atnref 1}Why?}\par\trowd a\cell b\cell\row}"""

_BROKEN_ICS = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
SUMMARY:Dinner
DTSTART:20241345
DESCRIPTION:a
DESCRIPTION:b
END:VEVENT
BEGIN:VEVENT
SUMMARY:Lunch
DTSTART;VALUE=DATE:20240520
DURATION:PT1H
RRULE:FREQ=DAILY
RRULE:FREQ=YEARLY
END:VEVENT
END:VCALENDAR
"""

_ICS = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
X-WR-CALNAME:Family
BEGIN:VEVENT
UID:1
SUMMARY:Dentist
DTSTART;TZID=Europe/Oslo:20240520T140000
DTEND;TZID=Europe/Oslo:20240520T150000
LOCATION:Harbour street 4
DESCRIPTION:Bring the\\, card
ORGANIZER;CN=Kari Lund:mailto:kari@example.org
END:VEVENT
BEGIN:VEVENT
UID:2
SUMMARY:Holiday
DTSTART;VALUE=DATE:20240701
DTEND;VALUE=DATE:20240708
RRULE:FREQ=YEARLY
END:VEVENT
BEGIN:VTODO
UID:3
SUMMARY:Pay rent
DUE;VALUE=DATE:20240531
STATUS:NEEDS-ACTION
END:VTODO
END:VCALENDAR
"""

_VCF = """BEGIN:VCARD
VERSION:3.0
FN:Kari Lund
N:Lund;Kari;;;
ORG:Harbour Ltd;Sales
TITLE:Keeper
TEL;TYPE=CELL:+47 123
EMAIL:kari@example.org
ADR;TYPE=HOME:;;Quay 1;Bergen;;5003;Norway
BDAY:1980-05-20
NOTE:Likes boats
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg M=C3=BCller
TEL;CELL:5
END:VCARD
"""

_ENEX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">
<en-export><note><title>Boat</title><created>20240520T101500Z</created><tag>sea</tag>
<content><![CDATA[<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE en-note SYSTEM "x.dtd">
<en-note><div>Paint it gr&uuml;n.</div>
<div><en-todo checked="true"/>Buy rope</div></en-note>]]></content>
<resource><data encoding="base64">AAAA</data>
<resource-attributes><file-name>bill.pdf</file-name></resource-attributes></resource>
</note></en-export>
"""

_IPYNB = json.dumps(
    {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            {"id": "a", "cell_type": "markdown", "metadata": {}, "source": ["# Tides\n", "High water."]},
            {
                "id": "b",
                "cell_type": "code",
                "metadata": {},
                "execution_count": 1,
                "source": "print(2 + 2)",
                "outputs": [{"output_type": "stream", "name": "stdout", "text": ["4\n"]}],
            },
        ],
    }
)

_SAMPLES = [
    (
        "a.docx",
        _docx,
        "Minutes|Plain.|Block control|✓paidArt[image: Our hut]|"
        "Owner Kari|8 June|Thursday noon|Box:|bring boots|Owner / outer|inner|A / / / 900|"
        "Last.|Really?|Keeper: Odile",
    ),
    ("a.pptx", _pptx, "Budget|Boats first.|rope / / 40 €|Notes: Ask Kari."),
    ("a.odt", _odt, "Plan|The hut is green.3 May|Note: Since May.|tiles / / / 40"),
    ("a.odp", _odp, "We sail on Friday."),
    ("a.ods", _ods, "flat / rent|flat: A; rent: 900 €"),
    ("a.epub", _epub, "Tresco|Gärten.|Bryher|It is small."),
    ("a.rtf", lambda: _RTF, "Minutes|Müller pays 900 €. It is due|in May.|Box|Why?|a / b"),
    ("b.rtf", rb"{\rtf1\mac Gr\'9f\'a7e}".strip, "Grüße"),
    ("c.rtf", rb"{\rtf1\ansi\ansicpg932 \'83e\'83X\'83g \'95\\\'8e\'a6 \'b1ab}".strip, "テスト 表示 ｱab"),
    (
        "a.ics",
        _ICS.encode,
        "2024-05-20 14:00 Europe/Oslo to 15:00: Dentist; at Harbour street 4; notes Bring the, card; with Kari Lund|"
        "2024-07-01 to 2024-07-07: Holiday; repeats FREQ=YEARLY|due 2024-05-31: Pay rent; status NEEDS-ACTION",
    ),
    (
        "b.ics",
        _BROKEN_ICS.encode,
        "Dinner; notes a; b; dtstart not readable: 20241345|2024-05-20: Lunch; repeats FREQ=DAILY; FREQ=YEARLY",
    ),
    (
        "a.vcf",
        _VCF.encode,
        "Kari Lund; works at Harbour Ltd, Sales; as Keeper; telephone (cell) +47 123; e-mail kari@example.org; "
        "address (home) Quay 1, Bergen, 5003, Norway; born 1980-05-20; note Likes boats|"
        "Jörg Müller; telephone (cell) 5",
    ),
    ("a.enex", _ENEX.encode, "Boat; 2024-05-20 10:15; sea|Paint it grün.|[x] Buy rope|[attached: bill.pdf]"),
    (
        "a.msg",
        lambda: msg_of(
            {0x0037: "Rent", 0x1000: "See below.", 0x0C1A: "Jo", 0x0C1F: "jo@example.org"},
            {"rent": {0x0037: "Rent", 0x1000: "I raise it.", 0x0C1A: "Lord", 0x0C1F: "ll@example.org"}},
        ),
        "From: Jo <jo@example.org>|Subject: Rent|See below.|I raise it.",
    ),
    ("a.ipynb", _IPYNB.encode, "# Tides|High water.|print(2 + 2)|4"),
]


@pytest.mark.parametrize(("name", "made", "expected"), _SAMPLES, ids=[name for name, *_ in _SAMPLES])
def test_document_is_read_whole(
    extractor: SubprocessExtractor, name: str, made: Callable[[], bytes], expected: str
) -> None:
    content = made()
    reader = media_type_of(content, name).reader
    assert reader is not None
    found = extractor.extract([content], reader)
    lines = [" ".join(line.split()) for part in found.parts for line in part.text.splitlines()]
    assert "|".join(line.replace(" |", " /").replace("a|b|", "a / b") for line in lines if line) == expected


_BOMB = (
    '<!DOCTYPE a [<!ENTITY b0 "ha">'
    + "".join(f'<!ENTITY b{n + 1} "{f"&b{n};" * 10}">' for n in range(9))
    + "]><a>&b9;</a>"
)


@pytest.mark.parametrize(
    ("reader", "made"),
    [
        ("epub", lambda: _epub(large="x" * (600 << 20))),
        ("epub", lambda: _zip({"mimetype": "application/epub+zip"})),
        ("odf", lambda: _zip({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": _BOMB})),
        ("pptx", lambda: _pptx()[:500]),
        ("enex", _BOMB.encode),
        ("rtf", lambda: b"no rich text"),
        ("calendar", lambda: b"no calendar"),
        ("contacts", lambda: b"nobody"),
        ("msg", lambda: msg_of({0x1000: "x"})[:700]),
        ("notebook", lambda: b'{"nbformat": 4'),
    ],
)
def test_hostile_document_fails_alone(reader: str, made: Callable[[], bytes]) -> None:
    small = SubprocessExtractor(seconds=20, memory_bytes=1 << 29, text_bytes=5_000_000)
    with pytest.raises(UnreadableFileError):
        small.extract([made()], reader)


def test_locked_book_says_so(extractor: SubprocessExtractor) -> None:
    locks = '<encryption><CipherReference URI="one.xhtml"/></encryption>'
    assert extractor.extract([_epub(**{"META-INF/encryption.xml": locks})], "epub").unread == "its text is encrypted"


def test_files_within_a_word_document_are_read(extractor: SubprocessExtractor) -> None:
    document = Document()
    document.add_paragraph("Before.")
    kinds = (("text/html", b"<p>The fee is 310.</p>"), ("text/plain", b"Bring boots"), ("application/rtf", b"{}"))
    for number, (kind, content) in enumerate(kinds):
        part = OpcPart(PackURI(f"/word/chunk{number}.x"), kind, content, document.part.package)
        document.part.relate_to(part, f"{RELATIONS}/aFChunk")
        document.element.body.append(parse_xml(f"<w:altChunk {nsdecls('w')}/>"))
    written = io.BytesIO()
    document.save(written)
    found = extractor.extract([written.getvalue()], "docx")
    assert [part.text for part in found.parts] == ["Before.", "The fee is 310.", "Bring boots"]
    assert "application/rtf" in found.facts["words read"]
