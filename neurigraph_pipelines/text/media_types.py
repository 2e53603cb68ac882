"""File type detection: media type, file type in the manifest, and which reader extracts text.

Detection uses the first bytes. The file name only decides what bytes cannot: languages of code, tables and marked-up
text. The extractor reads the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from neurigraph_pipelines.model.sources import FORMATS_OF_FILES
from neurigraph_pipelines.text.outlook_message import MAGIC as OLD_OFFICE
from neurigraph_pipelines.views.kinds import DocumentType

HEAD_BYTES = 8_192
"""Number of bytes that ``media_type_of`` inspects."""

FileType = Literal["pdf", "image", "video", "audio", "code", "export"]


@dataclass(frozen=True, slots=True)
class MediaType:
    """Properties of one file type.

    Attributes:
        name: The HTTP media type, such as ``application/pdf``.
        label: A name for people, such as ``PDF document``.
        file_type: The manifest's file type; ``export`` is the fallback.
        reader: The extractor's reader for its text: ``docx`` is ``resources/extractors/docx_reader.py``, the only other
            place that a new format needs. None if reading it would take a model.
        compressible: Whether gzip makes it smaller; files that are compressed already are stored as they are.
    """

    name: str
    label: str
    file_type: FileType = "export"
    reader: str | None = None
    compressible: bool = False

    def document_type_of(self, stated: DocumentType | None) -> DocumentType:
        """Return the document type of such a file: the stated type, unless it is a format, else the file's format."""
        if stated is not None and stated not in FORMATS_OF_FILES:
            return stated
        if self.file_type == "code":
            return DocumentType.CODE
        return _DOCUMENT_TYPES.get(self.reader or self.file_type, DocumentType.FILE)

    @property
    def is_text(self) -> bool:
        """Whether the bytes are readable text."""
        return self.reader in ("text", "markdown", "csv", "html")


def media_type_of(head: bytes, file_name: str) -> MediaType:
    """Return the media type of a file.

    Args:
        head: The first ``HEAD_BYTES`` bytes of the file, or all of it.
        file_name: Used only if the bytes do not decide.
    """
    head = head[:HEAD_BYTES]
    suffix = PurePosixPath(file_name).suffix.lower()
    if head.startswith(OLD_OFFICE):
        return {".msg": _MSG, ".xls": _XLS}.get(suffix, _UNKNOWN)
    for offset, signature, found in _SIGNATURES:
        if head.startswith(signature, offset):
            return found
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _packed(head, suffix)
    if _PDF_MARK in head[:1_024]:  # like PDF readers, accept junk before the signature
        return _PDF
    if not _looks_like_text(head):
        return _UNKNOWN
    if suffix in (".html", ".htm", ".xhtml") or head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        return _HTML
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].upper()
    for mark, found in _MARKED:
        if start.startswith(mark.upper()):
            return found
    return _TEXTS.get(suffix) or _CODE.get(suffix) or _PLAIN


def _image(name: str, label: str, reader: str | None = "image", compressible: bool = False) -> MediaType:
    return MediaType(f"image/{name}", label, "image", reader, compressible)


def _audio(name: str, label: str) -> MediaType:
    return MediaType(f"audio/{name}", label, "audio")


def _video(name: str, label: str) -> MediaType:
    return MediaType(f"video/{name}", label, "video")


def _code(language: str, name: str = "text/plain") -> MediaType:
    return MediaType(name, f"{language} source code", "code", "text", compressible=True)


_PDF_MARK = b"%PDF-"
_PDF = MediaType("application/pdf", "PDF document", "pdf", "pdf")
GIT_PACK = MediaType("application/x-git-pack", "Git pack")
"""The answer of a server of repositories: the files of a commit."""

_ZIP = MediaType("application/zip", "zip archive")
_UNKNOWN = MediaType("application/octet-stream", "binary file", compressible=True)
_PLAIN = MediaType("text/plain", "plain text", reader="text", compressible=True)
_HTML = MediaType("text/html", "HTML page", reader="html", compressible=True)
_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_DOCX = MediaType(f"{_OPEN_XML}.wordprocessingml.document", "Word document", reader="docx")
_PACKED = (
    (b"word/", ".docx", _DOCX),
    (b"xl/", ".xlsx", MediaType(f"{_OPEN_XML}.spreadsheetml.sheet", "Excel workbook", reader="sheets")),
    (b"ppt/", ".pptx", MediaType(f"{_OPEN_XML}.presentationml.presentation", "PowerPoint presentation", reader="pptx")),
)
_EPUB = MediaType("application/epub+zip", "EPUB book", reader="epub")
_ODF = "application/vnd.oasis.opendocument"
_OPEN_DOCUMENTS = (
    MediaType(f"{_ODF}.text", "OpenDocument text", reader="odf"),
    MediaType(f"{_ODF}.presentation", "OpenDocument presentation", reader="odf"),
    MediaType(f"{_ODF}.spreadsheet", "OpenDocument spreadsheet", reader="ods"),
)
_MSG = MediaType("application/vnd.ms-outlook", "Outlook message", reader="msg", compressible=True)
_XLS = MediaType("application/vnd.ms-excel", "Excel workbook", reader="sheets", compressible=True)
_OFFICE_MARKS = (b"[Content_Types].xml", b"_rels/.rels")

