"""The values that commands take, as arguments and options: each follows from a parameter or a field of a form."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from neurigraph_pipelines.faces.cli.output import with_parameters
from neurigraph_pipelines.faces.cli.resolving import resolved
from neurigraph_pipelines.faces.cli.session import argument, moment
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.registry import Operation
from neurigraph_pipelines.faces.operations.sight import KINDS
from neurigraph_pipelines.model import Privacy
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.exact_json import keep_exactly
from neurigraph_pipelines.views.scalars import ValuesByName

_Form = TypeVar("_Form", bound=BaseModel)
_Function = TypeVar("_Function", bound=Callable[..., None])
EMPTY = inspect.Parameter.empty
_PLURAL = re.compile(r"(?<![su])s$")
_PLAIN = (bool, int, float, str)
_OPTIONS = {
    "container_tags": "--space",
    "occurred_after": "--after",
    "occurred_before": "--before",
    "source_kinds": "--kind",
    "path_glob": "--path",
    "entity_context": "--context",
    "expires_at": "--expires",
    "grace_seconds": "--grace",
    "ttl_seconds": "--ttl",
    "older_than_days": "--older-than",
    "pinned": "--pin",
}
"""Options that have shorter names than their fields."""


@dataclass(frozen=True)
class Taken:
    """A value that a command takes: a parameter of an operation, or a field of its form.

    Attributes:
        name: Its name in the operation.
        annotation: Its type in the operation.
        about: Its description and its limits.
        default: Its default; ``inspect.Parameter.empty`` if it must be given.
        option: The name of its option; None for an argument.
        clears: Whether an empty text stands for null.
    """

    name: str
    annotation: Any
    about: FieldInfo
    default: Any
    option: str | None
    clears: bool = False

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
    def is_flag(self) -> bool:
        """Whether it is a list of the one value that there is, or empty."""
        return self.is_list and get_origin(self.item) is Literal and len(get_args(self.item)) == 1

    @property
    def is_mapping(self) -> bool:
        """Whether it takes values by names."""
        return get_origin(self.kind) is dict

    @property
    def item(self) -> Any:
        """The type of one value."""
        return get_args(self.kind)[0] if self.is_list else self.kind

    @property
    def one(self) -> str:
        """The name of one of its values."""
        return _PLURAL.sub("", re.sub("ies$", "y", self.name)) if self.is_list else self.name

    @property
    def thing(self) -> str | None:
        """The kind of thing that its ids name; None if it holds no ids."""
        return KINDS.get(self.one, self.one.removesuffix("_id")) if self.item is UUID else None

    @property
    def metavar(self) -> str:
        """The word that stands for its value."""
        if self.item is datetime:
            return "TIME"
        return "NAME=VALUE" if self.is_mapping else self.one.removesuffix("_id").upper()

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
        taken = list[kind] if self.is_list or self.is_mapping else kind  # type: ignore[valid-type]
        about = self.about.description or ""
        if self.option is None:
            argument = typer.Argument(metavar=self.metavar, help=about, show_default=False)
            if self.default is not EMPTY:
                return parameter_of(self.name, Annotated[taken | None, argument], None)
            return parameter_of(self.name, Annotated[taken, argument])
        if self.default is EMPTY:
            return parameter_of(
                self.name, Annotated[taken, typer.Option(self.option, metavar=self.metavar, help=about)]
            )
        if self.kind is Privacy:
            names = typer.Option("--private/--shared", help=about, show_default=False)
            return parameter_of(self.name, Annotated[bool | None, names], None)
        if self.is_flag:
            return parameter_of(self.name, Annotated[bool, typer.Option(self.option, help=about)], False)
        if self.kind is bool:
            names = self.option if self.default is False else f"{self.option}/--no-{self.option[2:]}"
            return parameter_of(self.name, Annotated[self.annotation, typer.Option(names, help=about)], self.default)
        metavar = self.metavar if kind is str else None
        if isinstance(self.default, int | float | Enum) and not self.is_list:
            info = typer.Option(self.option, help=about, metavar=metavar)
            return parameter_of(self.name, Annotated[taken, info], self.default)
        info = typer.Option(self.option, help=about, metavar=metavar, show_default=False)
        return parameter_of(self.name, Annotated[taken | None, info], None)

    def read(self, call: Call | None, value: Any, named: Mapping[str, object]) -> Any:
        """Return a value of the command line as the operation takes it.

        Raises:
            InvalidInputError: It is not valid.
            NotFoundError: It names nothing that the caller sees.
        """
        if self.is_flag:
            return list(get_args(self.item)) if value else []
        if self.is_list:
            return [self._item(call, one, named) for one in value]
        if self.is_mapping and value != [""]:
            return {name: said for one in value for name, said in self._named(argument(one)).items()}
        if self.kind is Privacy and isinstance(value, bool):
            return Privacy.PRIVATE if value else Privacy.SHARED
        return None if value in ("", [""]) and self.is_nullable and self.clears else self._item(call, value, named)

    def _named(self, text: str) -> Mapping[str, object]:
        """Return a value with its name, or an object of several."""
        if text.startswith("{"):
            return dict(self._json(text))
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidInputError(f"{self.label} {text[:50]!r} has no name and value: write it as NAME=VALUE")
        return {name: value}

    def _json(self, text: str) -> Any:
        try:
            return json.loads(keep_exactly(text.encode(), names_twice=False))
        except ValueError:
            raise InvalidInputError(f"{self.label} is not JSON: {text[:80]!r}") from None

    def _item(self, call: Call | None, value: Any, named: Mapping[str, object]) -> Any:
        if not isinstance(value, str) or isinstance(value, Enum):
            return value
        if self.thing is not None:
            assert call is not None, "things are looked up for a caller"
            return resolved(call, self.thing, value, named)
        if self.item is datetime:
            return moment(self.label, value)
        text = argument(value)
        return text if self.is_plain else self._json(text)


def values_of(operation: Operation) -> Iterator[Taken]:
    """Yield the values that a command takes: the ids of the path, required values, and the rest as options."""
    found = []
    for one in operation.parameters:
        taken = Taken(one.name, one.kind, one.about, one.default, None)
        found.append(replace(_with_option(taken, operation.options), name=one.argument))
    if operation.form is not None:
        found += fields_of(operation.form[1], operation.options)
    found = [replace(one, clears=not operation.is_read) for one in found]
    yield from sorted(found, key=lambda one: (one.option is not None, one.is_list))


def fields_of(form: type[BaseModel], options: Mapping[str, str | None]) -> list[Taken]:
    """Return the fields of a form as a command takes them, with the names of some options."""
    found = []
    for name, about in form.model_fields.items():
        default = EMPTY if about.is_required() else about.get_default(call_default_factory=True)
        found.append(_with_option(Taken(name, about.annotation, about, default, None), options))
    return found


def _with_option(taken: Taken, options: Mapping[str, str | None]) -> Taken:
    usual = f"--{taken.one.removesuffix('_id').replace('_', '-')}"
    derived = None if taken.default is EMPTY else _OPTIONS.get(taken.name, usual)
    return replace(taken, option=options.get(taken.name, derived))


def with_options(takes: Sequence[Taken]) -> Callable[[_Function], _Function]:
    """Add options that follow from fields to a command that is written by hand; it takes them as ``stated``."""

    def adding(function: _Function) -> _Function:
        hints = get_type_hints(function, include_extras=True)
        own = [one.replace(annotation=hints[name]) for name, one in inspect.signature(function).parameters.items()]
        parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own if one.name != "stated"]
        parameters += [one.parameter() for one in takes]
        return with_parameters(function, parameters)

    return adding


def stated_by(form: type[_Form], takes: Sequence[Taken], values: ValuesByName, call: Call | None = None) -> _Form:
    """Return the form that options state.

    Args:
        call: Needed if one of them names a thing.

    Raises:
        InvalidInputError: A value is not valid.
        NotFoundError: A value names nothing that the caller sees.
    """
    labels = {one.name: one.label for one in takes}
    return cast(_Form, checked(form.model_validate, read_values(takes, call, values), labels))


def read_values(takes: Sequence[Taken], call: Call | None, values: ValuesByName) -> ValuesByName:
    """Return the values that a command was given, as its operation takes them.

    Raises:
        InvalidInputError: A value is not valid.
        NotFoundError: A value names nothing that the caller sees.
    """
    given: ValuesByName = {}
    for one in takes:
        value = values[one.name]
        if one.default is EMPTY or not (value is None or value == [] or value == one.default):
            given[one.name] = one.read(call, value, given)
        elif one.name == "asked_at":  # "yesterday" is a day of this machine's time zone
            given[one.name] = given.get("at") or datetime.now(UTC).astimezone()
    return given


def checked(validate: Callable[[Any], Any], value: Any, labels: Mapping[str, str]) -> Any:
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


def parameter_of(name: str, annotation: Any, default: Any = EMPTY) -> inspect.Parameter:
    """Return a parameter of the function of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
