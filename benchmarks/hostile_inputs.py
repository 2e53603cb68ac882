"""Inputs of hostile shapes and any size: texts, tails of conversations, and files for each reader.

``growth`` measures what the steps make of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

from neurigraph_pipelines.ingestion.segmentation import Turn
from neurigraph_pipelines.model import Role
from resources.extractors import csv_reader, docx_reader, html_reader, markdown_reader, pdf_reader, text_reader
from resources.extractors.grouping import Part
from tests.support.documents import docx_of, pdf_of

Reader = Callable[[BinaryIO, dict[str, str]], Iterator[Part]]
Files = dict[str, tuple[Reader, Callable[[int], bytes]]]

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_CELL = "<w:tc>{}<w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>"


def cycled(make: Callable[[int], str], size: int) -> str:
    """Return pieces of ``make(0)``, ``make(1)`` ... up to a size in characters."""
    pieces: list[str] = []
    length = 0
    for number in itertools.count():
        piece = make(number)
        if length + len(piece) > size:
            return "".join(pieces) or piece[:size]
        pieces.append(piece)
        length += len(piece)
    raise AssertionError


def _word(number: int) -> str:
    """Return a different pronounceable word for each number."""
    syllables = []
    number += 20
    while number:
        number, rest = divmod(number, 60)
        syllables.append("bcdfghjklmnp"[rest // 5] + "aeiou"[rest % 5])
    return "".join(syllables)


def name_of(number: int) -> str:
    return _word(number).capitalize()


def lives(characters: int) -> str:
    """Return a text of which every third sentence is a fact."""
    told = (
        f"{name_of(number % 400)} moved to Porto on {number % 28 + 1} March because the rent was {number} euros. "
        f"I told {name_of(number % 300)} that we decided to buy {number} boxes of tea. That is why we were late. "
        for number in range(characters // 100)
    )
    return "".join(told)[:characters]


TEXTS: dict[str, Callable[[int], str]] = {
    "prose": lambda n: f"The {_word(n % 900)} of Caroline said that running is good for her {_word(n % 70)}. ",
    "one letter": lambda _: "a",
    "capitals": lambda _: "A",
    "spaces": lambda _: " ",
    "blank lines": lambda _: "\n",
    "lines of one letter": lambda _: "a\n",
    "sentences of one letter": lambda _: "a.",
    "full stops": lambda _: ".",
    "commas": lambda _: " ,",
    "apostrophes": lambda _: "a'",
    "quotes": lambda _: '"',
    "brackets": lambda _: "(",
    "braces": lambda _: "{vocalsound",
    "hesitation": lambda _: "u",
    "abbreviations": lambda _: "Dr. ",
    "spelt": lambda _: "A_",
    "repeated word": lambda _: "no, ",
    "repeated name": lambda _: "Caroline ",
    "names": lambda n: f"{name_of(n)} met {name_of(n + 7)} {name_of(n + 11)}. ",
    "name run": lambda n: f"{name_of(n)} ",
    "projects": lambda n: f"We talked about Project {name_of(n)}. ",
    "relations": lambda n: f"My sister {name_of(n)} said hello. ",
    "aliases": lambda n: f"{name_of(n)}, short for {name_of(n + 3)}, came. ",
    "nicknames": lambda n: f"He calls her {name_of(n)} and ",
    "dates": lambda n: f"on {1 + n % 28} May {1900 + n % 200}, ",
    "years": lambda n: f"It was 8 {_word(n)[:10]} 2023. ",
    "weekdays": lambda _: "next Monday or ",
    "digits": lambda _: "7",
    "numbers": lambda n: f"{n} ",
    "decimals": lambda _: "1.",
    "phone numbers": lambda n: f"+1 202 55{n % 90 + 10} {n % 9000 + 1000:04d} ",
    "half phone numbers": lambda _: "+1 (202-",
    "cards": lambda _: "4111 1111 1111 1112 ",
    "addresses": lambda n: f"{_word(n)}@{_word(n)}.com ",
    "half addresses": lambda _: "a.b@",
    "domains": lambda _: "a@b.c-",
    "keys": lambda _: "sk-ant-",
    "pem": lambda _: "-----BEGIN PRIVATE KEY-----",
    "tokens": lambda _: "eyJabcdefgh.abcdefgh.",
    "urls": lambda n: f"https://{_word(n)}:{_word(n)}@{_word(n)}.com/ ",
    "slashes": lambda _: "://a:b",
    "long words": lambda n: _word(n) * 40 + " ",
    "words": lambda n: _word(n) + " ",
    "hyphens": lambda _: "a-",
    "emoji": lambda n: chr(0x1F600 + n % 80),
    "joined emoji": lambda _: "\U0001f468\u200d\U0001f469\u200d",
    "chinese": lambda n: chr(0x4E00 + n * 7 % 20_000),
    "japanese": lambda n: chr(0x3041 + n % 80),
    "thai": lambda n: chr(0x0E01 + n % 40),
    "arabic": lambda n: chr(0x0627 + n % 30) + " " * (n % 5 == 0),
    "combining marks": lambda n: "a" if n % 50 == 0 else chr(0x300 + n % 60),
    "many marks": lambda _: "\u0301",
    "indic": lambda n: chr(0x0915 + n % 30) + "\u093e",
    "zero width": lambda _: "a\u200b",
    "control": lambda _: "\x01",
    "backslashes": lambda _: "\\",
    "underscores": lambda _: "_",
    "markers": lambda n: f"By the way, {_word(n)} and the doctor. ",
    "topics": lambda n: ("The doctor and the gym. ", "The bank and the loan. ", "The flight and the hotel. ")[n % 3],
    "json": lambda n: f'{{"{_word(n)}": [{n}, "{_word(n + 3)}"]}}, ',
    "html": lambda n: f"<p>{_word(n)} <b>{n}</b></p>",
}
"""Shapes of text, each by its repeated piece."""


def tails() -> dict[str, Callable[[int], list[Turn]]]:
    user, assistant, tool = Role.USER, Role.ASSISTANT, Role.TOOL
    return {
        "chat": lambda n: [Turn(i, assistant if i % 2 else user, 300) for i in range(n)],
        "empty": lambda n: [Turn(i, assistant if i % 2 else user, 0) for i in range(n)],
        "one sender": lambda n: [Turn(i, user, 300) for i in range(n)],
        "endless call": lambda n: [Turn(i, tool, 300) for i in range(n)],
        "calls": lambda n: [Turn(i, (user, assistant, tool)[i % 3], 300, calls=i % 3 == 1) for i in range(n)],
        "open calls": lambda n: [Turn(i, assistant, 300, calls=True) for i in range(n)],
        "giants": lambda n: [Turn(i, assistant if i % 2 else user, 700_000) for i in range(n)],
        "long after short": lambda n: [Turn(i, user if i % 500 < 2 else assistant, 1_300) for i in range(n)],
    }


def documents() -> Files:
    """Return readers, each with a file of a hostile shape and about so many bytes."""
    return {**_texts(), **_pages(), **_tables(), **_word_documents(), **_sheets()}


def _texts() -> Files:
    chosen = ("prose", "one letter", "blank lines", "lines of one letter", "spaces", "emoji")
    texts: Files = {f"text, {name}": (text_reader.read, partial(_encoded, TEXTS[name])) for name in chosen}
    marks = {"headings": "# a\n", "deep headings": "# a\n###### b\n", "number signs": "#", "code blocks": "```\n# a\n"}
    return texts | {f"markdown, {name}": (markdown_reader.read, _repeated(mark)) for name, mark in marks.items()}


def _pages() -> Files:
    tags = {
        "blocks": "<p>word",
        "closed blocks": "<p>word</p>",
        "bold": "<b>word",
        "anchors": "<a href=x>word",
        "nested": "<div>",
        "nested inline": "<i>",
        "tables": "<table><tr><td>",
        "lists": "<ul><li>word",
        "forms": "<form><p>",
        "fonts": "<font><p>",
        "closing tags": "</p>",
        "wrong ends": "<b></i>",
        "attributes": "a=1 ",
        "comments": "<!--",
        "closed comments": "<!-- a -->",
        "lesser": "<",
        "ampersands": "&",
        "entities": "&amp;",
        "unclosed script": "<script>",
        "text": "word ",
        "one letter": "a",
        "select": "<select><option>",
        "svg": "<svg><title>",
        "spans": "<span>w</span>",
        "headings": "<h2>a</h2>b",
    }
    pages: Files = {f"html, {name}": (html_reader.read, _repeated(tag)) for name, tag in tags.items()}
    pages["html, attributes of one tag"] = (
        html_reader.read,
        lambda size: b"<p " + b" ".join(b"a%d=1" % i for i in range(size // 9)) + b">",
    )
    return pages


def _tables() -> Files:
    return {
        "csv, rows": (csv_reader.read, _repeated("a,b,c\n")),
        "csv, a wide heading": (csv_reader.read, _cells),
        "csv, wide rows": (csv_reader.read, _wide_rows),
        "csv, quotes": (csv_reader.read, _repeated('"')),
        "csv, quoted": (csv_reader.read, _repeated('"a","b"\n')),
        "csv, one letter": (csv_reader.read, _repeated("a")),
        "csv, commas": (csv_reader.read, _repeated(",")),
        "csv, spaces": (csv_reader.read, _repeated(" ")),
    }


def _word_documents() -> Files:
    words = {
        "docx, paragraphs": _docx("<w:p><w:r><w:t>word</w:t></w:r></w:p>"),
        "docx, tables": _docx("<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"),
        "docx, a long table": _table(lambda _: 3),
        "docx, a wide row": _table(lambda n: n),
        "docx, merged rows": _table(lambda _: 3, '<w:tcPr><w:vMerge w:val="continue"/></w:tcPr>'),
        "docx, merged columns": _table(lambda _: 3, '<w:tcPr><w:gridSpan w:val="60"/></w:tcPr>'),
    }
    return {name: (docx_reader.read, make) for name, make in words.items()}


def _sheets() -> Files:
    sheets: dict[str, Callable[[int], bytes]] = {
        "pdf, pages": lambda size: pdf_of(*["word"] * (size // 300)),
        "pdf, a long page": lambda size: pdf_of("x", stream=b"BT /F1 12 Tf 7 7 Td (a) Tj ET\n" * (size // 30)),
        "pdf, saved states": lambda size: pdf_of("x", stream=b"q " * (size // 2)),
        "pdf, brackets": lambda size: pdf_of("x", stream=b"[" * size),
    }
    return {name: (pdf_reader.read, make) for name, make in sheets.items()}


def _cells(size: int) -> bytes:
    half = size // 4
    return b"a," * half + b"\n" + b"1\n" * half


def _wide_rows(size: int) -> bytes:
    columns = 1_000
    return (b"a," * columns + b"\n") * max(1, size // (2 * columns))


def _repeated(tag: str) -> Callable[[int], bytes]:
    return lambda size: (tag * (size // len(tag) + 1))[:size].encode()


def _encoded(make: Callable[[int], str], size: int) -> bytes:
    return cycled(make, size).encode()


def _docx(body: str) -> Callable[[int], bytes]:
    return lambda size: _packed(body * (size // len(body) + 1))


def _table(columns: Callable[[int], int], merged: str = "") -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        cell = _CELL.format(merged)
        row = f"<w:tr>{cell * columns(size // len(cell))}</w:tr>"
        return _packed(f"<w:tbl>{row * max(1, size // len(row))}</w:tbl>")

    return make


def _packed(body: str) -> bytes:
    document = f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    return docx_of({"word/document.xml": document.encode()})
