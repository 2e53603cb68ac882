"""Belief: what is superseded in worlds of known truth, and what is noticed in real chats."""

from __future__ import annotations

from benchmarks.belief import chats, worlds
from benchmarks.bench import Bench
from benchmarks.report import Section

_METHOD = f"""{worlds.METHOD}

{chats.METHOD}"""


def run(bench: Bench) -> Section:
    """Measure both."""
    return Section("Belief", _METHOD, "\n\n".join([*worlds.tables(bench), *chats.tables(bench)]))
