"""A move of a user that is killed before or after one of its steps.

Run as ``python -m tests.support.dying_move SOURCE TARGET SLUG STEP``, with the settings of both installations as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from neurigraph_pipelines.exchange.portability import move_user
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation

STEPS = (
    "before _lock", "after _lock", "before restore_user", "copying", "after restore_user", "before _erase",
    "after _erase", "before _complete", "before destroy_keys", "before finish_erasures",
    "after finish_erasures",
)  # fmt: skip
"""Every step of a move at which a test kills it; the first after the switch is ``before _complete``."""


_MODULE: Any = move_user


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(step: str) -> Callable[[int], None]:
    """Let a step kill this process, and return what is called with the progress."""
    when, _, name = step.partition(" ")
    if not name:
        seen: list[int] = []

        def progress(_: int) -> None:
            seen.append(1)
            if len(seen) > 3:
                die()

        return progress
    function = getattr(_MODULE, name)

    def around(*arguments: Any, **named: Any) -> Any:
        if when == "before":
            die()
        function(*arguments, **named)
        die()

    setattr(_MODULE, name, around)
    return lambda _: None


def main() -> None:
    source, target, slug, step = sys.argv[1:]
    with (
        Installation(Settings.model_validate(json.loads(source))) as here,
        Installation(Settings.model_validate(json.loads(target))) as there,
    ):
        move_user.move_user(here.context, there.context, slug, on_bytes=killed(step))
    raise SystemExit(f"{step} was never reached")


if __name__ == "__main__":
    main()
