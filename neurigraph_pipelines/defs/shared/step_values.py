"""The values that steps of the ingestion job hand on: in memory within a run, read from the database in another run.

Dagster stores none of it, because it holds words. A run that is executed again from its failed step finds what the
steps before made in ``ingestion.step_results``, and makes vectors again.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import dagster as dg
from psycopg import Error

from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.views.scalars import ValuesByName

KEY = "step_values"


def batch_in(run_config: object) -> str | None:
    """Return the id of the batch that a configuration names, if it is one of ingestion."""
    for name in ("ops", "memories", "ops", "assign_nodes", "config", "batch_id"):
        run_config = run_config.get(name) if isinstance(run_config, dict) else None
    return str(run_config) if run_config else None


def batch_of(run: dg.DagsterRun) -> UUID:
    """Return the batch of a run: that of its configuration, or one of its own, which the runs that repeat it share."""
    return UUID(batch_in(run.run_config) or run.root_run_id or run.run_id)


class StepValues(dg.IOManager):
    """Keeps the values of one run in memory, and those that another run could need in the database."""

    def __init__(self) -> None:
        self._values: ValuesByName = {}

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Keep the value of a step. If the database does not take it, the run goes on without."""
        from neurigraph_pipelines.ingestion import step_results

        step = _op(context.step_key)
        self._values[step] = obj
        database = context.resources.installation.opened.database
        try:
            if step == "assign_nodes":
                step_results.keep_assigned(database, obj)
            elif step == "summarize":
                step_results.keep_summarized(database, self._values["assign_nodes"], obj)
            elif step == "extract_keywords":
                step_results.keep_described(database, self._values["assign_nodes"], obj)
        except Error as error:
            context.log.warning("the result of %s is not kept (%s)", step, type(error).__name__)

    def load_input(self, context: dg.InputContext) -> Any:
        """Return the value of a step, made in this run or in the one that this run continues."""
        assert context.upstream_output is not None
        batch_id = batch_of(context.step_context.dagster_run)
        return self._find(context.resources.installation.context, _op(context.upstream_output.step_key), batch_id)

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


def _op(step_key: str) -> str:
    """Return the name of a step's op, without that of the graph around it."""
    return step_key.rpartition(".")[2]


@dg.io_manager(required_resource_keys={"installation"})
def step_values(_: dg.InitResourceContext) -> StepValues:
    """Return the values of one run."""
    return StepValues()
