"""Commands of operations: Typer gets each operation's arguments, options and help from its declaration."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from neurigraph_pipelines.access.guards import FREE, Guard, Unchanged
from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.faces.cli.output import with_json, with_parameters
from neurigraph_pipelines.faces.cli.result_layouts import quoted, shown
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, opened, option
from neurigraph_pipelines.faces.cli.taken import Taken, checked, parameter_of, read_values, values_of
from neurigraph_pipelines.faces.operations.call import OPERATOR, Call, Who
from neurigraph_pipelines.faces.operations.registry import Operation, OperationGroup
from neurigraph_pipelines.faces.operations.sight import KINDS
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.views.scalars import ValuesByName

_VERSION = "Change it only if this is its newest version, such as the newest delta of a memory."
Expected = Annotated[str | None, option(_VERSION, metavar="VERSION")]
Confirmed = Annotated[bool, option("Do not ask for confirmation.", "--yes")]
Spaces = Annotated[list[str] | None, option("Only what is in one of these spaces.", "--space", metavar="TAG")]


def add_commands(group: typer.Typer, subject: OperationGroup, words: str) -> None:
    """Add the commands of a subject that begin with the words of a group to the group."""
    for one in subject.operations:
        commands: dict[str, ValuesByName] = {**({one.command: {}} if one.command else {}), **one.presets}
        for command, preset in commands.items():
            before, _, last = command.rpartition(" ")
            if before == words:
                group.command(last)(_function(one, preset, one.sentences.get(command, one.about)))


def _function(operation: Operation, preset: ValuesByName, about: str) -> Callable[..., None]:
    """Return the function of an operation's command, with the parameters that Typer reads."""
    takes = [one for one in values_of(operation) if one.name not in preset]

    def run(user: str = "", **values: Any) -> None:
        with opened() as installation:
            caller = OPERATOR if operation.who is Who.OPERATOR else claims_of(installation, user)
            operation.who.require(installation.database, caller)
            spaces = values.get("container_tags") if operation.in_spaces else ()
            call = Call(installation, caller, "cli").within([argument(one) for one in spaces or ()])
            with _named(takes, values):
                given = dict(preset) | read_values(takes, call, values)
                call.look(**{one.name: given.get(one.argument) for one in operation.parameters if one.name in KINDS})
                call = replace(call, once=_guard(operation, given, values.get("expected")))
                if operation.destroys and not given.get("dry_run") and not values["yes"]:
                    confirm(_answer(operation, takes, call, given | {"dry_run": True}))
                result = _answer(operation, takes, call, given)
            quotes = {} if output.is_json() else quoted(call, given, result)
        data = result.model_dump(exclude_unset=True) if operation.is_sparse else result
        output.result(data, lambda: shown(result, operation.says, user, quotes))

    parameters = [one.parameter() for one in takes]
    parameters += [parameter_of("container_tags", Spaces, None)] if operation.in_spaces else []
    parameters += [parameter_of("expected", Expected, None)] if operation.guarded is not None else []
    parameters += [parameter_of("yes", Confirmed, False)] if operation.destroys else []
    parameters += [parameter_of("user", UserSlug)] if operation.who is not Who.OPERATOR else []
    run.__doc__ = about
    return with_json(with_parameters(run, parameters))


def _guard(operation: Operation, given: ValuesByName, expected: str | None) -> Guard:
    """Return the guard that lets a change pass only if its object has the expected version."""
    if operation.guarded is None or expected is None:
        return FREE
    kind: Any = KINDS[operation.guarded]
    return Unchanged(kind, given[operation.guarded], [expected.replace("-", "")])


@contextmanager
def _named(takes: Sequence[Taken], values: ValuesByName) -> Iterator[None]:
    """Name the things that a command named, if one of them is not found and the message names none."""
    try:
        yield
    except NotFoundError as error:
        if str(error) != str(NotFoundError()):
            raise
        named = [
            f"{one.thing} {argument(values[one.name])}"
            for one in takes
            if one.thing and isinstance(values[one.name], str)
        ]
        raise NotFoundError(f"there is no {' or '.join(named)}".replace("_", " ")) from None


def confirm(preview: object) -> None:
    """Show the things that would be destroyed, and ask.

    Raises:
        InvalidInputError: Nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise InvalidInputError("this cannot be undone: repeat it with --yes, or see what it does with --dry-run")
    output.draw(shown(preview, ""))
    typer.confirm("Do this for good?", abort=True, err=True)


def _answer(operation: Operation, takes: Sequence[Taken], call: Call, values: ValuesByName) -> Any:
    """Return the result of an operation with the values of its command.

    Raises:
        InvalidInputError: A value is not valid.
        NeurigraphError: The operation refuses.
    """
    given = dict(values)
    labels = {one.name: one.label for one in takes}
    taken = {}
    for one in operation.parameters:
        if one.argument in given:
            limits = one.about.metadata
            kind: Any = Annotated[one.kind, *limits] if limits else one.kind
            adapter: TypeAdapter[Any] = TypeAdapter(kind)
            value = given.pop(one.argument)
            taken[one.argument] = checked(adapter.validate_python, value, {"": labels[one.argument]})
    if operation.form is not None:
        name, form, is_optional = operation.form
        if given or not is_optional:
            taken[name] = checked(form.model_validate, given, labels)
    return operation.run(call, **taken)
