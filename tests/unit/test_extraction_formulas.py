"""Formulas and raised digits of documents: no number runs into another."""

from __future__ import annotations

import io

import pytest
from lxml import etree
from pptx import Presentation

from resources.extractors import docx_reader, html_reader, pptx_reader
from tests.support.documents import docx_of

_SPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)


def _run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


_HALF = f"<m:f><m:fPr/><m:num>{_run('1')}</m:num><m:den>{_run('2')}</m:den></m:f>"


def _part(name: str, text: str) -> str:
    return f"<m:{name}>{_run(text)}</m:{name}>"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"<w:r><w:t>Use </w:t></w:r><m:oMath>{_HALF}</m:oMath><w:r><w:t> cup.</w:t></w:r>", "Use 1/2 cup."),
        (f"<w:r><w:t>Use 2</w:t></w:r><m:oMath>{_HALF}</m:oMath><w:r><w:t>.</w:t></w:r>", "Use 2 1/2."),
        (f"<m:oMathPara><m:oMath>{_run('2')}{_HALF}</m:oMath></m:oMathPara>", "2 1/2"),
        (f"<m:oMath><m:f>{_part('num', 'a+b')}{_part('den', '20')}</m:f></m:oMath>", "(a+b)/20"),
        (f"<m:oMath><m:sSup>{_part('e', '10')}{_part('sup', '3')}</m:sSup></m:oMath>", "10^3"),
        (f"<m:oMath><m:sSub>{_part('e', 'x')}{_part('sub', '12')}</m:sSub>{_run('=4')}</m:oMath>", "x_12=4"),
        (f"<m:oMath><m:rad><m:radPr/><m:deg/>{_part('e', '16')}</m:rad></m:oMath>", "√16"),
        (f"<m:oMath><m:d>{_part('e', '1')}{_part('e', '2')}</m:d></m:oMath>", "(1|2)"),
        (f"<m:oMath><m:m><m:mr>{_part('e', '1')}{_part('e', '2')}</m:mr></m:m></m:oMath>", "1, 2"),
        (
            f'<m:oMath><m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>{_part("sub", "1")}{_part("sup", "9")}'
            f"{_part('e', 'k')}</m:nary></m:oMath>",
            "∑_1^9 k",
        ),
        (
            '<w:r><w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>3</w:t></w:r>'
            '<w:r><w:t> on the 1</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>st</w:t></w:r>',
            "10³ on the 1st",
        ),
    ],
)
def test_formula_of_word(content: str, expected: str) -> None:
    body = f"<w:document {_SPACES}><w:body><w:p>{content}</w:p></w:body></w:document>"
    found = docx_reader.read(io.BytesIO(docx_of({"word/document.xml": body.encode()})), {})
    assert [text for _, text, _ in found] == [expected]


def test_formula_and_raised_digits_of_powerpoint() -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    box = slide.shapes.add_textbox(0, 0, 9, 9).text_frame
    box.text = "Half is "
    written = (
        f"<a:p {_SPACES}><mc:AlternateContent><mc:Choice Requires='a14'><m:oMath>{_HALF}</m:oMath></mc:Choice>"
        "<mc:Fallback><a:r><a:t>picture</a:t></a:r></mc:Fallback></mc:AlternateContent>"
        "<a:r><a:t> of 10</a:t></a:r><a:r><a:rPr baseline='30000'/><a:t>3</a:t></a:r></a:p>"
    )
    for element in etree.fromstring(written):
        box.paragraphs[0]._p.append(element)
    saved = io.BytesIO()
    presentation.save(saved)
    assert [text for _, text, _ in pptx_reader.read(saved, {})] == ["Half is 1/2 of 10³"]


def test_raised_digits_of_a_page() -> None:
    page = b"<p>It weighs 10<sup>3</sup> kg, the 1<sup>st</sup>.</p>"
    assert [text for _, text, _ in html_reader.read(io.BytesIO(page), {})] == ["It weighs 10³ kg, the 1st."]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (
            "<table><tr><th>Flat<th>Rent<tr><td>A<td>900<tr><td colspan=2>B<td>800</table>",
            "Flat | Rent\nA | 900\nB |  | 800",
        ),
        ("<table><tr><td><p>A<p>first</td><td>900</td></tr></table>", "A first | 900"),
        ("<table><tr><td>Only words</td><td></td></tr></table>", "Only words"),
        (
            "<table><tr><td><h1>News</h1><p>Hello</p></td><td><table><tr><td>A<td>1</table></td></tr></table>",
            "News\nHello\nA | 1",
        ),
        ("<table><tr><td><p>a<p>b<p>c<p>d</td><td>Ad</td></tr></table>", "a\nb\nc\nd\nAd"),
    ],
)
def test_row_of_a_page_is_one_line(page: str, expected: str) -> None:
    assert "\n".join(text for _, text, _ in html_reader.read(io.BytesIO(page.encode()), {})) == expected
