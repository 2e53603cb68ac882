"""A temporary copy of the checkout with an interpreter of its own, in which code may be broken."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import venv
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.mutants.warm_server import WarmServer

_ANY_TEST = "tests/unit/test_body_limit.py"
PYTEST = ("-x", "-q", "--no-header", "-p", "no:cacheprovider")
_TOO_SLOW = re.compile(r": ([a-z0-9_]+\.)*[A-Za-z]*(Timeout|TimeoutError|TimeoutExpired)\b")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of tests gave.

    Attributes:
        verdict: ``passed``; ``failed``, by a test's own code; ``timed out``, the run or what a test waited for;
            ``error``, which shows nothing: a broken fixture or import.
        detail: The first failed test and its error, or the output.
    """

    verdict: str
    detail: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class Checkout:
    """A copy of all files that git knows or would add, a server of tests, and a Postgres server that stays warm."""

    parent: Path
    folder: Path
    server: WarmServer
    _forks: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        environment = {**os.environ, "TMPDIR": str(self.parent / "tmp"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        self._forks = subprocess.Popen(
            [self.folder / ".venv" / "bin" / "python", "tests/mutants/fork_server.py"],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._preload()

    def _preload(self) -> None:
        """Import the packages that all tests need, once for all runs."""
        answer = self._ask(["--collect-only", *PYTEST, _ANY_TEST], 600.0, preload=str(self.parent / "packages"))
        if answer["code"] != 0:
            raise RuntimeError(f"the tests cannot be collected: {self._output()}")

    def run(
        self, tests: Sequence[str], seconds: float, *, own_server: bool = False, own_schema: bool = False
    ) -> Outcome:
        """Run tests until the first failure.

        Args:
            seconds: Longest time.
            own_server: The tests start a new Postgres server, for what is broken is the server.
            own_schema: The tests migrate a template database of their own, for what is broken is the schema.
        """
        report = self.parent / "outcome.xml"
        report.unlink(missing_ok=True)
        without_server = own_server or all(test.startswith("tests/unit/") for test in tests)
        environment = {} if without_server else {"NEURIGRAPH_TEST_HOME": str(self.server.prepared())}
        if own_schema:
            environment["NEURIGRAPH_TEST_TEMPLATE"] = "changed_template"
        answer = self._ask([*PYTEST, f"--junitxml={report}", *tests], seconds, environment)
        self._end_leftovers()
        if answer["code"] is None:
            return Outcome("timed out", f"after {seconds:.0f} s", answer["seconds"])
        if answer["code"] == 0:
            return Outcome("passed", "", answer["seconds"])
        failed = _failed_test(report) if answer["code"] == 1 and report.exists() else None
        if failed is None:
            return Outcome("error", self._output(), answer["seconds"])
        return Outcome("timed out" if _TOO_SLOW.search(failed) else "failed", failed, answer["seconds"])

    def close(self) -> None:
        """End the server of tests, and a run that was interrupted."""
        self._forks.kill()
        self._forks.communicate()
        self._end_leftovers()

    def _ask(
        self, arguments: list[str], seconds: float, environment: dict[str, str] | None = None, preload: str = ""
    ) -> dict[str, Any]:
        request = {"arguments": arguments, "seconds": seconds, "environment": environment or {}, "preload": preload}
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        self._forks.stdin.write(json.dumps({**request, "output": str(self.parent / "output")}) + "\n")
        self._forks.stdin.flush()
        answer: dict[str, Any] = json.loads(self._forks.stdout.readline())
        return answer

    def _output(self) -> str:
        return (self.parent / "output").read_text(errors="replace")[-3_000:]

    def _end_leftovers(self) -> None:
        """Kill processes that a run left behind: all that work below the folder, but for the two servers."""
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) == self._forks.pid:
                continue
            with suppress(OSError):
                works_in = (entry / "cwd").readlink()
                if works_in.is_relative_to(self.parent) and not works_in.is_relative_to(self.server.home):
                    os.kill(int(entry.name), signal.SIGKILL)
        shutil.rmtree(self.parent / "tmp", ignore_errors=True)
        (self.parent / "tmp").mkdir(mode=0o711, exist_ok=True)


def _failed_test(report: Path) -> str | None:
    """Return the first failed test and its error. A failed fixture is an error in the report, not a failure."""
    for case in ElementTree.parse(report).iter("testcase"):  # our own report
        if (failure := case.find("failure")) is not None:
            name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
            return f"{name}: {(failure.get('message') or '')[:300]}"
    return None


@contextmanager
def copied_checkout() -> Iterator[Checkout]:
    """Copy the checkout, for a ``with`` statement. It takes about a second."""
    with tempfile.TemporaryDirectory(prefix="neurigraph-mutants-") as name:
        parent = Path(name).resolve()
        parent.chmod(0o711)  # the account of an unprivileged server passes through
        (parent / "tmp").mkdir(mode=0o711)
        folder = parent / "checkout"
        known = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout.decode()
        for file in filter(None, known.split("\0")):
            if (ROOT / file).is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, folder / file)
        (parent / "shared").symlink_to(ROOT.parent / "shared")
        _make_interpreter(folder)
        with WarmServer(parent / "home") as server:
            checkout = Checkout(parent, folder, server)
            try:
                yield checkout
            finally:
                checkout.close()


def _make_interpreter(folder: Path) -> None:
    """Create an environment that shares the installed packages, but imports the project from the copy."""
    home = folder / ".venv"
    venv.create(home, symlinks=True, with_pip=False)
    ours = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    theirs = Path(sys.prefix) / ours.relative_to(home)
    # A plain path in a .pth file: the .pth file in there that leads to the original is not read.
    (ours / "copy.pth").write_text(f"{folder}\n{theirs}\n")
    shebang = f"#!{home / 'bin' / 'python'}\n"
    for script in filter(Path.is_file, (Path(sys.prefix) / "bin").iterdir()):
        first, _, rest = script.read_bytes().partition(b"\n")
        if first.startswith(b"#!") and b"python" in first and not (home / "bin" / script.name).exists():
            (home / "bin" / script.name).write_bytes(shebang.encode() + rest)
            (home / "bin" / script.name).chmod(0o755)
    imported = subprocess.run(
        [home / "bin" / "python", "-c", "import neurigraph_pipelines as n; print(n.__file__)"],
        cwd=folder.parent,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert imported.startswith(str(folder)), f"the copy would import {imported}"
