"""What runs found, in ``.mutants`` of the checkout, so that an interrupted run can be resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict

from tests.conftest import ROOT
from tests.mutants.checkout import Outcome

FOLDER = ROOT / ".mutants"
_VERDICTS = {"failed": "noticed", "passed": "NOT NOTICED"}


class Record:
    """The outcomes of one kind of change, by a label that is unique.

    Args:
        kind: ``breaks`` or ``generated``; the name of the file.
        total: How many changes there are, for the progress.
        resume: Skip what was noticed before. Otherwise the file starts empty.
    """

    def __init__(self, kind: str, total: int, *, resume: bool) -> None:
        FOLDER.mkdir(exist_ok=True)
        self._path = FOLDER / f"{kind}.jsonl"
        self._known: dict[str, Outcome] = {}
        self._total, self._number, self._ran, self._started = total, 0, 0, time.monotonic()
        if not resume:
            self._path.unlink(missing_ok=True)
        elif self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                label, outcome = json.loads(line)
                self._known[label] = Outcome(**outcome)

    def outcome(self, label: str, run: Callable[[], Outcome]) -> Outcome:
        """Return the outcome of a change, from an earlier run if it was noticed then, and print a line."""
        self._number += 1
        known = self._known.get(label)
        if known is not None and known.verdict == "failed":
            return known
        outcome = run()
        self._ran += 1
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([label, asdict(outcome)]) + "\n")
        verdict = _VERDICTS.get(outcome.verdict, outcome.verdict.upper())
        print(f"{self._number}/{self._total} {verdict} in {outcome.seconds:.0f} s: {label}", flush=True)
        if outcome.verdict != "failed":
            print("    " + (outcome.detail or "all tests pass").replace("\n", "\n    "), flush=True)
        if self._ran % 10 == 0:
            left = (time.monotonic() - self._started) / self._ran * (self._total - self._number)
            print(f"    about {max(1, round(left / 60))} min left", flush=True)
        return outcome
