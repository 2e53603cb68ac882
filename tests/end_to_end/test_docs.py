"""Run every command of every page of the documentation, in order, one shell and one home folder per page.

The commands are forks of one process.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from resources.postgres.embedded import EmbeddedPostgres
from tests.conftest import ROOT
from tests.support.certificates import certificate_of
from tests.support.documents import pdf_of
from tests.support.embedded_server import new_home
from tests.support.exports import chatgpt_dialogue, write
from tests.support.git_server import commit, git_server
from tests.support.vaults import write_vault
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.support.warm_cli import PROGRAM, warm_program

pytestmark = pytest.mark.end_to_end

PAGES = ("README.md", "samples/README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))))
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The first two would run this again; `make demo` has a test of its own below.
_NOT_AGAIN = {"make test", "make proofs", "make demo"}
_UP = "neurigraph up"
_API_PORT = "8400"
_FETCHED = re.compile(r"https://(?:www|git)\.example\.com/")
_SAMPLES = "neurigraph import samples/bob.jsonl --user bob"
"""Pages that begin with this command get a copy of a home where it and ``neurigraph ingest`` have been run.

The others get a copy of a home with an empty database; ``test_demo_ends_cleanly`` begins without any.
"""


def commands(page: str) -> list[str]:
    """Return the commands of a page's console blocks, without comments."""
    lines = [line for block in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) for line in block.splitlines()]
    shown = [re.sub(r"\s+# .*$", "", line[2:]) for line in lines if line.startswith("$ ")]
    # The test sets the home folder and the path of programs.
    return [line for line in shown if not line.startswith("export NEURIGRAPH_HOME=") and "bin/activate" not in line]


def environment(home: Path, session_home: Path, api_port: int, program: Path = PROGRAM) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    if not (home / "models").is_symlink():
        (home / "models").symlink_to(session_home / "models")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURIGRAPH_", "OPENAI_"))}
    return {
        **kept,
        "NEURIGRAPH_HOME": str(home),
        "NEURIGRAPH_LANGUAGE_MODEL": "offline",
        "NEURIGRAPH_UI_PORT": "0",
        "NEURIGRAPH_API_PORT": str(api_port),
        "PATH": os.pathsep.join((str(program.parent), str(PROGRAM.parent), kept.get("PATH", ""))),
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def await_api(port: int, process: subprocess.Popen[bytes]) -> None:
    def ready() -> bool:
        assert process.poll() is None, "the stack ended by itself"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30):
                return True
        except (urllib.error.URLError, OSError):
            return False

    wait_until(ready, "the API comes up", PATIENCE_SECONDS, interval=0.3)


@pytest.fixture(scope="module")
def homes(session_home: Path) -> Iterator[Path]:
    """A folder with two homes to copy: one is migrated, and the other has the samples stored."""
    folder = Path(tempfile.mkdtemp(prefix="neurigraph-docs-"))
    folder.chmod(0o711)  # for the account of the server
    migrated, stored = folder / "migrated", folder / "stored"
    env = environment(migrated, session_home, 0)
    with EmbeddedPostgres(migrated).lease():
        run_in_one_shell(["neurigraph admin migrate"], ROOT, env, 0)
    copy(migrated, stored)
    with EmbeddedPostgres(stored).lease():
        run_in_one_shell([_SAMPLES, "neurigraph ingest"], ROOT, {**env, "NEURIGRAPH_HOME": str(stored)}, 0)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_page_commands_work(page: str, tmp_path: Path, session_home: Path, homes: Path) -> None:
    shown = [command for command in commands(page) if command not in _NOT_AGAIN]
    if any("curl" in command for command in shown) and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    port = free_port()
    home = homes / uuid4().hex
    try:
        shown = begin_with_a_copy(homes, home, shown)
        env = environment(home, session_home, port, warm_program())
        folder = readers_folder(tmp_path)
        with fetched_places(tmp_path, shown, env) as shown:
            before = shown[: shown.index(_UP)] if _UP in shown else shown
            with EmbeddedPostgres(home).lease():  # or every command would start it and stop it again
                run_in_one_shell(before, folder, env, port)
            if _UP in shown:
                run_under_the_stack(shown[shown.index(_UP) + 1 :], folder, env, port)
    finally:
        for made in (home, *home.parent.glob(f"{home.name}-*")):
            EmbeddedPostgres(made).delete()


