"""Finds the things that arguments of commands name: by path, tag, slug, or the beginning of an id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from uuid import UUID

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.access.spaces import get_space
from neurigraph_pipelines.exchange.organizations import membership
from neurigraph_pipelines.faces.cli.session import argument, file_id_of, node_id_of
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.inbox.privacy import find_source
from neurigraph_pipelines.model.errors import NotFoundError


def resolved(call: Call, kind: str, text: str, named: Mapping[str, object]) -> UUID:
    """Return the id of a thing that an argument names.

    Args:
        kind: The kind of the thing, such as ``record`` or ``node``.
        named: What the arguments before name, by their names in the operation: a member is one of an organization.

    Raises:
        InvalidInputError: The text is no id of the kind, or the beginning of several.
        NotFoundError: There is no such thing, or the caller may not see it.
    """
    text = text.removeprefix(f"{kind}:")
    if kind != "file":  # the id of a record names its file, too
        with suppress(ValueError):
            return UUID(text)
    if kind in BY_NAME:
        return BY_NAME[kind](call, argument(text), named)
    return id_of(call.database, call.caller, kind, argument(text))


def _node(call: Call, text: str, _: Mapping[str, object]) -> UUID:
    return node_id_of(call.installation, call.caller, text)


def _file(call: Call, text: str, _: Mapping[str, object]) -> UUID:
    return file_id_of(call.installation, call.caller, text)


def _source(call: Call, text: str, _: Mapping[str, object]) -> UUID:
    return find_source(call.database, call.caller, text)


def _space(call: Call, text: str, _: Mapping[str, object]) -> UUID:
    try:
        return get_space(call.database, call.caller, text).space_id
    except NotFoundError:
        return id_of(call.database, call.caller, "space", text)


def _organization(call: Call, text: str, _: Mapping[str, object]) -> UUID:
    for one in membership.list_organizations(call.database, call.caller):
        if one.slug == text:
            return one.organization_id
    raise NotFoundError(f"the user is in no organization {text!r}")


def _member(call: Call, text: str, named: Mapping[str, object]) -> UUID:
    organization_id = named["organization_id"]
    assert isinstance(organization_id, UUID), "a member is named after its organization"
    for one in membership.list_members(call.database, call.caller, organization_id):
        if one.slug == text:
            return one.member_id
    raise NotFoundError(f"the organization has no member {text!r}")


BY_NAME: dict[str, Callable[[Call, str, Mapping[str, object]], UUID]] = {
    "node": _node,
    "file": _file,
    "source": _source,
    "space": _space,
    "organization": _organization,
    "member": _member,
}
"""Kinds of things that have names besides their ids."""
