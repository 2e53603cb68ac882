"""Token counters: tiktoken's encodings if their files are available, otherwise an estimate.

Belongs here: finding, verifying and loading encodings, and choosing a counter. The estimate is in ``tokens.estimate``.
"""

from __future__ import annotations

import hashlib
import threading
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import TokenCounter
from neurigraph_pipelines.views.scalars import ValuesByName
from resources.files import write_whole
from resources.tokens.estimate import estimate_each, estimate_tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODINGS = ("cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "p50k_edit", "r50k_base")
"""Encodings of one verified file each; tiktoken's ``gpt2`` consists of two files and is left out."""

_PIECE_CHARACTERS = 50_000
"""Longest text given to tiktoken at once: a million spaces in a row overflow its regular expressions (0.14.0)."""


class EstimatedCounter:
    """Counts by ``estimate_tokens``, without any file."""

    name = "estimate"
    exact = False

    def count(self, text: str) -> int:
        """Return the estimated tokens of ``text``; 0 for the empty string."""
        return estimate_tokens(text)

    def count_each(self, texts: Sequence[str]) -> list[int]:
        """Return ``count`` of each text."""
        return estimate_each(texts)


class TiktokenCounter:
    """Counts with a tiktoken encoding read from a folder.

    The folder has the layout of tiktoken's ``TIKTOKEN_CACHE_DIR``: files are named by the SHA-1 of their address. The
    file is verified on construction and loaded at the first count (about 0.4 s, once). The environment is neither read
    nor changed. Special tokens within a text count as ordinary text. Runs of 50,000 characters without a space are
    split, which adds at most one token each.

    Args:
        encoding: One of ``ENCODINGS``.
        cache_dir: Folder with encodings.
        download: Whether a missing file may be downloaded into the folder.

    Raises:
        ConfigurationError: The encoding is unknown, missing or damaged, or could not be downloaded.
    """

    exact = True

    def __init__(self, encoding: str, cache_dir: Path, download: bool = False) -> None:
        self.name = f"tiktoken:{encoding}"
        self._description = _describe(encoding)
        self._file = _verified_file(self._description, cache_dir, download)
        self._encoding: Encoding | None = None
        self._lock = threading.Lock()

    def count(self, text: str) -> int:
        """Return the tokens of ``text``; 0 for the empty string."""
        encoding = self._encoding or self._load()
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))

    def count_each(self, texts: Sequence[str]) -> list[int]:
        """Return ``count`` of each text."""
        return [self.count(text) for text in texts]

    def _load(self) -> Encoding:
        """Load the encoding once."""
        from tiktoken import Encoding

        with self._lock:
            if self._encoding is None:
                ranks = _read_ranks(self._file.read_bytes())
                self._encoding = Encoding(**{**self._description.arguments, "mergeable_ranks": ranks})
            return self._encoding


def token_counter(encoding: str, cache_dir: Path, download: bool) -> TokenCounter:
    """Return the best available counter.

    Args:
        encoding: One of ``ENCODINGS``.
        cache_dir: Folder with encodings, named as by tiktoken.
        download: Whether a missing encoding may be downloaded. If False, no network is used.

    Returns:
        The encoding's counter, or the estimate if its file is missing or damaged and could not be downloaded.

    Raises:
        ConfigurationError: The encoding is unknown.
    """
    if encoding not in ENCODINGS:
        raise ConfigurationError(f"Unknown token encoding {encoding!r}: use one of {', '.join(ENCODINGS)}.")
    try:
        return TiktokenCounter(encoding, cache_dir, download)
    except ConfigurationError:
        return EstimatedCounter()


@dataclass(frozen=True, slots=True)
class _Description:
    """An encoding's definition in tiktoken, without its ranks."""

    address: str
    sha256: str
    arguments: ValuesByName


def _describe(encoding: str) -> _Description:
    """Return the pattern, the special tokens and the file's address of an encoding, without reading the file.

    tiktoken's constructors read the file through a loader that uses the environment and the network. Here they run with
    a loader that only returns its arguments.
    """
    if encoding not in ENCODINGS:
        raise ConfigurationError(f"Unknown token encoding {encoding!r}: use one of {', '.join(ENCODINGS)}.")
    openai_public = import_module("tiktoken_ext.openai_public")

    def load_tiktoken_bpe(address: str, expected_hash: str) -> tuple[str, str]:
        return address, expected_hash

    namespace: ValuesByName = dict(vars(openai_public))
    for name, constructor in openai_public.ENCODING_CONSTRUCTORS.items():
        namespace[name] = FunctionType(constructor.__code__, namespace)
    namespace["load_tiktoken_bpe"] = load_tiktoken_bpe
    arguments: ValuesByName = namespace[encoding]()
    address, sha256 = arguments.pop("mergeable_ranks")
    return _Description(address, sha256, arguments)


def _verified_file(description: _Description, cache_dir: Path, download: bool) -> Path:
    """Return the verified file of an encoding, downloaded if necessary and allowed."""
    name = hashlib.sha1(description.address.encode(), usedforsecurity=False).hexdigest()
    file = cache_dir / name
    if _is_intact(file, description.sha256):
        return file
    if not download:
        raise ConfigurationError(
            f"Token encoding {description.arguments['name']} is missing or damaged in {cache_dir}: "
            "put the file there, or set NEURIGRAPH_TIKTOKEN_DOWNLOAD=true."
        )
    _download(description, file)
    return file


def _is_intact(file: Path, sha256: str) -> bool:
    """Whether the file exists and has the expected checksum."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == sha256
    except OSError:
        return False


def _download(description: _Description, file: Path) -> None:
    """Download an encoding's file, verify it and move it into place."""
    from tiktoken.load import read_file

    name = description.arguments["name"]
    try:
        content = read_file(description.address)
    except Exception as error:  # requests raises many kinds of errors without a network
        raise ConfigurationError(f"Token encoding {name} could not be downloaded.") from error
    if hashlib.sha256(content).hexdigest() != description.sha256:
        raise ConfigurationError(f"Token encoding {name} was damaged during the download: try again.")
    write_whole(file, content)


def _read_ranks(content: bytes) -> dict[bytes, int]:
    """Parse lines that consist of a token in base64, a space, and its rank."""
    return {b64decode(token): int(rank) for token, rank in (line.split() for line in content.splitlines() if line)}


def _pieces(text: str) -> Iterator[str]:
    """Split a long text where no token can span: before a space that follows a word, else anywhere."""
    start = 0
    while len(text) - start > _PIECE_CHARACTERS:
        end = start + _PIECE_CHARACTERS
        space = text.rfind(" ", start + 1, end)
        while space > start and text[space - 1].isspace():
            # A run of spaces belongs to the text after it: search before the run.
            space = text.rfind(" ", start + 1, start + len(text[start:space].rstrip()))
        cut = space if space > start else end
        yield text[start:cut]
        start = cut
    yield text[start:]
