"""Repositories by address: what fetching and reading cost, again without a change, and again with a few."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.report import Section, number, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.web_pages import receive_address
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.git_server import commit, git, git_server

FILES = (200, 2_000)
QUICK = (20,)
LINES = 120
CHANGED = 100
"""One file of so many changes in the second commit."""

_METHOD = f"""Repositories of made code, {LINES} lines a file, are served by Git's own program over HTTP on the same
machine. *Fetch* is the newest commit, from the request until its pack is kept. *Read* is until each file is an upload
with its passages: unpacked in the confined process, divided by lines, counted, and written in one transaction a file.
Files are then summarised, filed and embedded like any other (see the ingestion job), which is not part of the figures.
The baseline is `git clone --depth 1` of the same repository. *Unchanged* and *1 % changed* are a second and a third
fetch, with what is then read. Seconds of one run."""


def run(bench: Bench) -> Section:
    """Fetch and read a repository of each size."""
    rows = []
    for files in QUICK if bench.quick else FILES:
        bench.say(f"a repository of {files:,} files")
        with bench.installation() as installation:
            installation.settings = installation.settings.changed(web_local_hosts=("127.0.0.1",))
            rows.append(_row(installation, bench.folder / f"repositories-{files}", files))
    figures = ("`git clone` s", "fetch s", "read s", "files a second", "MB a second", "unchanged s", "1 % changed s")
    return Section("Reading a repository", _METHOD, table(("repository", *figures), rows))


def _row(installation: Installation, folder: Path, files: int) -> list[str]:
    folder.mkdir()
    paths = [f"part_{number % 40}/module_{number}.py" for number in range(files)]
    made: dict[str, str | bytes | None] = {path: _code(path) for path in paths}
    commit(folder / "made.git", made)
    megabytes = sum(len(content or b"") for content in made.values()) / 1e6
    claims = Claims.of_user(create_user(installation.database, "reader")[0].user_id)
    with git_server(folder) as server:
        url = server.url("made.git")

        def fetch() -> None:
            receive_address(installation.uploads, installation.web, claims, url)

        def read() -> None:
            assert all(one.error is None for one in installation.uploads.read_due(installation.text_extractor))

        cloned = _seconds(lambda: git(folder, "clone", "-q", "--depth", "1", url, "copy"))
        fetched, reading = _seconds(fetch), _seconds(read)
        unchanged = _seconds(fetch)
        commit(folder / "made.git", {path: _code(path, changed=True) for path in paths[::CHANGED]})
        again = _seconds(fetch) + _seconds(read)
    whole = fetched + reading
    figures = (cloned, fetched, reading, files / whole, megabytes / whole, unchanged, again)
    return [f"{files:,} files, {megabytes:.1f} MB", *map(number, figures)]


def _code(path: str, *, changed: bool = False) -> str:
    lines = [f"{path} has been changed" if changed else path]
    lines += [f"value_{line} = measure({line * 7}, of={path!r})  # number {line}" for line in range(LINES)]
    return "\n".join(lines) + "\n"


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
