"""Text extraction by file kind, and its limits against hostile files."""

from __future__ import annotations

import functools
import io
import os
import threading
import time
import zipfile
from pathlib import Path

import pytest
from docx import Document
from pypdf import PdfWriter

from neurigraph_pipelines.inbox.import_format import DOCUMENT, import_format
from neurigraph_pipelines.model import Extraction
from neurigraph_pipelines.model.errors import InvalidInputError, UnreadableFileError
from neurigraph_pipelines.text.media_types import media_type_of
from resources.extractors.text_extractor import SubprocessExtractor
from tests.support.documents import docx_of, pdf_of, png_of
from tests.support.waiting import wait_until

MEGABYTE = 1 << 20


@functools.cache
def endless_pdf() -> bytes:
    """Return a page of 69 MB of drawing commands, packed into 100 kB: minutes of work."""
    return pdf_of("", stream=b"BT /F1 12 Tf (a) Tj ET\n" * 3_000_000)


@pytest.fixture(scope="module")
def extractor() -> SubprocessExtractor:
    return SubprocessExtractor(seconds=30, memory_bytes=1 << 30, text_bytes=5_000_000)


def text_of(found: Extraction) -> str:
    return "\n".join(part.text for part in found.parts)


def test_pdf_becomes_pages(extractor: SubprocessExtractor) -> None:
    found = extractor.extract([pdf_of("The ferry leaves at nine.", "The ferry returns at dusk.")], "pdf")
    assert [(part.place, part.text.strip()) for part in found.parts] == [
        ("page-1", "The ferry leaves at nine."),
        ("page-2", "The ferry returns at dusk."),
    ]
    assert found.facts["pages"] == "2"
    assert found.unread is None


def test_pdf_without_text_is_reported(extractor: SubprocessExtractor) -> None:
    found = extractor.extract([pdf_of("")], "pdf")
    assert found.parts == ()
    assert found.unread == "its pages contain no text, such as scanned pages"


@pytest.mark.parametrize(("password", "reason"), [("secret", "it is protected by a password"), ("", None)])
def test_encrypted_pdf_without_password(extractor: SubprocessExtractor, password: str, reason: str | None) -> None:
    writer = PdfWriter(clone_from=io.BytesIO(pdf_of("Account 4711")))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    target = io.BytesIO()
    writer.write(target)
    found = extractor.extract([target.getvalue()], "pdf")
    assert found.unread == reason
    assert ("Account 4711" in text_of(found)) is (reason is None)


def test_docx_keeps_order(extractor: SubprocessExtractor) -> None:
    document = Document()
    document.add_heading("Plan")
    document.add_paragraph("Dave buys grout.")
    table = document.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "tiles", "40"
    document.add_paragraph("Then we tile.")
    target = io.BytesIO()
    document.save(target)
    found = extractor.extract([target.getvalue()], "docx")
    assert text_of(found) == "Plan\nDave buys grout.\ntiles | 40\nThen we tile."


@pytest.mark.parametrize(("depth", "cut_short"), [(1_000, False), (3_000, True)])
def test_html_says_that_it_is_cut_short(extractor: SubprocessExtractor, depth: int, cut_short: bool) -> None:
    found = extractor.extract([b"<p>begin</p>" + b"<b>word " * depth + b"</b>" * depth + b"<p>end</p>"], "html")
    assert ("cut short" in found.facts) is cut_short
    assert any("begin" in part.text for part in found.parts)
    assert any("end" in part.text for part in found.parts) is not cut_short


def test_html_shows_visible_text(extractor: SubprocessExtractor) -> None:
    page = b"""<!doctype html><html><head><title>Ferry  times</title><style>p {}</style></head>
    <body><script>steal()</script><h1>Ferry</h1><p>It leaves <b>at</b> nine.<ul><li>daily<li>not in <i>winter</i></ul>
    <template>no</template>M\xc3\xbcller</body></html>"""
    found = extractor.extract([page], "html")
    assert text_of(found).splitlines() == ["Ferry", "It leaves at nine.", "daily", "not in winter", "Müller"]
    assert found.facts["title"] == "Ferry times"


def test_table_rows_name_columns(extractor: SubprocessExtractor) -> None:
    found = extractor.extract([b"name;city\nAna;Lisbon\nBen;\n"], "csv")
    assert text_of(found).splitlines() == ["name: Ana; city: Lisbon", "name: Ben"]


