"""Words in images: character error rate and pages a second of what reads them, on pages that are drawn here."""

from __future__ import annotations

import io
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.bench import Bench, SkippedError
from benchmarks.report import Section, number, table
from neurigraph_pipelines.model.errors import UnreadableFileError
from resources.extractors.confined import Limits
from resources.extractors.text_extractor import SubprocessExtractor, can_recognize

_METHOD = """Eighteen pages of A4 at 150 dots per inch are drawn: made texts in English, German and Spanish, each in
six conditions, in fonts with and without serifs, of even width, and narrow. The character error rate is the edit
distance to the drawn text, divided by its length, with runs of white space as one space. `rapidocr` is measured as an
upload is read, with the start of its process; `tesseract` is Debian's program with the three languages, if it is on the
path. One page after the other."""

_TEXTS = {
    "eng": (
        "The ferry to Tresco leaves the old quay at nine every morning.",
        "Tickets cost 12.50 pounds; children under five travel free.",
        "Please bring a coat, two bottles of water and a map.",
        "Invoice No. 4711-B of 24/12/2023: total 1,234.56 EUR.",
        '"Who has the key to the boathouse?" asked Mr O\'Neill.',
        "Write to harbour@example.org or call +44 1720 555 017.",
    ),
    "deu": (
        "Die Fähre über die große Bucht fährt täglich um neun Uhr.",
        "Karten kosten 12,50 Euro; Kinder unter fünf fahren kostenlos.",
        "Bitte Mäntel, Öljacken und zwei Flaschen Wasser mitbringen.",
        "Rechnung Nr. 4711-B vom 24.12.2023: gesamt 1.234,56 EUR.",
        "„Wer hat den Schlüssel zum Bootshaus?“, fragte Frau Weiß.",
        "Schreiben Sie an hafen@example.org, Straße am Grund 7.",
    ),
    "spa": (
        "El transbordador sale del muelle viejo a las nueve cada mañana.",
        "Los billetes cuestan 12,50 euros; los niños viajan gratis.",
        "¿Quién trae el paraguas, dos botellas de agua y un mapa?",
        "Factura núm. 4711-B del 24/12/2023: total 1.234,56 EUR.",
        "¡Qué vergüenza! La señora Núñez perdió la llave.",
        "Escriba a puerto@example.org o llame al +34 981 555 017.",
    ),
}
_FOLDER = "/usr/share/fonts/truetype"
_FONTS = (
    f"{_FOLDER}/dejavu/DejaVuSans.ttf",
    f"{_FOLDER}/liberation/LiberationSerif-Regular.ttf",
    f"{_FOLDER}/liberation/LiberationMono-Regular.ttf",
    f"{_FOLDER}/liberation/LiberationSansNarrow-Regular.ttf",
)
_PAGE = (1_240, 1_754)


class _Condition(NamedTuple):
    """How a page is drawn: size of the letters in pixels, degrees, spread of the noise, blur in pixels, colours."""

    name: str
    size: int
    degrees: float = 0.0
    noise: int = 0
    blur: float = 0.0
    ink: int = 0
    paper: int = 255


_CONDITIONS = (
    _Condition("large", 32),
    _Condition("small", 18),
    _Condition("noise", 26, noise=60),
    _Condition("turned by 2 degrees", 26, degrees=2.0),
    _Condition("blurred, grey on grey", 26, blur=1.2, ink=90, paper=190),
    _Condition("upside down", 26, degrees=180.0),
)


def run(bench: Bench) -> Section:
    """Draw the pages and let each reader read them."""
    if not can_recognize():
        raise SkippedError("the extra `ocr` is not installed")
    engines: dict[str, Callable[[bytes], str]] = {"rapidocr": _rapidocr}
    if shutil.which("tesseract"):
        engines["tesseract"] = _tesseract
    conditions = _CONDITIONS[:1] if bench.quick else _CONDITIONS
    rows, seconds = [], {name: list[float]() for name in engines}
    for condition in conditions:
        row = [condition.name]
        for name, read in engines.items():
            rates = []
            for text, image in _pages(condition):
                began = time.perf_counter()
                found = read(image)
                seconds[name].append(time.perf_counter() - began)
                rates.append(_error_rate(text, found))
            row.append(number(100 * statistics.mean(rates)))
            bench.say(f"{name}, {condition.name}: {row[-1]} %")
        rows.append(row)
    rows.append(["**pages a second**", *(number(len(taken) / sum(taken)) for taken in seconds.values())])
    return Section("Words in images", _METHOD, table(("pages", *(f"{name}: errors in %" for name in engines)), rows))


def _pages(condition: _Condition) -> Iterator[tuple[str, bytes]]:
    """Yield a text and its page as a PNG for each language."""
    from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

    for place, lines in enumerate(_TEXTS.values()):
        image = Image.new("L", _PAGE, condition.paper)
        font = ImageFont.truetype(_FONTS[(place + _CONDITIONS.index(condition)) % len(_FONTS)], condition.size)
        for line, words in enumerate(lines):
            ImageDraw.Draw(image).text((90, 120 + line * condition.size * 1.6), words, condition.ink, font)
        image = image.rotate(condition.degrees, Image.Resampling.BICUBIC, fillcolor=condition.paper)
        if condition.blur:
            image = image.filter(ImageFilter.GaussianBlur(condition.blur))
        if condition.noise:
            image = ImageChops.add(image, Image.effect_noise(_PAGE, condition.noise), offset=-128)
        written = io.BytesIO()
        image.save(written, "PNG")
        yield " ".join(lines), written.getvalue()


def _rapidocr(image: bytes) -> str:
    extractor = SubprocessExtractor(30.0, 1 << 30, 1_000_000, Limits(60.0, 2 << 30))
    try:
        return " ".join(part.text for part in extractor.extract([image], "image").parts)
    except UnreadableFileError:
        return ""


def _tesseract(image: bytes) -> str:
    command: Any = ["tesseract", "-", "-", "-l", "eng+deu+spa", "--psm", "1"]
    return subprocess.run(command, input=image, capture_output=True, check=True).stdout.decode()


def _error_rate(drawn: str, found: str) -> float:
    """Return the edit distance (Levenshtein) divided by the length of the drawn text."""
    found = " ".join(found.split())
    before = list(range(len(found) + 1))
    for row, letter in enumerate(drawn, start=1):
        now = [row]
        for column, other in enumerate(found, start=1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != other)))
        before = now
    return before[-1] / len(drawn)
