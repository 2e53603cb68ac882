"""Minimal files of other programs: PDF, DOCX, PNG."""

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


def png_of(width: int, height: int) -> bytes:
    """Return a black PNG image."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compress(b"".join(b"\0" * (width + 1) for _ in range(height)))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