def test_code_keeps_layout(extractor: SubprocessExtractor) -> None:
    lines = [f"    value_{n} = {n}  # keeps its indentation" for n in range(1, 401)]
    found = extractor.extract(["\r\n".join(lines).encode()], "text")
    assert text_of(found).splitlines() == lines
    places = [part.place.split("-") for part in found.parts]
    assert [int(first) for _, first, _ in places] == [1, *(int(last) + 1 for _, _, last in places[:-1])]
    assert places[-1][2] == "400"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_of_text(extractor: SubprocessExtractor, encoding: str) -> None:
    assert text_of(extractor.extract(["Müller – größer".encode(encoding)], "text")) == "Müller – größer"


def test_unknown_encoding_is_refused_and_declared_one_is_meant(extractor: SubprocessExtractor) -> None:
    with pytest.raises(UnreadableFileError, match=r"^the file cannot be read: the encoding of its"):
        extractor.extract(["密码是 4711".encode("gbk")], "text")
    page = '<html><head><meta charset="gb2312"></head><p>镕基楼</p></html>'.encode("gbk")
    assert text_of(extractor.extract([page], "html")) == "镕基楼"


def test_endless_line_is_cut(extractor: SubprocessExtractor) -> None:
    found = extractor.extract([b"word " * 10_000], "text")
    assert "".join(part.text for part in found.parts) == "word " * 10_000
    assert all(len(part.text) <= 4_000 for part in found.parts)
    assert len({part.place for part in found.parts}) == len(found.parts)


def test_image_has_size(extractor: SubprocessExtractor) -> None:
    found = extractor.extract([png_of(1_024, 768)], "media")
    assert found.facts == {"size": "1,024 × 768 pixels"}
    assert found.unread == "no reader can extract text from it"


def test_broken_image_is_an_image(extractor: SubprocessExtractor) -> None:
    for broken in (png_of(1, 1)[:12], b"\xff\xd8\xff\xe0\x00\x00" * 1_000, b"\xff\xd8\xff"):
        assert extractor.extract([broken], "media").unread is not None


@pytest.mark.parametrize(
    ("reader", "content"),
    [
        ("pdf", b"%PDF-1.7\nno such thing"),
        ("pdf", pdf_of("cut off")[:200]),
        ("docx", b"PK\x03\x04 and nothing else"),
        ("docx", docx_of({"word/document.xml": b"<w:document"})),
    ],
)
def test_damaged_file_is_reported(extractor: SubprocessExtractor, reader: str, content: bytes) -> None:
    with pytest.raises(UnreadableFileError, match=r"^the file cannot be read: it is damaged or of another type \("):
        extractor.extract([content], reader)


