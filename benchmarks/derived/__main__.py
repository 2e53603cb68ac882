"""``python -m benchmarks.derived``: scores, sentences and mistakes of one half, for reading. Writes no page."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.bench import Bench, SkippedError, forget_own_settings
from benchmarks.derived.labels import FOLDER, HALVES, LabelError, load
from benchmarks.derived.measure import score_table, title_table
from benchmarks.derived.observe import Observer
from benchmarks.derived.scoring import leans, mistakes, sentences_of


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.derived", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="beginnings of ids, such as 07; default: the whole half")
    parser.add_argument("--half", choices=HALVES, default=HALVES[0], help="default: %(default)s")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="default: samples/labelled")
    parser.add_argument("--sentences", action="store_true", help="print every sentence of every summary")
    parser.add_argument("--mistakes", action="store_true", help="print what is wrong and what is missed")
    chosen = parser.parse_args()
    if chosen.mistakes and chosen.half != HALVES[0]:
        parser.error("mistakes of the held-out half are not shown: who reads them fits rules to them")
    try:
        given = [one for one in load(chosen.folder) if one.half == chosen.half]
    except (LabelError, SkippedError) as error:
        parser.error(str(error))
    given = [one for one in given if not chosen.ids or one.id.startswith(tuple(chosen.ids))]
    with Bench(quick=False, own=forget_own_settings()) as bench:
        results = list(Observer(bench).observe(given))
    for labelled, derived in results:
        print(f"\n## {labelled.id}: {' | '.join(derived.titles)}")
        for summary in derived.summaries if chosen.sentences else ():
            for sentence in sentences_of(summary, labelled.language):
                print(f"{'!' if leans(sentence, labelled.language) else ' '} {sentence}")
        for mistake in mistakes(labelled, derived) if chosen.mistakes else ():
            print(f"- {mistake}")
    print(f"\n{score_table(results)}\n\n{title_table(results)}")


if __name__ == "__main__":
    main()
