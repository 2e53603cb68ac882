"""One name for one thing, across the requests and answers of all faces."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from neurigraph_pipelines import views
from neurigraph_pipelines.faces.operations import subjects
from neurigraph_pipelines.views.base import Form, View


def test_a_name_of_a_list_is_no_name_of_a_number() -> None:
    kinds: dict[str, set[Any]] = defaultdict(set)
    for model in _models():
        for name, field in model.model_fields.items():
            kinds[name].add(_kind(field.annotation))
    assert sorted(name for name, found in kinds.items() if {int, list} <= found) == []


def test_the_names_of_a_space_are_few() -> None:
    names = {name for model in _models() for name in model.model_fields}
    names |= {one.name for subject in subjects() for made in subject.operations for one in made.parameters}
    about_spaces = {name for name in names if "space" in name or "container" in name}
    assert about_spaces == {"container_tag", "container_tags", "space_id", "spaces"}


def _models() -> set[type[View | Form]]:
    for module in pkgutil.walk_packages(views.__path__, f"{views.__name__}."):
        importlib.import_module(module.name)
    list(subjects())
    found: set[type[View | Form]] = set()
    waiting: list[type[View | Form]] = [View, Form]
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        found.update(below)
    return found


def _kind(annotation: Any) -> Any:
    """The type of a value that is not null, without its items."""
    if get_origin(annotation) in (Union, UnionType):
        return next(_kind(one) for one in get_args(annotation) if one is not NoneType)
    return get_origin(annotation) or annotation
