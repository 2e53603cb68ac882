"""A graph shared with a persona and third parties."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims, GrantType, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, make_persona, new_user, plain_context, rows

SECRET_WORDS = ("Zanzibar", "trout", "Ottilie")
"""Words and speakers of nodes that the persona does not see: siblings and ancestors."""


@dataclass(frozen=True, slots=True)
class SharedGraph:
    """``Work/Legal`` is a persona with ``Contracts`` below it; nothing else of ``Work`` or ``Family`` is hers."""

    installation: Installation
    owner: User
    owners: Claims
    persona_id: UUID
    personas: Claims

    def node(self, path: str) -> UUID:
        """Return the node at a path, as the owner."""
        with self.installation.database.agent(self.owners) as tx:
            return find_node(tx, self.owner.user_id, path)

    def grant(
        self,
        path: str,
        third_party: str | None = None,
        *,
        writes: bool = False,
        expires_at: datetime | None = None,
    ) -> UUID:
        """Grant a node to the persona or a third party; return the grant."""
        subject = (
            Subject(SubjectType.PERSONA, str(self.persona_id))
            if third_party is None
            else Subject(SubjectType.THIRD_PARTY, third_party)
        )
        kind = GrantType.READ_WRITE if writes else GrantType.READ
        made, _ = sharing.grant(
            self.installation.database, self.owners, subject, self.node(path), kind, expires_at=expires_at
        )
        return made.grant_id

    def revoke(self, grant_id: UUID) -> None:
        """Revoke a grant."""
        sharing.revoke(self.installation.database, self.owners, grant_id)

    def third_party(self, name: str) -> Claims:
        """Return the claims of a third party."""
        return Claims(name, "third_party", self.owner.user_id)

    def key(self, subject: Subject | None = None) -> str:
        """Issue an API key for the owner or another subject."""
        return sharing.issue_key(self.installation.database, self.owners, subject=subject)[1]

    def personas_key(self) -> str:
        """Issue an API key for the persona."""
        return self.key(Subject(SubjectType.PERSONA, str(self.persona_id)))

    def record_of(self, path: str) -> tuple[UUID, UUID]:
        """Return a record of a node, and its file."""
        found = rows(
            self.installation,
            """SELECT i.record_id, f.file_id FROM neurigraph.record_index AS i
            INNER JOIN neurigraph.file_index AS f ON i.record_id = f.record_id
            WHERE i.node_id = %s ORDER BY i.record_id""",
            self.node(path),
        )
        return found[0]["record_id"], found[0]["file_id"]


def new_shared_graph(installation: Installation) -> SharedGraph:
    """Create the graph for a new user."""
    owner, owners = new_user(installation, f"owner-{uuid4().hex[:12]}")
    converse(
        installation,
        owners,
        "#Family/Dave Dave caught a trout.",
        "#Work Zanzibar is where the yearly meeting of all teams will be.",
        "#Work/Marketing The campaign for Zanzibar begins in May. @Dave:customer",
    )
    ingest(plain_context(installation), owner)
    with installation.database.agent(owners) as tx:
        work = find_node(tx, owner.user_id, "Work")
    persona = sharing.add_node(installation.database, owners, work, "Legal")
    converse(
        installation,
        owners,
        "#Work/Legal The lawyers sit on the second floor.",
        "#Work/Legal/Contracts The contract with Acme ends in June. @Dave:signatory @Marketing:client",
    )
    ingest(plain_context(installation), owner)
    make_persona(installation, persona)
    return SharedGraph(installation, owner, owners, persona, Claims(str(persona), "persona", owner.user_id))
