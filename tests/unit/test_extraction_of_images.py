"""Words in images and scanned pages, by the real models, and what bounds them."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfReader, PdfWriter

from neurigraph_pipelines.model import Extraction
from neurigraph_pipelines.text.media_types import media_type_of
from resources.extractors.confined import Limits
from resources.extractors.text_extractor import SubprocessExtractor, can_recognize
from tests.support.documents import pdf_of

_WORDS = ("The ferry leaves at nine.", "Invoice 4711: 12.50 EUR")


@pytest.fixture(scope="module")
def extractor() -> SubprocessExtractor:
    assert can_recognize()
    return SubprocessExtractor(30, 1 << 30, 5_000_000, Limits(60, 2 << 30))


def drawn(words: str) -> Image.Image:
    image = Image.new("L", (900, 160), 255)
    font = ImageFont.load_default(44)
    ImageDraw.Draw(image).text((30, 40), words, 0, font)
    return image


def saved(image: Image.Image, form: str, **how: object) -> bytes:
    written = io.BytesIO()
    image.save(written, form, **how)
    return written.getvalue()


def texts(found: Extraction) -> dict[str, str]:
    return {part.place: part.text.strip() for part in found.parts}


def test_pages_of_an_image_are_read(extractor: SubprocessExtractor) -> None:
    first, second = map(drawn, _WORDS)
    tiff = saved(first, "TIFF", save_all=True, append_images=[second])
    assert media_type_of(tiff, "fax.pdf").reader == "image"
    found = extractor.extract([tiff], "image")
    assert texts(found) == {"page-1": _WORDS[0], "page-2": _WORDS[1]}
    assert found.unread is None


def test_scanned_pages_join_those_with_text(extractor: SubprocessExtractor) -> None:
    document = PdfWriter()
    for content in (saved(drawn(_WORDS[1]), "PDF"), pdf_of("Typed words.")):
        document.append(PdfReader(io.BytesIO(content)))
    written = io.BytesIO()
    document.write(written)
    found = extractor.extract([written.getvalue()], "pdf")
    assert texts(found) == {"page-1": _WORDS[1], "page-2": "Typed words."}
    assert found.facts["pages read as images"] == "1"


def test_images_are_bounded(extractor: SubprocessExtractor) -> None:
    huge = extractor.extract([saved(Image.new("1", (10_000, 10_000)), "PNG")], "image")
    assert huge.unread == "it has more than 40,000,000 pixels, too many to read its words"
    assert huge.facts["size"] == "10,000 × 10,000 pixels"
    damaged = extractor.extract([saved(drawn("lost"), "PNG")[:200]], "image")
    assert damaged.parts == ()
    assert "cannot be read" in damaged.facts["words in images"]
    assert damaged.facts["size"] == "900 × 160 pixels"
    without = SubprocessExtractor(30, 1 << 30, 5_000_000)
    assert without.extract([saved(drawn("unseen"), "PNG")], "image").unread == "no reader can extract text from it"


@pytest.mark.slow
def test_long_scan_is_read_in_part_which_is_stated() -> None:
    pages = PdfWriter(clone_from=io.BytesIO(saved(drawn(_WORDS[0]), "PDF")))
    for _ in range(4_999):
        pages.add_page(pages.pages[0])
    written = io.BytesIO()
    pages.write(written)
    found = SubprocessExtractor(60, 1 << 30, 5_000_000, Limits(12, 2 << 30)).extract([written.getvalue()], "pdf")
    assert found.facts["pages"] == "5000"
    assert texts(found)["page-1"] == _WORDS[0]
    assert 1 <= len(found.parts) < 5_000
    if "words in images" in found.facts:  # on a busy machine one page may take longer than what is left
        assert found.facts["words in images"].startswith("in part not read, because")
    else:
        assert found.facts["pages read as images"] == f"the first {len(found.parts):,} of 5,000"
