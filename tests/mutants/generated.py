"""Mutants that cosmic-ray generates, of the modules in ``modules.toml``. ``accepted.toml`` has survivors."""

from __future__ import annotations

import ast
import difflib
import random
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests.conftest import ROOT
from tests.mutants.checkout import Checkout, Outcome
from tests.mutants.record import Record

FOLDER = Path(__file__).parent

_SEED = 2_026
_ANY = "*"
_LEAST_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Module:
    """A module, and the tests that must notice its mutants."""

    path: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutation: the changed lines before and after, and the whole text."""

    path: str
    line: int
    old: str
    new: str
    text: str

    @property
    def label(self) -> str:
        """The mutant in one line."""
        return f"{self.path}:{self.line}: {self.old}  ->  {self.new}"


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where one of cosmic-ray's operators changes a text."""

    position: tuple[int, int]
    operator: str
    occurrence: int


@dataclass(slots=True)
class Score:
    """The result of one module.

    Attributes:
        generated: All mutants, those in annotations not counted.
        killed: Mutants with which a test failed, nothing could be imported, or the tests took too long.
        slow: How many of the killed took too long.
        accepted: Survivors that are listed as accepted.
        is_doubtful: A fixture failed with the last mutants, which may be for another reason.
    """

    path: str
    generated: int
    killed: int = 0
    slow: int = 0
    accepted: int = 0
    survivors: list[str] = field(default_factory=list)
    is_doubtful: bool = False

    @property
    def share(self) -> float:
        """The share of mutants that were killed, of those that should be."""
        return self.killed / max(1, self.killed + len(self.survivors))


def modules(words: Sequence[str]) -> list[Module]:
    """Return the modules whose path has one of the words; all without words."""
    listed = tomllib.loads((FOLDER / "modules.toml").read_text(encoding="utf-8"))["module"]
    return [
        Module(entry["path"], tuple(entry["tests"]))
        for entry in listed
        if not words or any(word in entry["path"] for word in words)
    ]


def sampled(module: Module, sample: int | None) -> tuple[list[Mutant], int]:
    """Return the mutants of a module, or a random sample, the same in each run; and how many there are.

    A sample has one mutant of each place in the text before it has two of one: an operator has a dozen.
    """
    text = (ROOT / module.path).read_text(encoding="utf-8")
    places = list(_places(text))
    if sample is None:
        chosen = places
    else:
        order = random.Random(_SEED).sample(places, len(places))
        turns = Counter[tuple[int, int]]()
        ranked: list[tuple[int, int, _Place]] = []
        for place in order:
            ranked.append((turns[place.position], len(ranked), place))
            turns[place.position] += 1
        chosen = [place for _, _, place in sorted(ranked)[:sample]]
    mutants = [_mutant(module.path, text, place) for place in sorted(chosen)]
    return [mutant for mutant in mutants if mutant is not None], len(places)


def run_module(
    checkout: Checkout, module: Module, mutants: Sequence[Mutant], generated: int, seconds: float, record: Record
) -> Score:
    """Run the tests of a module against mutants of it.

    Args:
        seconds: How long the tests take without a mutant.
    """
    score, accepted = Score(module.path, generated), list(_accepted(module.path))
    file = checkout.folder / module.path
    whole = file.read_text(encoding="utf-8")
    for mutant in mutants:
        if any(mutant.old == old and new in (mutant.new, _ANY) for old, new in accepted):
            score.accepted += 1
            record.outcome(mutant.label, lambda: Outcome("accepted"))
            continue

        def run(text: str = mutant.text) -> Outcome:
            file.write_text(text, encoding="utf-8")
            try:
                return checkout.run(module.tests, max(_LEAST_SECONDS, 5 * seconds))
            finally:
                file.write_text(whole, encoding="utf-8")

        outcome = record.outcome(mutant.label, run)
        score.is_doubtful = outcome.verdict == "error" or (score.is_doubtful and outcome.verdict != "passed")
        score.slow += outcome.verdict == "timed out"
        if outcome.verdict == "passed":
            score.survivors.append(mutant.label)
        else:
            score.killed += 1
    return score


def _places(text: str) -> Iterator[_Place]:
    """Yield all mutations, but for those of annotations, which are never evaluated."""
    tree, annotations = get_ast(text), _annotations(text)
    for name in sorted(operator_names()):
        operator_class = get_operator(name)
        if operator_class.arguments():
            continue  # operators that exchange variables need their names
        operator = operator_class()
        starts = (tuple(start) for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
        yield from (_Place(start, name, number) for number, start in enumerate(starts) if start not in annotations)


def _mutant(path: str, text: str, place: _Place) -> Mutant | None:
    """Return a mutant; None if it is no Python, such as another sign than the star before keywords."""
    try:
        mutated = mutate_code(text, get_operator(place.operator)(), place.occurrence)
        ast.parse(mutated or "")
    except (SyntaxError, AttributeError):  # the latter for `except module.Name`, which cosmic-ray does not know
        return None
    before, after = text.splitlines(), (mutated or "").splitlines()
    changes = [change for change in difflib.SequenceMatcher(None, before, after).get_opcodes() if change[0] != "equal"]
    old = " ".join(line.strip() for _, start, end, _, _ in changes for line in before[start:end])
    new = " ".join(line.strip() for _, _, _, start, end in changes for line in after[start:end])
    return Mutant(path, changes[0][1] + 1, old, new, mutated or "")


def _annotations(text: str) -> set[tuple[int, int]]:
    """Return the positions of all parts of annotations: line and column."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            found.append(node.returns)
    return {
        (line, column)
        for annotation in found
        for line in range(annotation.lineno, (annotation.end_lineno or annotation.lineno) + 1)
        for column in range(0 if line > annotation.lineno else annotation.col_offset, _end(annotation, line))
    }


def _end(annotation: ast.expr, line: int) -> int:
    return (annotation.end_col_offset or 0) if line == annotation.end_lineno else 200


def _accepted(path: str) -> Iterator[tuple[str, str]]:
    listed = tomllib.loads((FOLDER / "accepted.toml").read_text(encoding="utf-8")).get("accepted", [])
    return ((entry["old"], entry["new"]) for entry in listed if entry["module"] == path)
