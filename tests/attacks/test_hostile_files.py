"""Attacks by files: writing outside their place, growing when unpacked, reading what belongs to others."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
import zlib
from pathlib import Path

import pytest

from neurigraph_pipelines.errors import InvalidInputError, StorageError, UnreadableFileError
from neurigraph_pipelines.ingestion.imports.reader import read_conversations
from neurigraph_pipelines.model import NewConversation
from resources.extractors.text_extractor import SubprocessExtractor
from resources.storage.drop_folder import DropFolder
from resources.storage.local import LocalObjectStore
from tests.support.documents import docx_of, pdf_of, png_of
from tests.support.memories import new_user
from tests.support.two_users import World

pytestmark = pytest.mark.attack

MEGABYTE = 1 << 20
SECRET_TEXT = "what only the server may read"
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A server file outside all folders of the project."""
    file = tmp_path / "outside" / "secret.txt"
    file.parent.mkdir()
    file.write_text(SECRET_TEXT)
    return file


@pytest.fixture(scope="module")
def extractor() -> SubprocessExtractor:
    return SubprocessExtractor(seconds=20, memory_bytes=1 << 28, text_bytes=1_000_000)


def read(extractor: SubprocessExtractor, content: bytes, reader: str) -> str:
    """Return the text of a file, or of its error."""
    try:
        found = extractor.extract([content], reader)
    except UnreadableFileError as error:
        return str(error)
    return "\n".join(part.text for part in found.parts)


def word_document(body: str, doctype: str = "") -> bytes:
    return docx_of(
        {
            "word/document.xml": f"<?xml version='1.0'?>{doctype}<w:document {WORD}><w:body><w:p><w:r><w:t>{body}"
            "</w:t></w:r></w:p></w:body></w:document>".encode()
        }
    )


# Paths


@pytest.mark.parametrize(
    "key",
    [
        "../outside/new",
        "durable/../../outside/new",
        "/etc/passwd",
        "//etc/passwd",
        "durable/./x",
        "durable//x",
        "durable/x/",
        "..",
        "",
        "durable/x\0.gz",
        "durable\\..\\x",
        ".partial/x",
        "durable/" + "x" * 256,
        "x/" * 600 + "x",
        "durable/\udc80",
    ],
)
def test_key_outside_the_store(tmp_path: Path, key: str) -> None:
    store = LocalObjectStore(tmp_path / "store")
    for attempt in (lambda: store.put(key, [b"x"]), lambda: list(store.get(key)), lambda: store.delete(key)):
        with pytest.raises(InvalidInputError):
            attempt()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_link_inside_the_store(tmp_path: Path, secret: Path) -> None:
    store = LocalObjectStore(tmp_path / "store")
    store.put("durable/a", [b"x"])
    (tmp_path / "store" / "durable" / "link").symlink_to(secret)
    (tmp_path / "store" / "durable" / "folder").symlink_to(secret.parent)
    for key in ("durable/link", "durable/folder/secret.txt"):
        with pytest.raises(StorageError):
            list(store.get(key))
        store.delete(key)
    assert secret.read_text() == SECRET_TEXT


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/cron.d/mallory",
        "..\\..\\windows\\system32\\mallory",
        "/etc/passwd",
        "....//....//x",
        "%2e%2e%2fx",
        "x\0.pdf",
        ".",
        "..",
        "CON",
        "~/.ssh/authorized_keys",
    ],
)
def test_upload_name_is_a_path(world: World, name: str) -> None:
    _, claims = new_user(world.installation)
    before = set(world.installation.objects.keys())
    upload = world.installation.uploads.receive(claims, name, [os.urandom(16)])
    (key,) = set(world.installation.objects.keys()) - before
    assert key.startswith("staging/"), "its place has nothing of its name"
    kept = world.installation.uploads.status(claims, upload.upload_id)["file_name"]
    assert not {"/", "\\", "\0"} & set(kept)
    assert kept not in (".", "..")


# A place that is watched for files


def dropped(folder: Path) -> list[bytes]:
    """Return the readable content taken from a drop folder."""
    place = DropFolder(folder, settle_seconds=0)
    found = []
    for file in place.files():
        found.append(b"".join(place.read(file)))
    return found


