"""Configuration of runs: schemas without references to the environment, and errors that do not repeat values.

Dagster's own conversion of ``dg.Config`` lets any text, number or switch be ``{"env": NAME}``: a caller who may launch
a run could read the environment of its process. ``schema_of`` uses the plain types instead.
"""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

import dagster as dg
from pydantic import ConfigDict, ValidationError

from neurigraph_pipelines.graph.provisioning import find_user
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database

_PLAIN: dict[Any, Any] = {str: dg.String, int: dg.Int, bool: dg.Bool, list[str]: dg.Array(dg.String)}


class JobConfig(dg.Config):
    """Base of the configuration of ops and assets. Pass ``schema_of`` to the decorator and call ``config_of``."""

    model_config = ConfigDict(hide_input_in_errors=True)


C = TypeVar("C", bound=JobConfig)


def schema_of(model: type[JobConfig]) -> dict[str, dg.Field]:
    """Return the schema of a configuration, in which every value stands for itself."""
    fields = {}
    for name, field in model.model_fields.items():
        options = {} if field.is_required() else {"default_value": field.get_default(call_default_factory=True)}
        fields[name] = dg.Field(_PLAIN[field.annotation], description=field.description, **options)
    return fields


def config_of(
    context: dg.OpExecutionContext | dg.AssetExecutionContext | dg.AssetCheckExecutionContext, model: type[C]
) -> C:
    """Return the configuration of a run.

    Raises:
        dagster.Failure: A value is out of bounds. It names the field and not the value.
    """
    op = context if isinstance(context, dg.OpExecutionContext) else context.op_execution_context
    try:
        return model(**op.op_config)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors())
        raise dg.Failure(f"the configuration is not valid: {wrong}") from None


def user_id_of(database: Database, slug: str) -> UUID | None:
    """Return the id of the user that a configuration names; None if it names none.

    Raises:
        dagster.Failure: There is no such user. It does not repeat the slug, for a run's log is kept.
    """
    if not slug:
        return None
    try:
        return find_user(database, slug).user_id
    except NotFoundError:
        raise dg.Failure("there is no user with the slug in `user`: `neurigraph user list` lists them") from None