def begin_with_a_copy(homes: Path, home: Path, shown: list[str]) -> list[str]:
    """Copy the home that a page begins with; return the commands that are still to be run."""
    begins_with_samples = shown[0] == _SAMPLES
    copy(homes / ("stored" if begins_with_samples else "migrated"), home)
    if begins_with_samples:
        shown = shown[1:]
        if shown[0].startswith("neurigraph ingest"):
            shown = shown[1:]
    return shown


@contextmanager
def fetched_places(tmp_path: Path, shown: list[str], env: dict[str, str]) -> Iterator[list[str]]:
    """Serve what commands fetch by its address; yield them with the address of that server."""
    if not any(map(_FETCHED.search, shown)):
        yield shown
        return
    served = tmp_path / "served"
    (served / "boats").mkdir(parents=True)
    commit(served / "boats/sloop", {"README.md": "The sloop steers by a tiller of ash.\n"})
    (served / "boats/sloop.git").symlink_to("sloop")
    certificate = certificate_of("localhost", tmp_path)
    env |= {"NEURIGRAPH_WEB_LOCAL_HOSTS": "localhost", "SSL_CERT_FILE": str(certificate)}
    with git_server(served, certificate) as server:
        server.pages["/ferry"] = b"<html><body><article><p>The ferry leaves at nine.</p></article></body></html>"
        yield [_FETCHED.sub(server.url(""), command) for command in shown]
        packs = {f"/boats/{name}/git-upload-pack" for name in ("sloop", "sloop.git")}
        assert {path for _, path in server.asked} >= {"/ferry", *packs}


def copy(home: Path, to: Path) -> None:
    """Copy a home whose server does not run, with the owners of its files."""
    subprocess.run(["cp", "-a", home, to], check=True)


def readers_folder(tmp_path: Path) -> Path:
    """Create a reader's project folder, with exports in it."""
    folder = tmp_path / "neurigraph"
    folder.mkdir()
    for name in ("samples", "docs", ".venv", ".env.example"):
        (folder / name).symlink_to(ROOT / name)
    export = write(folder / "conversations.json", [chatgpt_dialogue(number) for number in range(3)])
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.write(export, export.name)
    (folder / "ferry times.pdf").write_bytes(pdf_of("The ferry times: from Sennestadt at 7:40 and at 18:05."))
    write_vault(folder / "Notes")
    return folder


def run_in_one_shell(shown: list[str], folder: Path, env: dict[str, str], port: int) -> None:
    """Run commands in one shell and stop at the first failure."""
    script = "set -euo pipefail\n" + "\n".join(shown).replace(f":{_API_PORT}/", f":{port}/")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    assert '"status": 4' not in done.stdout, done.stdout


def run_under_the_stack(shown: list[str], folder: Path, env: dict[str, str], port: int) -> None:
    """Run commands while `neurigraph up` runs, and end it as a person would, with Ctrl-C."""
    process = subprocess.Popen([PROGRAM, "up"], cwd=folder, env=env, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        await_api(port, process)
        run_in_one_shell(shown, folder, env, port)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE_SECONDS) == 130
    finally:
        process.kill()
        process.wait()


def test_demo_ends_cleanly(tmp_path: Path, session_home: Path) -> None:
    with new_home(tmp_path) as home:
        env = environment(home, session_home, free_port())
        for _ in range(2):  # a second run finds everything there
            done = subprocess.run(
                [PROGRAM, "demo"],
                cwd=ROOT,
                env=env,
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            for shown in ("everything about Dave", "From memory.", "was caused by", "may replace"):
                assert shown in done.stdout
            for place in ("bob/Business", "bob/Family", "bob/Hobbies"):
                assert place in done.stdout, f"Dave is not found in {place}:\n{done.stdout}"
        assert left_running(home) == []


def left_running(home: Path) -> list[str]:
    """Return the command lines of processes that name the home folder in their arguments or environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            described = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        if str(home).encode() in described:
            found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
