"""The registry of operations.

An operation is a function that takes a ``Call``, the ids in its path, filters, alone or as one model, and at most one
``Form``, and returns a view. Its declaration says where it appears; its docstring is its description on every face.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.sight import ids_of
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.scalars import ValuesByName

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation besides its call and its form.

    Attributes:
        name: Its name on every face.
        argument: Its name in the function.
        kind: Its type, without annotations.
        about: Its description and its limits.
        default: Its default; ``inspect.Parameter.empty`` if it must be given.
    """

    name: str
    argument: str
    kind: Any
    about: FieldInfo
    default: Any

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Operation:
    """An operation as it is declared.

    Attributes:
        name: Subject and name of the function, such as ``spaces.add_space``.
        method: Method of its route.
        path: Path of its route below ``/v1``.
        command: Words of its command after ``neurigraph``; None if it has none.
        tool: The tool for agents that does it, alone or with others; None if none does.
        is_read: Whether it changes nothing; by default if its method is GET.
        tag: Its group in the documentation of the API; by default the name of its subject.
        status: Status of its usual answer.
        refusals: Further statuses that it may answer with, besides those of its subject.
        answers: Other successful answers by status: their views and descriptions.
        guarded: The parameter of the path whose object must be as the header ``If-Match`` says.
        has_version: Whether its answer has an ETag.
        in_spaces: Whether the caller may limit it to spaces.
        waits: Whether a caller may wait until the source that it is about is stored or has failed.
        is_sparse: Whether its answer leaves out fields that were not set.
        notes_lag: Whether it tells how far storing lags behind, as operations do that hand something in.
        options: Names of options of its command that differ from those of the parameters or fields; None makes a field
            an argument, which may be left out where it has a default.
        presets: Further commands, each with values that it gives: ``{"action approve": {"approve": True}}``.
        sentences: Descriptions of further commands that differ from its own.
        destroys: Whether it cannot be undone: its command asks before, and its tool says so.
        says: What its command prints when it returned nothing.
    """

    name: str
    function: Callable[..., Any]
    method: str
    path: str
    command: str | None = None
    who: Who = Who.READER
    tool: str | None = None
    is_read: bool = False
    tag: str | None = None
    status: int = 200
    refusals: tuple[int, ...] = ()
    answers: Mapping[int, ValuesByName] = field(default_factory=dict)
    guarded: str | None = None
    has_version: bool = False
    in_spaces: bool = False
    waits: bool = False
    is_sparse: bool = False
    notes_lag: bool = False
    options: Mapping[str, str | None] = field(default_factory=dict)
    presets: Mapping[str, ValuesByName] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)
    destroys: bool = False
    says: str = "Done."

    @property
    def changes(self) -> bool:
        """Whether it changes anything."""
        return self.method != "GET" and not self.is_read

    @property
    def about(self) -> str:
        """Its description, with each paragraph in one line."""
        paragraphs = (inspect.getdoc(self.function) or "").split("\n\n")
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    @cached_property
    def hints(self) -> ValuesByName:
        """The types of the parameters and of the result, with their annotations."""
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def form(self) -> tuple[str, type[Form], bool] | None:
        """Name and type of the form, and whether it may be left out; None without a form."""
        for name, parameter in inspect.signature(self.function).parameters.items():
            for kind in (self.hints[name], *get_args(self.hints[name])):
                if isinstance(kind, type) and issubclass(kind, Form):
                    return name, kind, parameter.default is not inspect.Parameter.empty
        return None

    @cached_property
    def filter(self) -> tuple[str, type[BaseModel]] | None:
        """Name and type of the conditions of a list, whose fields are parameters; None without any."""
        known = ((name, kind) for name, kind in self.hints.items() if isinstance(kind, type) and name != "return")
        return next((one for one in known if issubclass(one[1], BaseModel) and not issubclass(one[1], Form)), None)

    def run(self, call: Call, **values: Any) -> Any:
        """Run its function with values by the names of its arguments and of the fields of its filter.

        A reader is limited to the spaces of its form, and must see the things that form and filter name.

        Raises:
            NotFoundError: One of them does not exist, or is hidden from the caller.
        """
        form = values.get(self.form[0]) if self.form is not None else None
        if self.is_read:
            call = call.within(getattr(form, "container_tags", ()))
        if self.filter is not None:
            name, kind = self.filter
            values[name] = kind(**{one: values.pop(one) for one in kind.model_fields if one in values})
        for name, wanted in ids_of(form if self.filter is None else values[self.filter[0]]):
            if not call.is_repeated:
                call.look(**{name: wanted})
        return self.function(call, **values)

    @cached_property
    def parameters(self) -> Sequence[Parameter]:
        """The parameters besides call and form, parameters of the path first."""
        found = []
        for argument, given in inspect.signature(self.function).parameters.items():
            if argument == "call" or (self.form is not None and argument == self.form[0]):
                continue
            if self.filter is not None and argument == self.filter[0]:
                fields = self.filter[1].model_fields.items()
                found += [Parameter(name, name, about.annotation, about, about.default) for name, about in fields]
                continue
            kind, about = _split(self.hints[argument])
            name = about.alias or argument
            found.append(Parameter(name, argument, kind, about, given.default))
        return sorted(found, key=lambda one: not self.is_in_path(one))

    def is_in_path(self, parameter: Parameter) -> bool:
        """Return whether a parameter is a part of the path."""
        return f"{{{parameter.name}}}" in self.path


def _split(annotated: Any) -> tuple[Any, FieldInfo]:
    if get_origin(annotated) is not Annotated:
        return annotated, FieldInfo()
    kind, *notes = get_args(annotated)
    return kind, next((one for one in notes if isinstance(one, FieldInfo)), FieldInfo())


@dataclass(frozen=True)
class OperationGroup:
    """The operations about one subject. Used as a decorator, it declares one.

    Attributes:
        name: Of the group in the documentation of the API.
        who: Who may call its operations, if they say nothing else.
    """

    name: str
    who: Who = Who.READER
    operations: list[Operation] = field(default_factory=list)

    def __call__(
        self, route: str, command: str | None = None, *, who: Who | None = None, **declared: Any
    ) -> Callable[[_F], _F]:
        """Declare a function as an operation.

        Args:
            route: Method and path, such as ``GET /spaces/{space_id}``.
            command: Words of the command.
            who: Who may call it; by default as the subject says.
            declared: Further attributes of ``Operation``.
        """
        method, path = route.split(" ")

        def declare(function: _F) -> _F:
            name = f"{self.name}.{function.__name__}"
            made = Operation(name, function, method, path, command, who or self.who, **declared)
            self.operations.append(made)
            return function

        return declare
