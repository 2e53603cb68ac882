"""Documents that are zip archives: their bounds, and the XML in them."""

from __future__ import annotations

import posixpath
import zipfile
from typing import BinaryIO

from lxml import etree

MAX_UNPACKED_BYTES = 512 * 1024**2
"""Limit of the unpacked size of a document; the longest books need less than a tenth."""


def require_bounded(stream: BinaryIO) -> None:
    """Require that the directory of an archive declares at most ``MAX_UNPACKED_BYTES``; rewind the stream.

    Raises:
        ValueError: It declares more.
    """
    with zipfile.ZipFile(stream) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > MAX_UNPACKED_BYTES:
        raise ValueError(f"it would unpack to {size:,} bytes")
    stream.seek(0)


def xml_of(data: bytes) -> etree._Element:
    """Return the root of an XML text; nothing outside it is opened, and entities stay unexpanded."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True, remove_pis=True)
    return etree.fromstring(data, parser)


def local(element: etree._Element) -> str:
    """Return the name of an element without its namespace; nothing for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: etree._Element, name: str) -> str | None:
    """Return an attribute by its name without the namespace; None if it is missing."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return None


def beside(name: str, target: str) -> str:
    """Return the name of the member that a link of another member means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), target)).lstrip("/")
