"""Deletion of organizations by their owners: the whole graph, by the same way as a user's."""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.exchange.organizations.membership import get_organization
from neurigraph_pipelines.lifecycle.erasure import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ForbiddenError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview
from neurigraph_pipelines.views.kinds import MemberRole


def preview_organization(database: Database, claims: Claims, organization_id: UUID) -> ErasurePreview:
    """Return the counts of a deletion, with private sources, as their owner's deletion erases them, too.

    Raises:
        NotFoundError: The caller is no member.
        ForbiddenError: The caller is not an owner.
    """
    graph = _graph_of_owner(database, claims, organization_id)
    return forget.preview(database, graph, ErasureSubject(SubjectKind.USER, organization_id))


def delete_organization(context: Context, organization_id: UUID, *, through: str) -> Erasure:
    """Erase an organization with its graph, members, keys and invitations, permanently.

    Raises:
        NotFoundError: The caller is no member.
        ForbiddenError: The caller is not an owner.
        RehydratingError: A file is being decompressed; repeat the call, or an operator finishes the erasure.
        StorageError: The object store refused; an operator finishes the erasure.
    """
    graph = _graph_of_owner(context.database, context.claims, organization_id)
    return forget.forget(context.acting_for(graph), ErasureSubject(SubjectKind.USER, organization_id), through=through)


def _graph_of_owner(database: Database, claims: Claims, organization_id: UUID) -> Claims:
    """Return the claims that act for the whole graph, for the one call that its owner may make with them."""
    if get_organization(database, claims, organization_id).role is not MemberRole.OWNER:
        raise ForbiddenError("only an owner deletes an organization")
    return Claims.of_user(organization_id)
