"""What the steps of the ingestion job hand on: in memory within a run, and read again from the database in another run.

Dagster stores none of it, because it holds words. A run that is executed again from its failed step finds what the
steps before made in ``ingestion.step_results``, and makes vectors again.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import dagster as dg
from psycopg import Error

from neurigraph_pipelines.model.context import Context

KEY = "step_values"


class StepValues(dg.IOManager):
    """Keeps the values of one run in memory, and those that another run could need in the database."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Keep what a step made. If the database does not take it, the run goes on without."""
        from neurigraph_pipelines.ingestion import step_results

        self._values[context.step_key] = obj
        database = context.resources.installation.opened.database
        try:
            if context.step_key == "assign_nodes":
                step_results.keep_assigned(database, obj)
            elif context.step_key == "summarize":
                step_results.keep_summarized(database, self._values["assign_nodes"], obj)
            elif context.step_key == "extract_keywords":
                step_results.keep_described(database, self._values["assign_nodes"], obj)
        except Error as error:
            context.log.warning("the result of %s is not kept (%s)", context.step_key, type(error).__name__)

    def load_input(self, context: dg.InputContext) -> Any:
        """Return what a step handed on, in this run or in the one that this run continues."""
        assert context.upstream_output is not None
        config: Any = context.step_context.dagster_run.run_config
        batch_id = UUID(config["ops"]["assign_nodes"]["config"]["batch_id"])
        return self._find(context.resources.installation.context, context.upstream_output.step_key, batch_id)

    def _find(self, used: Context, step: str, batch_id: UUID) -> Any:
        from neurigraph_pipelines.ingestion import batch, step_results

        if step not in self._values:
            if step == "assign_nodes":
                found: Any = step_results.find_assigned(used.database, batch_id)
            else:
                assigned = self._find(used, "assign_nodes", batch_id)
                if step == "summarize":
                    found = step_results.find_summarized(used.database, assigned)
                elif step == "extract_keywords":
                    found = step_results.find_described(used.database, assigned)
                else:
                    found = batch.embed(used, assigned, self._find(used, "summarize", batch_id))
            self._values[step] = found
        return self._values[step]


@dg.io_manager(required_resource_keys={"installation"})
def step_values(_: dg.InitResourceContext) -> StepValues:
    """Return the values of one run."""
    return StepValues()
