"""``python -m training``: read all talks, say what is wrong with a file, and count what they hold."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from training.talks import PUBLIC, TALKS, Talk, TalkError, read_public, read_talks


def main() -> None:
    """Read the talks and print a table of them."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("--talks", type=Path, default=TALKS, help=f"folder of talks, one file each; default: {TALKS}")
    parser.add_argument("--public", type=Path, default=PUBLIC, help=f"folder of public sets; default: {PUBLIC}")
    chosen = parser.parse_args()
    try:
        print(counts([*read_public(chosen.public), *read_talks(chosen.talks)]))
    except TalkError as error:
        sys.exit(str(error))


def counts(talks: Sequence[Talk]) -> str:
    """Return a Markdown table of talks, their messages, questions and remarks by source and language."""
    rows = ["| source | language | talks | messages | questions | with evidence | remarks |", f"|{' --- |' * 7}"]
    for source, language in sorted({(talk.source, talk.language) for talk in talks}):
        some = [talk for talk in talks if (talk.source, talk.language) == (source, language)]
        asked = [one for talk in some for one in talk.asked]
        questions = [one for one in asked if not one.is_remark]
        answered = sum(bool(one.evidence) for one in questions)
        messages = sum(len(talk.messages) for talk in some)
        rows.append(
            f"| {source} | {language} | {len(some)} | {messages:,} | {len(questions):,} | {answered:,} | "
            f"{len(asked) - len(questions):,} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    main()
