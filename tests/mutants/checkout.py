"""A temporary copy of the checkout with an interpreter of its own, in which code may be broken."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

PYTEST = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of tests gave: ``passed``, ``failed`` (with the first failed test), ``timed out`` or ``error``."""

    verdict: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A copy of all files that git knows or would add."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter that imports the copy, also in the processes that tests start."""
        return self.folder / ".venv" / "bin" / "python"

    def run(self, tests: Sequence[str], seconds: float) -> Outcome:
        """Run tests until the first failure.

        A test counts as failed only if its own code failed: a broken fixture or import shows nothing of the test.
        """
        report = self.folder / ".outcome.xml"
        report.unlink(missing_ok=True)
        command = [str(self.python), "-m", "pytest", *PYTEST, f"--junitxml={report}", *tests]
        process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()  # lets fixtures stop their servers
            process.communicate(timeout=60)
            return Outcome("timed out", f"after {seconds:.0f} s")
        if process.returncode == 0:
            return Outcome("passed")
        if process.returncode == 1 and report.exists() and (failed := _failed_test(report)) is not None:
            return Outcome("failed", failed)
        return Outcome("error", output[-3_000:])


def _failed_test(report: Path) -> str | None:
    for case in ElementTree.parse(report).iter("testcase"):  # our own report
        if case.find("failure") is not None:
            return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
    return None


@contextmanager
def copied_checkout() -> Iterator[Checkout]:
    """Copy the checkout, for a ``with`` statement. It takes about a second."""
    with tempfile.TemporaryDirectory(prefix="neurigraph-mutants-") as parent:
        folder = Path(parent) / "checkout"
        known = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout.decode()
        for name in filter(None, known.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        (Path(parent) / "shared").symlink_to(ROOT.parent / "shared")
        _make_interpreter(folder)
        yield Checkout(folder)


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
