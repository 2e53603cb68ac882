"""Deliberate breaks: each takes one defence away, and a named test must fail then. The lists are in ``breaks/``.

An entry with ``each`` is a break for each of these parts of its old text: ``new`` replaces that part alone. ``EACH`` in
the name stands for it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.checkout import Checkout, Outcome

LISTS = Path(__file__).parent / "breaks"
SECONDS = 1_200.0
"""Longest time that the tests of one break may take, on a busy machine."""
_SERVER = ("resources/postgres/",)
_SCHEMA = ("sql/", "neurigraph_pipelines/database/migrations.py", "neurigraph_pipelines/database/schema.py")
"""Where a break reaches what all runs share, so that its run needs its own."""


class NotAppliedError(Exception):
    """The text to replace is not in its file, or is there more than once: the list is out of date."""


@dataclass(frozen=True, slots=True)
class Break:
    """One replacement of text in one file, and the tests of which at least one must fail then."""

    subject: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def label(self) -> str:
        """Subject and name."""
        return f"{self.subject}: {self.name}"

    def applied_to(self, text: str) -> str:
        """Return the broken text.

        Raises:
            NotAppliedError: The old text does not occur exactly once.
        """
        if text.count(self.old) != 1:
            raise NotAppliedError(
                f"{self.label}: the text to replace occurs {text.count(self.old)} times in {self.file}"
            )
        return text.replace(self.old, self.new)


def all_breaks() -> list[Break]:
    """Return all breaks, by subject."""
    found = []
    for path in sorted(LISTS.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["break"]:
            entry["tests"] = tuple(entry["tests"])
            parts = entry.pop("each", [entry["old"]])
            for part in parts:
                changed = {"name": entry["name"].replace("EACH", part), "new": entry["old"].replace(part, entry["new"])}
                found.append(Break(path.stem, **{**entry, **changed}))
    return found


def run_break(checkout: Checkout, one: Break) -> Outcome:
    """Break the copy, run the tests of the break, and mend it.

    Raises:
        NotAppliedError: The list is out of date.
    """
    with _broken(checkout.folder / one.file, one):
        own_server, own_schema = one.file.startswith(_SERVER), one.file.startswith(_SCHEMA)
        return checkout.run(one.tests, SECONDS, own_server=own_server, own_schema=own_schema)


@contextmanager
def _broken(file: Path, one: Break) -> Iterator[None]:
    whole = file.read_text(encoding="utf-8")
    file.write_text(one.applied_to(whole), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(whole, encoding="utf-8")