def test_drop_folder_link_to_a_file(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "drop" / "alice").mkdir(parents=True)
    (tmp_path / "drop" / "alice" / "notes.txt").symlink_to(secret)
    assert dropped(tmp_path / "drop") == []


def test_drop_folder_link_to_a_folder(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "drop" / "alice").mkdir(parents=True)
    (tmp_path / "drop" / "alice" / "notes").symlink_to(secret.parent)
    (tmp_path / "drop" / "bob").symlink_to(secret.parent)
    assert dropped(tmp_path / "drop") == []


def test_pipe_in_the_drop_folder(tmp_path: Path) -> None:
    """Reading it would block without end."""
    (tmp_path / "drop" / "alice").mkdir(parents=True)
    os.mkfifo(tmp_path / "drop" / "alice" / "notes.txt")
    assert dropped(tmp_path / "drop") == []


@pytest.mark.parametrize("swapped", ["notes.txt", "folder"])
def test_file_replaced_by_a_link(tmp_path: Path, secret: Path, swapped: str) -> None:
    home = tmp_path / "drop" / "alice"
    (home / "folder").mkdir(parents=True)
    (home / "folder" / "secret.txt").write_text("harmless")
    (home / "notes.txt").write_text("harmless")
    place = DropFolder(tmp_path / "drop", settle_seconds=0)
    files = {file.name: file for file in place.files()}
    (home / swapped).rename(tmp_path / "aside")
    (home / swapped).symlink_to(secret if swapped == "notes.txt" else secret.parent)
    with pytest.raises(StorageError):
        list(place.read(files["notes.txt" if swapped == "notes.txt" else "folder/secret.txt"]))


# Bombs


def test_docx_bomb(extractor: SubprocessExtractor) -> None:
    bomb = docx_of({"word/document.xml": b" " * MEGABYTE}, repeat=600)
    assert "would unpack to" in read(extractor, bomb, "docx")


def test_docx_billion_laughs(extractor: SubprocessExtractor) -> None:
    """A billion laughs."""
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    found = read(extractor, word_document("&l9;", f'<!DOCTYPE d [<!ENTITY l0 "laugh">{levels}]>'), "docx")
    assert "laughlaugh" not in found


def test_docx_quadratic_entity(extractor: SubprocessExtractor) -> None:
    """A quadratic blow-up, which limits on nesting do not see."""
    doctype = f'<!DOCTYPE d [<!ENTITY long "{"x" * 100_000}">]>'
    assert "x" * 10_000 not in read(extractor, word_document("&long;" * 10_000, doctype), "docx")


@pytest.mark.parametrize("scheme", ["file://", "http://127.0.0.1:9/", "php://filter/", ""])
def test_docx_external_entity(extractor: SubprocessExtractor, secret: Path, scheme: str) -> None:
    doctype = f'<!DOCTYPE d [<!ENTITY e SYSTEM "{scheme}{secret}">]>'
    assert SECRET_TEXT not in read(extractor, word_document("&e;", doctype), "docx")


def test_docx_external_dtd(extractor: SubprocessExtractor, secret: Path) -> None:
    doctype = f'<!DOCTYPE d [<!ENTITY % p SYSTEM "file://{secret}"> %p;]>'
    assert SECRET_TEXT not in read(extractor, word_document("text", doctype), "docx")


def test_docx_with_ten_thousand_members(extractor: SubprocessExtractor) -> None:
    found = read(extractor, docx_of({f"word/{number}.xml": b"" for number in range(10_000)}), "docx")
    assert "cannot be read" in found


def test_docx_members_with_paths(extractor: SubprocessExtractor, tmp_path: Path) -> None:
    body = f"<w:document {WORD}><w:body><w:p><w:r><w:t>fine</w:t></w:r></w:p></w:body></w:document>".encode()
    before = Path("/tmp/mallory.txt").exists()
    assert read(extractor, docx_of({"word/document.xml": body, "../../../../tmp/mallory.txt": b"x"}), "docx") == "fine"
    assert Path("/tmp/mallory.txt").exists() == before


