"""Minimal files of other programs: PDF, DOCX, XLSX, ODS, PNG."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib


def pdf_of(*pages: str, stream: bytes | None = None) -> bytes:
    """Return a PDF with one page per text, in a standard font; ``stream`` is used verbatim instead."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        drawn = stream if stream is not None else f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")
        packed = zlib.compress(drawn)
        content = len(objects) + 1
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed))
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % content
        )
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    written = io.BytesIO()
    written.write(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(written.tell())
        written.write(b"%d 0 obj\n%b\nendobj\n" % (number, body))
    start = written.tell()
    written.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    written.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    written.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return written.getvalue()


def docx_of(members: dict[str, bytes], repeat: int = 1) -> bytes:
    """Return a zip that looks like a Word document, with these members, each repeated ``repeat`` times."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
            'wordprocessingml.document.main+xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            '<Relationship Id="r1" Target="word/document.xml" Type="http://schemas.openxmlformats.org/officeDocument/'
            '2006/relationships/officeDocument"/></Relationships>',
        )
        for name, content in members.items():
            with archive.open(name, "w") as member:
                for _ in range(repeat):
                    member.write(content)
    return written.getvalue()


_OPEN_XML = "http://schemas.openxmlformats.org"
_NUMBERS = f"{_OPEN_XML}/spreadsheetml/2006/main"
_RELATIONS = f"{_OPEN_XML}/officeDocument/2006/relationships"


def xlsx_of(sheets: dict[str, str], more: dict[str, bytes] | None = None) -> bytes:
    """Return a workbook; each sheet is given as the XML of its rows."""
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, sheets, strict=True)
    )
    targets = "".join(
        f'<Relationship Id="r{n}" Target="worksheets/sheet{n}.xml" Type="{_RELATIONS}/worksheet"/>' for n in numbers
    )
    package = f"{_OPEN_XML}/package/2006"
    members = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="w" Target="xl/workbook.xml" Type="{_RELATIONS}/officeDocument"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_NUMBERS}" xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{targets}</Relationships>',
    }
    for number, rows in zip(numbers, sheets.values(), strict=True):
        sheet = f'<worksheet xmlns="{_NUMBERS}"><sheetData>{rows}</sheetData></worksheet>'
        members[f"xl/worksheets/sheet{number}.xml"] = sheet
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in dict.fromkeys((*members, *(more or {}))):
            archive.writestr(name, (more or {}).get(name) or members[name])
    return written.getvalue()


def cells_of(*rows: tuple[str | int, ...]) -> str:
    """Return rows of texts and numbers for ``xlsx_of``."""
    return "".join(
        f'<row r="{number}">'
        + "".join(
            f'<c r="{chr(65 + column)}{number}"><v>{cell}</v></c>'
            if isinstance(cell, int)
            else f'<c r="{chr(65 + column)}{number}" t="inlineStr"><is><t>{cell}</t></is></c>'
            for column, cell in enumerate(row)
        )
        + "</row>"
        for number, row in enumerate(rows, start=1)
    )


def ods_of(tables: str) -> bytes:
    """Return an OpenDocument spreadsheet, given the XML of its tables."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>{tables}</office:spreadsheet>"
        "</office:body></office:document-content>"
    )
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            zipfile.ZipInfo("mimetype"), "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED
        )
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
        archive.writestr("content.xml", content)
    return written.getvalue()


def png_of(width: int, height: int) -> bytes:
    """Return a black PNG image."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compress(b"".join(b"\0" * (width + 1) for _ in range(height)))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
