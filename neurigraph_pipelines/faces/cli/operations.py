"""Commands of operations: Typer gets each operation's arguments, options and help from its declaration."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

import typer
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.resolving import resolved
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, moment, opened
from neurigraph_pipelines.faces.cli.shown import shown
from neurigraph_pipelines.faces.operations.call import KINDS, Call
from neurigraph_pipelines.faces.operations.registry import Operation, Subject
from neurigraph_pipelines.model.errors import InvalidInputError

_EMPTY = inspect.Parameter.empty
_PLAIN = (bool, int, float, str)


@dataclass(frozen=True)
class _Taken:
    """A value that a command takes: a parameter of an operation, or a field of its form.

    Attributes:
        name: Its name in the operation.
        annotation: Its type in the operation.
        about: Its description and its limits.
        default: Its default; ``inspect.Parameter.empty`` if it must be given.
        option: The name of its option; None for an argument.
    """

    name: str
    annotation: Any
    about: FieldInfo
    default: Any
    option: str | None

    @property
    def is_nullable(self) -> bool:
        """Whether it may be None."""
        return NoneType in get_args(self.annotation)

    @property
    def kind(self) -> Any:
        """Its type, without None."""
        if get_origin(self.annotation) not in (Union, UnionType):
            return self.annotation
        kinds = [one for one in get_args(self.annotation) if one is not NoneType]
        return kinds[0] if len(kinds) == 1 else self.annotation

    @property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return get_origin(self.kind) is list

    @property
    def item(self) -> Any:
        """The type of one value."""
        return get_args(self.kind)[0] if self.is_list else self.kind

    @property
    def thing(self) -> str | None:
        """The kind of thing that its ids name; None if it holds no ids."""
        name = self.name.removesuffix("s") if self.is_list else self.name
        return KINDS.get(name, name.removesuffix("_id")) if self.item is UUID else None

    @property
    def metavar(self) -> str:
        """The word that stands for its value."""
        name = self.name.removesuffix("s") if self.is_list else self.name
        return name.removesuffix("_id").upper()

    @property
    def label(self) -> str:
        """How messages call it."""
        return self.option or self.metavar

    @property
    def is_plain(self) -> bool:
        """Whether Typer reads its values itself."""
        is_choice = get_origin(self.item) is Literal or (isinstance(self.item, type) and issubclass(self.item, Enum))
        return self.item in _PLAIN or is_choice

    def parameter(self) -> inspect.Parameter:
        """Return the parameter as Typer reads it."""
        kind = self.item if self.is_plain else str
        taken = list[kind] if self.is_list else kind  # type: ignore[valid-type]
        about = self.about.description or ""
        if self.option is None:
            return _parameter(self.name, Annotated[taken, typer.Argument(metavar=self.metavar, help=about)])
        if self.kind is bool and isinstance(self.default, bool):
            names = f"{self.option}/--no-{self.option[2:]}" if self.default else self.option
            return _parameter(self.name, Annotated[bool, typer.Option(names, help=about)], self.default)
        metavar = self.metavar if kind is str else None
        if isinstance(self.default, int | float | Enum) and not self.is_list:
            info = typer.Option(self.option, help=about, metavar=metavar)
            return _parameter(self.name, Annotated[taken, info], self.default)
        info = typer.Option(self.option, help=about, metavar=metavar, show_default=False)
        return _parameter(self.name, Annotated[taken | None, info], None)

    def read(self, call: Call, value: Any, named: Mapping[str, object]) -> Any:
        """Return a value of the command line as the operation takes it.

        Raises:
            InvalidInputError: It is not valid.
            NotFoundError: It names nothing that the caller sees.
        """
        if self.is_list:
            return [self._item(call, one, named) for one in value]
        return None if value == "" and self.is_nullable else self._item(call, value, named)

    def _item(self, call: Call, value: Any, named: Mapping[str, object]) -> Any:
        if not isinstance(value, str) or isinstance(value, Enum):
            return value
        if self.thing is not None:
            return resolved(call, self.thing, value, named)
        if self.item is datetime:
            return moment(self.label, value)
        text = argument(value)
        if self.is_plain:
            return text
        try:
            return json.loads(text)
        except ValueError:
            raise InvalidInputError(f"{self.label} is not JSON: {text[:80]!r}") from None


def add_commands(group: typer.Typer, subject: Subject, words: str) -> None:
    """Add the commands of a subject that begin with the words of a group to the group."""
    for one in subject.operations:
        before, _, last = (one.command or "").rpartition(" ")
        if one.command is not None and before == words:
            group.command(last)(_function(one))


def _function(operation: Operation) -> Callable[..., None]:
    """Return the function of an operation's command, with the parameters that Typer reads."""
    takes = list(_taken(operation))

    def run(user: str, as_json: bool, **values: Any) -> None:
        with opened() as installation:
            caller = claims_of(installation, user)
            operation.who.require(installation.database, caller)
            result = _answer(operation, takes, Call(installation, caller, "cli"), values)
        Output(as_json).result(result, lambda: shown(result, operation.says))

    parameters = [one.parameter() for one in takes]
    parameters += [_parameter("user", UserSlug), _parameter("as_json", Json, False)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__doc__ = operation.about
    return run


def _taken(operation: Operation) -> Iterator[_Taken]:
    """Yield the values that a command takes: the ids of the path, what must be given, and the rest as options."""
    found = []
    for one in operation.parameters:
        option = None if operation.is_in_path(one) else _option(operation, one.name)
        found.append(_Taken(one.argument, one.kind, one.about, one.default, option))
    if operation.form is not None:
        for name, about in operation.form[1].model_fields.items():
            default = _EMPTY if about.is_required() else about.get_default(call_default_factory=True)
            option = None if about.is_required() else _option(operation, name)
            found.append(_Taken(name, about.annotation, about, default, option))
    yield from sorted(found, key=lambda one: (one.option is not None, one.is_list))


def _option(operation: Operation, name: str) -> str:
    return operation.options.get(name, f"--{name.removesuffix('_id').replace('_', '-')}")


def _answer(operation: Operation, takes: Sequence[_Taken], call: Call, values: Mapping[str, Any]) -> Any:
    """Read the values of a command, and return the result of its operation.

    Raises:
        InvalidInputError: A value is not valid.
        NeurigraphError: The operation refuses.
    """
    given: dict[str, Any] = {}
    for one in takes:
        value = values[one.name]
        if one.option is None or not (value is None or value == [] or value == one.default):
            given[one.name] = one.read(call, value, given)
    call.look(**{name: value for name, value in given.items() if name in KINDS})
    taken = {}
    labels = {one.name: one.label for one in takes}
    for parameter in operation.parameters:
        name = parameter.argument
        if name in given:
            adapter: TypeAdapter[Any] = TypeAdapter(Annotated[parameter.kind, parameter.about])
            taken[name] = _checked(adapter.validate_python, given.pop(name), {"": labels[name]})
    if operation.form is not None:
        name, form, is_optional = operation.form
        if given or not is_optional:
            taken[name] = _checked(form.model_validate, given, labels)
    return operation.function(call, **taken)


def _checked(validate: Callable[[Any], Any], value: Any, labels: Mapping[str, str]) -> Any:
    """Return a value that pydantic has checked.

    Raises:
        InvalidInputError: It is not valid; the message names its option.
    """
    try:
        return validate(value)
    except ValidationError as error:
        told = []
        for one in error.errors(include_url=False, include_input=False, include_context=False):
            name = str(one["loc"][0]) if one["loc"] else ""
            label = labels.get(name, "")
            told.append(f"{label}: {one['msg']}" if label else one["msg"].removeprefix("Value error, "))
        raise InvalidInputError("; ".join(told)) from None


def _parameter(name: str, annotation: Any, default: Any = _EMPTY) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
