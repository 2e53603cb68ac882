"""A process that heals or embeds again, for tests to kill: ``python -m tests.support.embedding_process TASK [MODEL]``.

The installation is the one that the environment describes; with a model named, ``NamedEmbedder`` embeds.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

from neurigraph_pipelines.ingestion.healing import heal_pending
from neurigraph_pipelines.ingestion.reembed import reembed
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.vectors import NamedEmbedder, with_embedder


def main() -> None:
    task, *model = sys.argv[1:]
    with Installation() as installation:
        context = with_embedder(installation, NamedEmbedder(model[0])) if model else installation.context
        if task == "heal":
            heal_pending(context)
        else:
            reembed(context, None, datetime.now(UTC) + timedelta(days=1))


if __name__ == "__main__":
    main()
