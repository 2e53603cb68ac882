"""Run mutants: ``python -m tests.mutants breaks [WORD …]`` or ``python -m tests.mutants generated [WORD …]``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from tests.mutants.breaks import Break, NotAppliedError, all_breaks, run_break, run_unbroken
from tests.mutants.checkout import Outcome, copied_checkout
from tests.mutants.generated import modules, run_module

GOAL = 0.9
"""Least share of generated mutants that must be killed."""


def main() -> int:
    """Run what the arguments select. Return 0 if the tests noticed enough, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    breaks = kinds.add_parser("breaks", help="run the deliberate breaks")
    breaks.add_argument("words", nargs="*", help="only breaks with one of these words in subject or name")
    breaks.add_argument("--list", action="store_true", help="list them and run nothing")
    breaks.add_argument("--no-control", action="store_true", help="do not run the tests unbroken first")
    generated = kinds.add_parser("generated", help="run mutants that cosmic-ray generates")
    generated.add_argument("words", nargs="*", help="only modules with one of these words in their path")
    generated.add_argument("--sample", type=int, help="most mutants of a module; default: all, which takes hours")
    for kind in (breaks, generated):
        kind.add_argument("--json", action="store_true", help="print one JSON object a break or module")
    options = parser.parse_args()
    if options.kind == "generated":
        return _run_generated(options.words, options.sample, as_json=options.json)
    selected = [
        one
        for one in all_breaks()
        if not options.words or any(word in f"{one.subject}: {one.name}" for word in options.words)
    ]
    if not selected:
        parser.error("no break matches")
    if options.list:
        for one in selected:
            print(f"{one.subject}: {one.name}{f' (pending: {one.pending})' if one.pending else ''}")
        return 0
    return _run_breaks(selected, as_json=options.json, with_control=not options.no_control)


def _run_breaks(selected: list[Break], *, as_json: bool, with_control: bool) -> int:
    unnoticed = 0
    with copied_checkout() as checkout:
        settled = [one for one in selected if not one.pending]
        if with_control and settled and (control := run_unbroken(checkout, settled)).verdict != "passed":
            print(f"the tests do not pass unbroken: {control.verdict} {control.detail}", file=sys.stderr)
            return 1
        for number, one in enumerate(selected, 1):
            try:
                outcome = run_break(checkout, one)
            except NotAppliedError as error:
                outcome = Outcome("not applied", str(error))
            unnoticed += outcome.verdict != "failed" and not one.pending
            if as_json:
                print(json.dumps({**asdict(one), **asdict(outcome)}), flush=True)
            else:
                verdict = {"failed": "noticed", "passed": "NOT NOTICED"}.get(outcome.verdict, outcome.verdict)
                print(f"{number}/{len(selected)} {verdict}: {one.subject}: {one.name}  {outcome.detail}", flush=True)
    pending = sum(bool(one.pending) for one in selected)
    print(f"{len(selected)} breaks, {unnoticed} not noticed, {pending} pending", file=sys.stderr)
    return 1 if unnoticed else 0


def _run_generated(words: list[str], sample: int | None, *, as_json: bool) -> int:
    enough = True
    with copied_checkout() as checkout:
        for module in modules(words):
            control = checkout.run(module.tests, 1_800)
            if control.verdict != "passed":
                print(f"the tests of {module.path} fail: {control.verdict} {control.detail}", file=sys.stderr)
                return 1
            score = run_module(checkout, module, sample)
            enough = enough and score.share >= GOAL
            if as_json:
                print(json.dumps({**asdict(score), "share": score.share}), flush=True)
                continue
            print(
                f"{score.path}: {score.share:.0%} of {score.killed + len(score.survivors)} killed "
                f"({score.accepted} accepted, {score.generated} generated)",
                flush=True,
            )
            for survivor in score.survivors:
                print(f"  line {survivor.line}: {survivor.old}  ->  {survivor.new}")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