def test_pdf_stream_bomb(extractor: SubprocessExtractor) -> None:
    bomb = pdf_of("", stream=b" " * (300 * MEGABYTE))
    assert len(read(extractor, bomb, "pdf")) < 1_000


def test_pdf_packed_twice(extractor: SubprocessExtractor) -> None:
    twice = zlib.compress(zlib.compress(b" " * (300 * MEGABYTE)))
    once = pdf_of("x").replace(b"/FlateDecode", b"[/FlateDecode /FlateDecode]")
    start = once.index(b"stream\n") + 7
    bomb = once[:start] + twice + once[once.index(b"\nendstream") :]
    assert len(read(extractor, bomb, "pdf")) < 1_000


def test_pdf_with_a_page_cycle(extractor: SubprocessExtractor) -> None:
    looped = pdf_of("x").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")
    assert len(read(extractor, looped, "pdf")) < 1_000


def test_deeply_nested_html(extractor: SubprocessExtractor) -> None:
    assert len(read(extractor, b"<div>" * 200_000 + b"x", "html")) < 1_000


def test_html_loads_nothing(extractor: SubprocessExtractor, secret: Path) -> None:
    page = (
        f'<link rel="import" href="file://{secret}"><iframe src="file://{secret}"></iframe>'
        f'<object data="file://{secret}"></object><p>text</p><script>fetch("file://{secret}")</script>'
    )
    assert SECRET_TEXT not in read(extractor, page.encode(), "html")


def test_image_with_enormous_dimensions(world: World) -> None:
    """The image is described and never decoded."""
    user, claims = new_user(world.installation)
    picture = bytearray(png_of(1, 1))
    picture[16:24] = b"\x7f\xff\xff\xff" * 2
    upload = world.installation.uploads.receive(claims, "huge.png", [bytes(picture)])
    world.installation.uploads.read_due(world.installation.text_extractor)
    assert world.installation.uploads.status(claims, upload.upload_id)["state"] == "extracted"
    assert user.slug


def test_gzip_bomb_stays_packed(world: World) -> None:
    _, claims = new_user(world.installation)
    bomb = gzip.compress(b" " * (200 * MEGABYTE), 9)
    upload = world.installation.uploads.receive(claims, "bomb.gz", [bomb])
    world.installation.uploads.read_due(world.installation.text_extractor)
    status = world.installation.uploads.status(claims, upload.upload_id)
    assert (status["state"], status["size_bytes"]) == ("extracted", len(bomb))


def test_export_zip_bomb(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * (100 * MEGABYTE))
    with pytest.raises(InvalidInputError, match="zip bomb"):
        read_conversations(tmp_path / "bomb.zip", "chatgpt")


def test_export_zip_with_a_path(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("../../conversations.json", b"[]")
        archive.writestr("/etc/conversations.json", b"[]")
    before = sorted(tmp_path.parent.iterdir())
    list(read_conversations(tmp_path / "export.zip", "chatgpt"))
    assert sorted(tmp_path.parent.iterdir()) == before, "nothing is ever unpacked to the disk"


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"mapping":{"x":'])
def test_export_of_nested_brackets(tmp_path: Path, opening: str) -> None:
    (tmp_path / "deep.json").write_text(opening * 100_000)
    with pytest.raises(InvalidInputError):
        list(read_conversations(tmp_path / "deep.json", "chatgpt"))


def test_export_with_huge_numbers(tmp_path: Path) -> None:
    lines = [
        {"messages": [{"role": "user", "content": "x", "occurred_at": 1e308}]},
        {"messages": [{"role": "user", "content": "x", "occurred_at": -1e308}]},
    ]
    text = "\n".join(json.dumps(line) for line in lines) + '\n{"messages": [{"role": "user", "content": 1e999999}]}'
    text += '\n{"messages": [{"role": "user", "content": "x", "occurred_at": ' + "9" * 100_000 + "}]}\n"
    (tmp_path / "numbers.jsonl").write_text(text)
    assert not [
        one for one in read_conversations(tmp_path / "numbers.jsonl", "jsonl") if isinstance(one, NewConversation)
    ]
