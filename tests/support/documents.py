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


_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_SECTOR, _MINI = 512, 64


def msg_of(texts: dict[int, str], attached: dict[str, dict[int, str]] | None = None) -> bytes:
    """Return a message of Outlook: its texts by the numbers of their properties, and messages that it holds.

    The file is a compound file (MS-CFB) of small streams; properties are as in MS-OXMSG.
    """
    entries: list[tuple[str, int, bytes, list[int]]] = [("Root Entry", 5, b"", [])]

    def add(parent: int, name: str, kind: int, content: bytes = b"") -> int:
        entries.append((name, kind, content, []))
        entries[parent][3].append(len(entries) - 1)
        return len(entries) - 1

    def message(parent: int, values: dict[int, str], head: int) -> None:
        properties = bytes(head)
        for key, text in values.items():
            data = text.encode("utf-16-le")
            properties += struct.pack("<HHIII", 0x001F, key, 6, len(data) + 2, 0)
            add(parent, f"__substg1.0_{key:04X}001F", 2, data)
        add(parent, "__properties_version1.0", 2, properties)

    message(0, texts, 32)
    for number, (name, values) in enumerate((attached or {}).items()):
        place = add(0, f"__attach_version1.0_#{number:08X}", 1)
        message(place, {0x3707: name}, 8)
        message(add(place, "__substg1.0_3701000D", 1), values, 24)
    return _compound(entries)


def _compound(entries: list[tuple[str, int, bytes, list[int]]]) -> bytes:
    """Return a compound file of entries: name, kind, content and the numbers of the entries below."""
    mini, links, starts = b"", list[int](), list[int]()
    for _, kind, content, _ in entries:
        blocks = -(-len(content) // _MINI) if kind == 2 else 0
        starts.append(len(links) if blocks else _END)
        links += [*range(len(links) + 1, len(links) + blocks), _END] if blocks else []
        mini += content.ljust(blocks * _MINI, b"\0") if blocks else b""
    right = {one: below[place + 1] for *_, below in entries for place, one in enumerate(below[:-1])}
    folders = b""
    for number, (name, kind, content, below) in enumerate(entries):
        title = name.encode("utf-16-le").ljust(64, b"\0")
        size = len(mini) if kind == 5 else len(content)
        tree = struct.pack("<III", _FREE, right.get(number, _FREE), below[0] if below else _FREE)
        start = 0 if kind == 5 else starts[number] if kind == 2 else 0
        folders += title + struct.pack("<HBB", 2 * len(name) + 2, kind, 1) + tree + bytes(36)
        folders += struct.pack("<IQ", start, size)
    parts = [mini, folders, struct.pack(f"<{len(links)}I", *links)]
    chains, first = list[int](), list[int]()
    for part in parts:
        sectors = -(-len(part) // _SECTOR)
        first.append(len(chains))
        chains += [*range(len(chains) + 1, len(chains) + sectors), _END]
    chains.append(_FAT)
    table = struct.pack(f"<{len(chains)}I", *chains).ljust(_SECTOR, b"\xff")
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    counts = (0, 1, first[1], 0, 4096, first[2], -(-len(parts[2]) // _SECTOR), _END, 0)
    head += struct.pack("<9I", *counts) + struct.pack("<I", len(chains) - 1) + b"\xff" * (108 * 4)
    padded = (part.ljust(-(-len(part) // _SECTOR) * _SECTOR, b"\xff" if part is parts[2] else b"\0") for part in parts)
    return head + b"".join(padded) + table
