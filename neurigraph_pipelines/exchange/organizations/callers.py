"""Callers by name, for programs on the machine of the installation: a user, or a member of an organization."""

from __future__ import annotations

from neurigraph_pipelines.access.authentication import is_organization
from neurigraph_pipelines.graph.provisioning import find_user
from neurigraph_pipelines.model import Claims, ReceivedThrough
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.ports import Database


def claims_called(database: Database, name: str, door: ReceivedThrough, *, whole_graph: bool = False) -> Claims:
    """Return the claims of a user by slug, or of a member by ``SLUG@ORGANIZATION``.

    Args:
        whole_graph: Accept an organization without a member, for work of the operator on all of its graph.

    Raises:
        NotFoundError: There is no such user or organization. Whether the user is a member, the database decides.
        InvalidInputError: An organization needs a member.
    """
    slug, _, organization = name.partition("@")
    user_id = find_user(database, slug).user_id
    if organization:
        return Claims(str(user_id), "member", find_user(database, organization).user_id, None, door)
    if not whole_graph and is_organization(database, user_id):
        raise InvalidInputError(f"{slug} is an organization: act as one of its members, with --user MEMBER@{slug}")
    return Claims.of_user(user_id, door)
