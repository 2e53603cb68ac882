"""Finds the things that arguments of commands name: by path, tag, slug, or the beginning of an id."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from uuid import UUID

from neurigraph_pipelines.access.spaces import get_space
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.organizations import membership
from neurigraph_pipelines.faces.cli.session import argument, node_id_of
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.inbox.privacy import find_source
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError

SHORTEST_ID = 4
"""Fewest characters of the beginning of an id."""

_QUERIES = statements("short_ids")
_BEGINNING = re.compile(rf"[0-9a-f]{{{SHORTEST_ID},32}}")


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
    try:
        return UUID(text)
    except ValueError:
        pass
    if kind in _BY_NAME:
        return _BY_NAME[kind](call, argument(text), named)
    return _beginning(call, kind, argument(text))


def _beginning(call: Call, kind: str, text: str) -> UUID:
    """Return the only id of a kind that begins with a text, as git takes the beginning of a commit's."""
    name, digits = kind.replace("_", " "), text.lower().replace("-", "")
    if _BEGINNING.fullmatch(digits) is None:
        shown = f"an id, or at least its first {SHORTEST_ID} characters"
        raise InvalidInputError(f"{text[:80]!r} is not the id of a {name}: give {shown}")
    bounds = {"first": UUID(digits.ljust(32, "0")), "last": UUID(digits.ljust(32, "f"))}
    found = call.database.ask(call.caller, _QUERIES["between"], {"kind": kind, **bounds})
    if not found:
        raise NotFoundError(f"there is no {name} {text}")
    if len(found) > 1:
        raise InvalidInputError(f"several ids of a {name} begin with {text}: give more characters")
    wanted: UUID = found[0]["id"]
    return wanted


def _node(call: Call, text: str, _: Mapping[str, object]) -> UUID:
    return node_id_of(call.installation, call.caller, text)


def _source(call: Call, text: str, _: Mapping[str, object]) -> UUID:
    try:
        return find_source(call.database, call.caller, text)
    except NotFoundError:
        return _beginning(call, "source", text)


def _space(call: Call, text: str, _: Mapping[str, object]) -> UUID:
    return get_space(call.database, call.caller, text).space_id


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


_BY_NAME: dict[str, Callable[[Call, str, Mapping[str, object]], UUID]] = {
    "node": _node,
    "source": _source,
    "space": _space,
    "organization": _organization,
    "member": _member,
}
