"""Other memory systems on the same server with the same vectors, each a process in its own environment.

This module creates the environments, passes the memories, and talks to the processes. The peers' own calls are in
their modules ``peer_...``, what they share in ``peer_process``, the comparison in ``comparison``.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import PROJECT_ROOT, Bench

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neurigraph-benchmarks"
"""Folder of the peers' environments, which are reused between runs."""

_INSTALL_SECONDS = 900
_READY = "ready"


class PeerUnavailableError(Exception):
    """A peer cannot be installed or does not run here; the message says why, and the others are measured."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one search of a peer.

    Attributes:
        numbers: Rows of the memories, best first.
        seconds: Duration of the peer's search call alone, measured in its process.
    """

    numbers: list[int]
    seconds: float


@dataclass(frozen=True, slots=True)
class PeerKind:
    """A peer that can be measured.

    Attributes:
        module: Module of ``benchmarks.retrieval``, and the name of its requirements file.
        package: The package whose version is shown.
        most: Most memories that it can be given within minutes, if its tables cannot be copied into.
    """

    name: str
    module: str
    package: str
    most: int | None = None

    @property
    def pins(self) -> str:
        """Every package of the environment with its version, one a line."""
        return (PROJECT_ROOT / "requirements" / f"{self.module}.txt").read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """The name with the version that is pinned."""
        version = next(line for line in self.pins.splitlines() if line.startswith(f"{self.package}=="))
        return f"{self.name} {version.partition('==')[2]}"


PEERS = (
    PeerKind("mem0", "peer_mem0", "mem0ai"),
    PeerKind("LangGraph PostgresStore", "peer_langgraph", "langgraph-checkpoint-postgres"),
    PeerKind("MemPalace", "peer_mempalace", "mempalace", most=100_000),
    PeerKind("Hindsight", "peer_hindsight", "hindsight-api-slim", most=10_000),
)


class RunningPeer:
    """A peer that has loaded its memories.

    Attributes:
        by_api: Number of memories added through the peer's own calls; the rest were copied.
        add_seconds: Seconds that these took together.
    """

    def __init__(self, kind: PeerKind, process: subprocess.Popen[str], log: Path) -> None:
        self.kind = kind
        self._process = process
        self._log = log
        self.by_api = 0
        self.add_seconds = 0.0

    def load(self, database_url: str, folder: Path) -> None:
        """Let the peer load what ``hand_over`` wrote.

        Raises:
            PeerUnavailableError: It ended instead.
        """
        loaded = self._ask({"database_url": database_url, "folder": str(folder)})
        self.by_api, self.add_seconds = loaded["by_api"], loaded["seconds"]

    def search(self, query: str, limit: int) -> Found:
        """Ask for the ``limit`` best memories.

        Raises:
            PeerUnavailableError: It ended instead.
        """
        return Found(**self._ask({"query": query, "limit": limit}))

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            print(json.dumps(question), file=requests, flush=True)
            answer = answers.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise PeerUnavailableError(f"{self.kind.title} ended: {_last_line(self._log.read_text(encoding='utf-8'))}")
        parsed: dict[str, Any] = json.loads(answer)
        return parsed


def hand_over(
    folder: Path, texts: Sequence[str], vectors: NDArray[np.float32], questions: dict[str, NDArray[np.float32]]
) -> None:
    """Write memories and questions for the processes of peers.

    Args:
        folder: Created if it does not exist.
        texts: One for each memory.
        vectors: ``(memories, dimensions)``.
        questions: The vector of each question.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(list(texts)), encoding="utf-8")
    np.save(folder / "vectors.npy", vectors)
    (folder / "questions.json").write_text(json.dumps(list(questions)), encoding="utf-8")
    np.save(folder / "question_vectors.npy", np.stack(list(questions.values())))


@contextmanager
def start(bench: Bench, kind: PeerKind, folder: Path) -> Iterator[RunningPeer]:
    """Start a peer with its own database and load the memories in ``folder``; it ends with the context.

    Raises:
        PeerUnavailableError: It cannot be installed, such as without a network, or ended while it loaded.
    """
    python = environment(kind)
    name = f"{kind.module}_{uuid4().hex}"
    home, log = bench.folder / name, bench.folder / f"{name}.log"
    home.mkdir()
    # Its own home folder, no access to the user's accounts, and no telemetry.
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "MEM0_DIR": str(home),
        "MEM0_TELEMETRY": "False",
        "LANGSMITH_TRACING": "false",
        "OMP_NUM_THREADS": "1",
    }
    with log.open("w", encoding="utf-8") as errors, _process(python, kind, variables, errors) as process:
        peer = RunningPeer(kind, process, log)
        peer.load(bench.database(name), folder)
        yield peer


def environment(kind: PeerKind) -> Path:
    """Return the interpreter of the environment with a peer's pinned packages, creating it if needed.

    Raises:
        PeerUnavailableError: The packages cannot be installed.
    """
    version = f"{kind.pins}\n{sys.version}"
    folder = CACHE / f"{kind.module}-{hashlib.sha256(version.encode()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    if (folder / _READY).exists():
        return python
    venv.create(folder, clear=True, with_pip=True)
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--no-deps", "-r")
    try:
        subprocess.run(
            [str(python), *install, str(PROJECT_ROOT / "requirements" / f"{kind.module}.txt")],
            check=True,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        raise PeerUnavailableError(f"{kind.title} cannot be installed here: {_last_line(error.stderr)}") from error
    except subprocess.TimeoutExpired as error:
        raise PeerUnavailableError(f"{kind.title} was not installed within {_INSTALL_SECONDS} s") from error
    (folder / _READY).touch()
    return python


@contextmanager
def _process(
    python: Path, kind: PeerKind, variables: dict[str, str], errors: IO[str]
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [str(python), "-m", f"benchmarks.retrieval.{kind.module}"],
        cwd=PROJECT_ROOT,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _last_line(said: str) -> str:
    lines = said.strip().splitlines()
    return lines[-1] if lines else "it said nothing"
