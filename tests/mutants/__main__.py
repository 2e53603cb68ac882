"""Run the deliberate breaks: ``python -m tests.mutants [WORD …]``. Words select by subject or name."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from tests.mutants.breaks import Break, NotAppliedError, all_breaks, run_break, run_unbroken
from tests.mutants.checkout import Outcome, copied_checkout


def main() -> int:
    """Run the selected breaks. Return 0 if a test failed for each, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="run only breaks with one of these words in subject or name")
    parser.add_argument("--list", action="store_true", help="list the breaks and run nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object a break")
    parser.add_argument("--no-control", action="store_true", help="do not run the tests unbroken first")
    options = parser.parse_args()
    selected = [one for one in all_breaks() if _matches(one, options.words)]
    if not selected:
        parser.error("no break matches")
    if options.list:
        for one in selected:
            print(f"{one.subject}: {one.name}{f' (pending: {one.pending})' if one.pending else ''}")
        return 0
    return _run(selected, as_json=options.json, with_control=not options.no_control)


def _matches(one: Break, words: list[str]) -> bool:
    return not words or any(word in f"{one.subject}: {one.name}" for word in words)


def _run(selected: list[Break], *, as_json: bool, with_control: bool) -> int:
    survived = 0
    with copied_checkout() as checkout:
        if with_control:
            control = run_unbroken(checkout, [one for one in selected if not one.pending])
            if control.verdict != "passed":
                print(f"the tests do not pass unbroken: {control.verdict} {control.detail}", file=sys.stderr)
                return 1
        for number, one in enumerate(selected, 1):
            try:
                outcome = run_break(checkout, one)
            except NotAppliedError as error:
                outcome = Outcome("not applied", str(error))
            survived += outcome.verdict != "failed" and not one.pending
            if as_json:
                print(json.dumps({**asdict(one), **asdict(outcome)}), flush=True)
            else:
                verdict = {"failed": "noticed", "passed": "NOT NOTICED"}.get(outcome.verdict, outcome.verdict)
                print(f"{number}/{len(selected)} {verdict}: {one.subject}: {one.name}  {outcome.detail}", flush=True)
    print(
        f"{len(selected) - survived} of {len(selected)} breaks were noticed or are listed as pending", file=sys.stderr
    )
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
