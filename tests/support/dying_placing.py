"""A move of a user within a directory that is killed before or after one of its steps.

Run as ``python -m tests.support.dying_placing SETTINGS SLUG TARGET STEP``, with the settings of the first installation
as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.directory import Directory
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.dying_move import die, killed

STEPS = (
    "before begin_move", "after begin_move", "after _lock", "before _erase", "before _complete", "before destroy_keys",
    "before settle_move", "after settle_move",
)  # fmt: skip
"""Every step of the directory at which a test kills a move, and the steps of the move between them."""

BETWEEN = ("before _complete",)
"""Steps at which neither database has the user."""


def kill_at(step: str) -> None:
    when, _, name = step.partition(" ")
    if not hasattr(Directory, name):
        killed(step)
        return
    function = getattr(Directory, name)

    def around(*arguments: Any) -> None:
        if when == "after":
            function(*arguments)
        die()

    setattr(Directory, name, around)


def main() -> None:
    settings, slug, target, step = sys.argv[1:]
    with Installation(Settings.model_validate(json.loads(settings))) as here:
        kill_at(step)
        here.databases.move(slug, target, on_bytes=lambda _: None)
    raise SystemExit(f"{step} was never reached")


if __name__ == "__main__":
    main()