def test_output_is_limited() -> None:
    extractor = SubprocessExtractor(seconds=60, memory_bytes=1 << 30, text_bytes=1_000_000)
    started = time.monotonic()
    with pytest.raises(UnreadableFileError, match="more than 1,000,000 bytes of text"):
        extractor.extract((MEGABYTE // 8 * b"10 GB of \n" for _ in range(64)), "text")
    assert time.monotonic() - started < 15


def readers() -> list[Path]:
    """The processes that read files for this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:  # it ended meanwhile
            continue
        if b"resources.extractors.worker" in command and parent == str(os.getpid()):
            found.append(process)
    return found


def test_reader_process_ends_and_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file that took its reader over could see: the environment and the arguments of a running one."""
    monkeypatch.setenv("NEURIGRAPH_SECRET", "not for strangers")
    extractor = SubprocessExtractor(seconds=3, memory_bytes=1 << 31, text_bytes=5_000_000)
    failed: list[Exception] = []

    def read() -> None:
        try:
            extractor.extract([endless_pdf()], "pdf")
        except UnreadableFileError as error:
            failed.append(error)

    reading = threading.Thread(target=read)
    reading.start()
    seen: list[bytes] = []

    def looked() -> bool:
        seen.extend((process / "environ").read_bytes() + (process / "cmdline").read_bytes() for process in readers())
        return bool(seen) or not reading.is_alive()

    wait_until(looked, "a reader runs", interval=0.05)
    reading.join()
    assert len(failed) == 1
    assert readers() == []
    assert b"LC_ALL=C.UTF-8" in seen[0]
    assert b"NEURIGRAPH" not in seen[0]
    assert b"strangers" not in seen[0]


@pytest.mark.parametrize(
    ("head", "name", "expected", "file_type"),
    [
        (pdf_of("x"), "letter.txt", "application/pdf", "pdf"),
        (b"rubbish\n%PDF-1.4", "a", "application/pdf", "pdf"),
        (png_of(1, 1), "movie.mp4", "image/png", "image"),
        (b"\xff\xd8\xff\xe0", "x.png", "image/jpeg", "image"),
        (b"\0\0\0\x18ftypmp42", "x", "video/mp4", "video"),
        (b"ID3\x04", "song.txt", "audio/mpeg", "audio"),
        (b"print(1)\n", "x.py", "text/plain", "code"),
        (b'{"a": 1}', "x.json", "application/json", "code"),
        (b"a,b\n", "x.csv", "text/csv", "export"),
        (b"# Title\n", "README.md", "text/markdown", "export"),
        (b"<!DOCTYPE html><html>", "x.txt", "text/html", "export"),
        (b"\0\1\2\3", "x.txt", "application/octet-stream", "export"),
        ("Grüße".encode("utf-16"), "x.txt", "text/plain", "export"),
        (b"\x1f\x8b\x08", "x.txt", "application/gzip", "export"),
        (b"just words", "", "text/plain", "export"),
    ],
)
def test_file_type_by_content(head: bytes, name: str, expected: str, file_type: str) -> None:
    found = media_type_of(head, name)
    assert (found.name, found.file_type) == (expected, file_type)


def test_office_files_differ_from_zips() -> None:
    document = io.BytesIO()
    Document().save(document)
    assert media_type_of(document.getvalue(), "x.bin").reader == "docx"
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("notes.txt", "hello")
    assert media_type_of(plain.getvalue(), "x.docx").name == "application/zip"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("talk.txt", b"Ann: Hi\nBen: Hello\nAnn: Bye\nBen: Bye\n", "text"),
        ("report.txt", b"The harbour was rebuilt in 1911.\n", DOCUMENT),
        ("notes.md", b"# Harbour\n\nRebuilt in 1911.\n", DOCUMENT),
        ("settings.yaml", b"name: a\nkind: b\nname: c\nkind: d\n", DOCUMENT),
        ("table.csv", b"a,b\n1,2\n", DOCUMENT),
        ("letter.pdf", pdf_of("Dear Ann"), DOCUMENT),
        ("export.json", b'[{"mapping": {}}]', "chatgpt"),
    ],
)
def test_import_kind(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert import_format(path) == expected


def test_unknown_export_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(b'{"unheard": "of"}')
    with pytest.raises(InvalidInputError, match="--format document"):
        import_format(path)


def sections_of(found: Extraction) -> list[tuple[str, str | None]]:
    return [(part.place, part.section) for part in found.parts]


def test_parts_say_their_section(extractor: SubprocessExtractor) -> None:
    words = " ".join(["ferry"] * 80)
    text = f"{words}\n# Isles\n{words}\n## Tresco\n{words}\n```\n# no heading\n```\n#tag\n# Bryher #\n{words}"
    marked = [("lines-1-1", None), ("lines-2-3", "Isles"), ("lines-4-9", "Isles / Tresco"), ("lines-10-11", "Bryher")]
    assert sections_of(extractor.extract([text.encode()], "markdown")) == marked
    assert {section for _, section in sections_of(extractor.extract([text.encode()], "text"))} == {None}
    page = f"<p>{words}<h1>Isles <b>of</b> Scilly</h1><p>{words}<h3>Tresco</h3><li>{words}<h2></h2><h2>B</h2>{words}"
    assert [section for _, section in sections_of(extractor.extract([page.encode()], "html"))] == [
        *(None, "Isles of Scilly", "Isles of Scilly / Tresco", "Isles of Scilly / B")
    ]
    document, written = Document(), io.BytesIO()
    document.add_heading("Isles", 0)
    document.add_paragraph(words)
    document.add_heading("Tresco", 1)
    document.add_paragraph(words)
    document.add_heading("Short", 2)
    document.save(written)
    assert sections_of(extractor.extract([written.getvalue()], "docx")) == [
        ("paragraphs-1-2", "Isles"),
        ("paragraphs-3-4", "Isles / Tresco"),
        ("paragraphs-5-5", "Isles / Tresco / Short"),
    ]
    assert sections_of(extractor.extract([pdf_of("one", "two")], "pdf")) == [("page-1", "page 1"), ("page-2", "page 2")]
    deep = "\n".join(f"{'#' * level} {'x' * 90}{level}" for level in range(1, 7)) + f"\n{words}"
    (*_, (_, longest)) = sections_of(extractor.extract([deep.encode()], "markdown"))
    assert longest is not None
    assert len(longest) <= 300
    assert longest.endswith("6")
