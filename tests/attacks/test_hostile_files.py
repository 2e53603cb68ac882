"""Attacks by files: writing outside their place, growing when unpacked, reading what belongs to others."""

from __future__ import annotations

import functools
import gzip
import os
import signal
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

import pytest

from neurigraph_pipelines.model.errors import InvalidInputError, StorageError, UnreadableFileError
from resources.extractors.text_extractor import SubprocessExtractor
from resources.storage.drop_folder import DropFolder
from resources.storage.local import LocalObjectStore
from tests.conftest import ROOT
from tests.support.documents import docx_of, pdf_of, png_of
from tests.support.memories import new_user
from tests.support.two_users import World
from tests.support.uploads import read_upload
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.attack, pytest.mark.slow]

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


def test_object_becomes_a_link_while_it_is_read(tmp_path: Path, secret: Path) -> None:
    class Raced(LocalObjectStore):
        """A store in which somebody replaces an object between the look at it and its opening."""

        def exists(self, key: str) -> bool:
            place = tmp_path / "store" / key
            if place.name == "raced":
                place.unlink()
                place.symlink_to(secret)
                return True
            return super().exists(key)

    store = Raced(tmp_path / "store")
    for key in ("durable/calm", "durable/raced"):
        store.put(key, [b"x"])
    assert list(store.get("durable/calm")) == [b"x"]
    with pytest.raises(StorageError):
        list(store.get("durable/raced"))


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
    kept = read_upload(world.installation, claims, upload.upload_id)["file_name"]
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


DRAWN = b"BT /F1 12 Tf 72 720 Td (harbour) Tj ET"


@pytest.mark.parametrize("times", [1, 2], ids=["packed once", "packed twice"])
def test_pdf_stream_bomb(extractor: SubprocessExtractor, times: int) -> None:
    """The text at the end of a stream is read, but not behind 300 MB of blanks."""

    def packed(blanks: int) -> bytes:
        pdf = pdf_of("", stream=b" " * blanks + DRAWN)
        if times == 1:
            return pdf
        start, end = pdf.index(b"stream\n") + 7, pdf.index(b"\nendstream")
        inner = zlib.compress(pdf[start:end])
        length = b"/Length %d /Filter [/FlateDecode /FlateDecode]" % len(inner)
        twice = pdf[:start] + inner + pdf[end:]
        return twice.replace(b"/Length %d /Filter /FlateDecode" % (end - start), length)

    assert read(extractor, packed(MEGABYTE), "pdf") == "harbour"
    assert len(packed(300 * MEGABYTE)) < MEGABYTE
    assert "harbour" not in read(extractor, packed(300 * MEGABYTE), "pdf")


def test_pdf_with_a_page_cycle(extractor: SubprocessExtractor) -> None:
    plain = pdf_of("x")
    looped = plain.replace(b"/Kids [5 0 R]", b"/Kids [2 0 R]")
    assert looped != plain
    assert read(extractor, plain, "pdf") == "x"
    assert "cyclic" in read(extractor, looped, "pdf")


def test_deeply_nested_html(extractor: SubprocessExtractor) -> None:
    """The parser stops at a depth, before its process reaches a limit."""
    assert read(extractor, b"<div>" * 100 + b"x", "html") == "x"
    assert read(extractor, b"<div>" * 200_000 + b"x", "html") == ""


WIDE = b"<p>" + b"<b>x</b>" * 600_000
"""HTML whose parsed tree takes far more than its bytes."""


def test_memory_limit_of_a_reader() -> None:
    """The same page is read where there is memory, as far as its text is allowed, and ends the reader where not."""
    assert "bytes of text" in read(SubprocessExtractor(20, 1 << 32, text_bytes=1_000), WIDE, "html")
    refused = read(SubprocessExtractor(20, 3 << 25, text_bytes=1_000), WIDE, "html")
    assert "cannot be read" in refused
    assert "bytes of text" not in refused


@functools.cache
def slow_pdf() -> bytes:
    """Return a document that takes minutes to read."""
    return pdf_of("", stream=b"BT /F1 12 Tf 72 720 Td " + b"(x) Tj " * 2_000_000 + b"ET")


def test_time_limit_of_a_reader() -> None:
    hasty = SubprocessExtractor(seconds=2, memory_bytes=1 << 30, text_bytes=1_000_000)
    assert "in 2 seconds" in read(hasty, slow_pdf(), "pdf")


def test_time_limit_of_a_reader_without_its_parent(tmp_path: Path) -> None:
    """A reader whose parent was killed ends, too: the kernel counts its time."""
    (tmp_path / "slow.pdf").write_bytes(slow_pdf())
    with (tmp_path / "slow.pdf").open("rb") as file:
        reader = subprocess.run(
            [sys.executable, "-m", "resources.extractors.worker", "pdf", "1", str(1 << 30)],
            stdin=file,
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
            check=False,
        )
    assert reader.returncode == -signal.SIGXCPU


def test_time_limit_of_a_reader_that_waits() -> None:
    """A reader that uses no time of the processor ends with its parent's patience."""
    hasty = SubprocessExtractor(seconds=2, memory_bytes=1 << 30, text_bytes=1_000_000)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, hasty, slow_pdf(), "pdf")
        children = Path(f"/proc/{os.getpid()}/task")
        wait_until(lambda: workers(children), "the start of the reader")
        (pid,) = workers(children)
        os.kill(pid, signal.SIGSTOP)
        done, _ = wait([reading], timeout=20)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert done
    assert "in 2 seconds" in reading.result()


def workers(tasks: Path) -> list[int]:
    """Return the readers that a process started."""
    pids = [pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
    return [int(pid) for pid in pids if b"extractors.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


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
    assert read_upload(world.installation, claims, upload.upload_id)["message_count"] == 1
    assert user.slug


def test_gzip_bomb_stays_packed(world: World) -> None:
    _, claims = new_user(world.installation)
    bomb = gzip.compress(b" " * (200 * MEGABYTE), 9)
    upload = world.installation.uploads.receive(claims, "bomb.gz", [bomb])
    world.installation.uploads.read_due(world.installation.text_extractor)
    read = read_upload(world.installation, claims, upload.upload_id)
    assert (read["message_count"], read["size_bytes"]) == (1, len(bomb))