_SIGNATURES: tuple[tuple[int, bytes, MediaType], ...] = (
    (0, _PDF_MARK, _PDF),
    (0, b"\x89PNG\r\n\x1a\n", _image("png", "PNG image")),
    (0, b"\xff\xd8\xff", _image("jpeg", "JPEG image")),
    (0, b"GIF87a", _image("gif", "GIF image")),
    (0, b"GIF89a", _image("gif", "GIF image")),
    (8, b"WEBP", _image("webp", "WebP image")),
    (0, b"II*\x00", _image("tiff", "TIFF image")),
    (0, b"MM\x00*", _image("tiff", "TIFF image")),
    (4, b"ftypheic", _image("heic", "HEIC image", None)),
    (4, b"ftypavif", _image("avif", "AVIF image")),
    (4, b"ftypM4A", _audio("mp4", "MPEG-4 audio")),
    (4, b"ftypqt", _video("quicktime", "QuickTime video")),
    (4, b"ftyp", _video("mp4", "MPEG-4 video")),
    (8, b"AVI ", _video("x-msvideo", "AVI video")),
    (0, b"\x1a\x45\xdf\xa3", _video("webm", "Matroska video")),
    (8, b"WAVE", MediaType("audio/wav", "WAV audio", "audio", compressible=True)),
    (0, b"ID3", _audio("mpeg", "MP3 audio")),
    (0, b"\xff\xfb", _audio("mpeg", "MP3 audio")),
    (0, b"\xff\xf3", _audio("mpeg", "MP3 audio")),
    (0, b"\xff\xf2", _audio("mpeg", "MP3 audio")),
    (0, b"fLaC", _audio("flac", "FLAC audio")),
    (0, b"OggS", _audio("ogg", "Ogg audio")),
    (0, b"PACK\x00\x00\x00\x02", GIT_PACK),
    (0, b"\x1f\x8b", MediaType("application/gzip", "gzip archive")),
    (0, b"7z\xbc\xaf\x27\x1c", MediaType("application/x-7z-compressed", "7-Zip archive")),
    (0, b"Rar!\x1a\x07", MediaType("application/vnd.rar", "RAR archive")),
)
_MARKED = (
    (b"{\\rtf", MediaType("application/rtf", "rich text", reader="rtf", compressible=True)),
    (b"BEGIN:VCALENDAR", MediaType("text/calendar", "calendar", reader="calendar", compressible=True)),
    (b"BEGIN:VCARD", MediaType("text/vcard", "address book", reader="contacts", compressible=True)),
)
"""Formats of text that the first word tells."""

_TEXTS = {
    ".enex": MediaType("application/enex+xml", "export of Evernote", reader="enex", compressible=True),
    ".ipynb": MediaType("application/x-ipynb+json", "Jupyter notebook", reader="notebook", compressible=True),
    ".md": MediaType("text/markdown", "Markdown text", reader="markdown", compressible=True),
    ".markdown": MediaType("text/markdown", "Markdown text", reader="markdown", compressible=True),
    ".csv": MediaType("text/csv", "CSV table", reader="csv", compressible=True),
    ".tsv": MediaType("text/tab-separated-values", "TSV table", reader="csv", compressible=True),
    ".svg": _image("svg+xml", "SVG image", None, compressible=True),
}
_CODE = {
    ".json": _code("JSON", "application/json"),
    ".jsonl": _code("JSON lines", "application/jsonl"),
    ".xml": _code("XML", "application/xml"),
    ".yaml": _code("YAML", "application/yaml"),
    ".yml": _code("YAML", "application/yaml"),
    **{
        suffix: _code(language)
        for language, suffixes in (
            ("Bash", ".sh .bash"),
            ("C", ".c .h"),
            ("C#", ".cs"),
            ("C++", ".cc .cpp .cxx .hh .hpp"),
            ("CSS", ".css .scss"),
            ("Elixir", ".ex .exs"),
            ("Go", ".go"),
            ("Haskell", ".hs"),
            ("INI", ".ini .cfg"),
            ("Java", ".java"),
            ("JavaScript", ".js .mjs .cjs .jsx"),
            ("Julia", ".jl"),
            ("Kotlin", ".kt .kts"),
            ("Lua", ".lua"),
            ("Perl", ".pl .pm"),
            ("PHP", ".php"),
            ("Python", ".py .pyi"),
            ("R", ".r"),
            ("Ruby", ".rb"),
            ("Rust", ".rs"),
            ("Scala", ".scala"),
            ("SQL", ".sql"),
            ("Swift", ".swift"),
            ("TOML", ".toml"),
            ("TypeScript", ".ts .tsx"),
        )
        for suffix in suffixes.split()
    },
}
_DOCUMENT_TYPES: Mapping[str, DocumentType] = {
    "pdf": DocumentType.PDF,
    **dict.fromkeys(("docx", "pptx", "odf", "epub", "rtf"), DocumentType.DOCUMENT),
    "html": DocumentType.WEBPAGE,
    "csv": DocumentType.TABLE,
    **dict.fromkeys(("sheets", "ods"), DocumentType.TABLE),
    **dict.fromkeys(("text", "markdown", "calendar", "contacts", "enex"), DocumentType.TEXT),
    "image": DocumentType.IMAGE,
    "video": DocumentType.VIDEO,
    "audio": DocumentType.AUDIO,
}

_TEXT_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16 and little-endian UTF-32, whose texts contain many NUL bytes."""

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b\b"))
_MOST_CONTROLS = 0.02


def _packed(head: bytes, suffix: str) -> MediaType:
    """Return the type of a zip-based file by its first members, else by the suffix."""
    if b"mimetypeapplication/epub+zip" in head:
        return _EPUB
    for found in _OPEN_DOCUMENTS:
        if f"mimetype{found.name}".encode() in head:
            return found
    if any(mark in head for mark in _OFFICE_MARKS) or b"word/" in head[:64]:
        for folder, usual, found in _PACKED:
            if folder in head or suffix == usual:
                return found
    return _ZIP


def _looks_like_text(head: bytes) -> bool:
    if head.startswith(_TEXT_MARKS) or head.startswith(b"\x00\x00\xfe\xff"):
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return b"\x00" not in head and controls <= _MOST_CONTROLS * len(head)
