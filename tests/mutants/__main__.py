"""Run mutants: ``python -m tests.mutants breaks [WORD …]`` or ``python -m tests.mutants generated [WORD …]``.

Interrupt it at any time: ``--resume`` goes on, and runs again what was not noticed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.mutants.breaks import Break, NotAppliedError, all_breaks, run_break
from tests.mutants.checkout import Checkout, Outcome, copied_checkout
from tests.mutants.generated import Module, Score, modules, run_module, sampled
from tests.mutants.record import Record

GOAL = 0.9
"""Least share of generated mutants that must be killed."""
_CONTROL_SECONDS = 1_800.0


def main() -> int:
    """Run what the arguments select. Return 0 if the tests noticed enough, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    breaks = kinds.add_parser("breaks", help="run the deliberate breaks")
    breaks.add_argument("words", nargs="*", help="only breaks with one of these words in subject or name")
    breaks.add_argument("--list", action="store_true", help="list them and run nothing")
    breaks.add_argument("--no-control", action="store_true", help="do not run the tests unbroken first")
    generated = kinds.add_parser("generated", help="run mutants that cosmic-ray generates")
    generated.add_argument("words", nargs="*", help="only modules with one of these words in their path")
    generated.add_argument("--sample", type=int, help="most mutants of a module; default: all, which takes hours")
    for kind in (breaks, generated):
        kind.add_argument("--resume", action="store_true", help="skip what the run before noticed")
    options = parser.parse_args()
    if options.kind == "generated":
        return _run_generated(modules(options.words), options.sample, resume=options.resume)
    selected = [one for one in all_breaks() if not options.words or any(word in one.label for word in options.words)]
    if not selected:
        parser.error("no break matches")
    if options.list:
        print("\n".join(one.label for one in selected))
        return 0
    return _run_breaks(selected, resume=options.resume, with_control=not options.no_control)


def _run_breaks(selected: list[Break], *, resume: bool, with_control: bool) -> int:
    tests = sorted({test for one in selected for test in one.tests})
    record = Record("breaks", len(selected), resume=resume)
    verdicts = Counter[str]()
    unnoticed = []
    with copied_checkout() as checkout:
        if with_control and not _passes(checkout, tests, "the tests"):
            return 1
        for one in selected:
            outcome = record.outcome(one.label, lambda one=one: _break(checkout, one))  # type: ignore[misc]
            verdicts[outcome.verdict] += 1
            if outcome.verdict != "failed":
                unnoticed.append(f"{outcome.verdict}: {one.label}")
    print("\n".join([f"{verdicts['failed']} of {len(selected)} breaks noticed", *unnoticed]))
    return 1 if unnoticed else 0


def _break(checkout: Checkout, one: Break) -> Outcome:
    try:
        return run_break(checkout, one)
    except NotAppliedError as error:
        return Outcome("not applied", str(error))


def _run_generated(selected: list[Module], sample: int | None, *, resume: bool) -> int:
    mutants = {module: sampled(module, sample) for module in selected}
    total = sum(len(chosen) for chosen, _ in mutants.values())
    print(f"{total} of {sum(count for _, count in mutants.values())} mutants of {len(selected)} modules", flush=True)
    record = Record("generated", total, resume=resume)
    scores = []
    with copied_checkout() as checkout:
        for module, (chosen, count) in mutants.items():
            control = _passes(checkout, module.tests, module.path)
            if control is None:
                return 1
            score = run_module(checkout, module, chosen, count, control.seconds, record)
            scores.append(score)
            if score.is_doubtful and _passes(checkout, module.tests, f"{module.path}, again") is None:
                return 1
    _print_scores(scores)
    return 0 if all(score.share >= GOAL for score in scores) else 1


def _passes(checkout: Checkout, tests: list[str] | tuple[str, ...], subject: str) -> Outcome | None:
    """Run tests without a change: a test that always fails shows nothing."""
    control = checkout.run(tests, _CONTROL_SECONDS)
    print(f"unchanged, {subject}: {control.verdict} in {control.seconds:.0f} s {control.detail}", flush=True)
    return control if control.verdict == "passed" else None


def _print_scores(scores: list[Score]) -> None:
    for score in scores:
        print(
            f"{score.path}: {score.share:.0%} of {score.killed + len(score.survivors)} killed ({score.slow} by time, "
            f"{score.accepted} accepted, {score.generated} generated)"
        )
    survivors = [label for score in scores for label in score.survivors]
    killed = sum(score.killed for score in scores)
    print(f"all: {killed / max(1, killed + len(survivors)):.1%} of {killed + len(survivors)} killed; survivors:")
    print("\n".join(survivors) or "none")


if __name__ == "__main__":
    sys.exit(main())
