"""Every operation has its place on the faces."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperGroup

from neurigraph_pipelines.database.statements import SQL_ROOT
from neurigraph_pipelines.faces.api.idempotency import CHANGES_NOTHING, why_not
from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.faces.cli.groups import GROUPS, OTHERS, SHAPES
from neurigraph_pipelines.faces.cli.resolving import BY_NAME
from neurigraph_pipelines.faces.cli.taken import values_of
from neurigraph_pipelines.faces.mcp.server import TOOLS
from neurigraph_pipelines.faces.mcp.tools import BY_HAND
from neurigraph_pipelines.faces.operations import subjects
from neurigraph_pipelines.faces.operations.registry import Operation
from neurigraph_pipelines.faces.operations.sight import KINDS
from neurigraph_pipelines.model import Privacy
from neurigraph_pipelines.views.base import View

OPERATIONS = [one for subject in subjects() for one in subject.operations]
WITHOUT_KIND = {"organization_id", "member_id", "invitation_id", "user_id", "evidence_id"}
"""Ids that an operation looks up itself, since they hide nothing: it knows only those of the caller."""

of_all = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: str(one.name))


def words(operation: Operation) -> list[str]:
    """Return the commands of an operation."""
    return [*([operation.command] if operation.command else []), *operation.presets]


@of_all
def test_command_is_where_the_declaration_says(operation: Operation) -> None:
    for command in words(operation):
        group = typer.main.get_command(entry.app)
        for word in command.split():
            assert isinstance(group, TyperGroup), command
            found = group.get_command(typer.Context(group), word)
            assert found is not None, command
            group = found
        assert group.help == operation.sentences.get(command, operation.about)


@of_all
def test_is_described(operation: Operation) -> None:
    assert operation.about.endswith((".", ":")) or "\n\n" in operation.about
    for one in operation.parameters:
        assert one.about.description or one.argument.endswith("_id") or one.name in ("kind", "content_type"), one.name


@of_all
def test_ids_of_the_path_are_looked_at(operation: Operation) -> None:
    assert set(re.findall(r"{(\w+)}", operation.path)) <= KINDS.keys() | WITHOUT_KIND


@of_all
def test_returns_a_view(operation: Operation) -> None:
    result = operation.hints["return"]
    kinds = getattr(result, "__args__", (result,))
    assert all(kind is type(None) or issubclass(kind, View) for kind in kinds)


@of_all
def test_takes_a_key_if_it_changes_anything(operation: Operation) -> None:
    reads = why_not(operation.method, f"/v1{operation.path}") == CHANGES_NOTHING
    assert operation.method == "PUT" or reads is not operation.changes


def test_tools_are_those_that_operations_name() -> None:
    names = {tool.name for tool in TOOLS}
    assert {one.tool for one in OPERATIONS} - {None} == names - {"searchDatabase"}
    assert {tool.name for tool in TOOLS if not tool.arguments.operations} == BY_HAND.keys()


def test_no_two_have_one_name_route_or_command() -> None:
    names = [one.name for one in OPERATIONS]
    routes = [(one.method, one.path) for one in OPERATIONS]
    commands = [command for one in OPERATIONS for command in words(one)]
    for found in (names, routes, commands):
        assert len(set(found)) == len(found), sorted(found)


def test_groups_lie_in_groups() -> None:
    assert {words.rpartition(" ")[0] for words in GROUPS} <= GROUPS.keys() | {""}


def test_every_id_of_a_command_may_be_shortened() -> None:
    short = set(
        re.findall(r"%\(kind\)s = '(\w+)'", (SQL_ROOT / "queries" / "short_ids.sql").read_text(encoding="utf-8"))
    )
    things = {one.thing for operation in OPERATIONS if words(operation) for one in values_of(operation)}
    assert things - short - BY_NAME.keys() == {None, "invitee"}  # another user, of whom nobody sees a list


@of_all
def test_private_is_explained_by_its_field(operation: Operation) -> None:
    for one in values_of(operation):
        if one.kind is Privacy and one.option is not None:
            assert one.about.description == one.parameter().annotation.__metadata__[0].help


def last_words(group: TyperGroup, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the last word of each command below a group."""
    for name in group.list_commands(typer.Context(group)):
        found = group.get_command(typer.Context(group), name)
        if isinstance(found, TyperGroup):
            yield from last_words(found, (*words, name)) if name != "admin" else ()
        elif words:
            yield name


def test_commands_of_groups_end_in_few_shapes() -> None:
    group = typer.main.get_command(entry.app)
    assert isinstance(group, TyperGroup)
    others = [word for listed in OTHERS.values() for word in listed]
    assert set(last_words(group)) - set(SHAPES) == set(others)
    assert len(set(others)) == len(others)
