"""Another model, which files at other nodes, and a run of filing again that is killed within its second move.

Run as ``python -m tests.support.dying_refile USER_ID``, with the settings of the installation in the environment.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from neurigraph_pipelines.ingestion import filing_again
from neurigraph_pipelines.model import NodeProposal, Outline, Placement, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import PlainModel, plain_context

_MODULE: Any = filing_again


class OtherModel(PlainModel):
    """A model that calls Hobbies by another name, and files messages with TAX at Finance."""

    name = "other"

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        heard = tuple(
            replace(one, content=f"#Finance {one.content}") if "TAX" in one.content else one for one in segment.messages
        )
        placed = super().place(replace(segment, messages=heard), outline)
        return [replace(one, steps=tuple(map(_renamed, one.steps))) for one in placed]


def _renamed(step: NodeProposal) -> NodeProposal:
    return replace(step, name=step.name.replace("Hobbies", "Pastimes"))


def other_context(installation: Installation) -> Context:
    """Return the plain context with the other model."""
    return plain_context(installation).using(language_model=OtherModel())


def tomorrow() -> datetime:
    """Return the end of a period that all records are in."""
    return datetime.now(UTC) + timedelta(days=1)


def main() -> None:
    (user_id,) = sys.argv[1:]
    seen: list[object] = []
    original = _MODULE.append_delta

    def dying(*arguments: Any, **named: Any) -> Any:
        seen.append(arguments)
        if len(seen) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **named)

    _MODULE.append_delta = dying
    with Installation(Settings()) as here:
        filing_again.file_again(other_context(here), None, tomorrow(), UUID(user_id))
    raise SystemExit("the second move was never reached")


if __name__ == "__main__":
    main()
