"""What is known survives a backup and a restore: links with their signatures, verdicts, actions, digests and tiers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neurigraph_pipelines.database.paging import Listing
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.knowledge import belief_lists as beliefs
from neurigraph_pipelines.knowledge import digests, signing
from neurigraph_pipelines.knowledge import link_lists as listing
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.knowledge.digesting import digest_of_records
from neurigraph_pipelines.knowledge.link_lists import LinkFilter
from neurigraph_pipelines.knowledge.linking import decide_link, end_link, sign_ending, sign_link, state_link
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.runtime.stack.backup.create import back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.kinds import ActionKind, ActionState, LinkVerdict
from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_backup import SILENT, target
from tests.support.told_people import People

pytestmark = pytest.mark.slow

__all__ = ["target"]  # the fixture


class Known:
    """A graph with facts, and what was found out and decided about them."""

    def __init__(self, here: Installation) -> None:
        self.people = People(here)
        self.claims = self.people.claims
        context = here.acting_for(self.claims)
        self.records = [self.people.record()[1] for _ in range(2)]
        said = ["Ana lives in Porto.", "Ana now lives in Lisbon.", "Ana sails."]
        self.facts = [self.people.tell(self.records[day % 2], text, 30 * day) for day, text in enumerate(said)]
        assert self.people.reconcile().superseded == 1
        private = Ed25519PrivateKey.generate()
        signing.register_key(context, private.public_key().public_bytes_raw())
        link = StatedLink(
            LinkEnd.fact(self.facts[2]),
            LinkEnd.fact(self.facts[1]),
            "influenced_by",
            valid_from=datetime(2026, 5, 1, tzinfo=UTC),
        )
        self.signed = state_link(context, link, signature=sign_link(context, link, private)).link_id
        until = datetime(2026, 6, 1, tzinfo=UTC)
        end_link(context, self.signed, until, sign_ending(context, self.signed, until, private))
        about = StatedLink(LinkEnd.record(self.records[0]), LinkEnd.record(self.records[1]), "part_of")
        decide_link(context, state_link(context, about).link_id, LinkVerdict.CONFIRMED)
        digest_of_records(context, self.records)
        doubt = Doubt(ActionKind.DELETE, self.claims.user_id, "update", "belief", fact_id=self.facts[0])
        with here.database.pipeline() as tx:
            self.action: UUID = propose(tx, doubt).action_id

    def seen(self, where: Installation) -> list[Any]:
        """Everything that the owner is told in an installation."""
        database, cursors = where.database, where.cursors
        wanted = [LinkFilter(record_id=one, with_ended=True) for one in self.records]
        wanted += [LinkFilter(fact_id=one, with_ended=True) for one in self.facts]
        links = [listing.list_links(Listing(database, cursors, self.claims), one).items for one in wanted]
        believed = [beliefs.belief(database, self.claims, one) for one in self.facts]
        action = actions.get_action(database, self.claims, self.action)
        return [links, believed, action, digests.page_of_digests(Listing(database, cursors, self.claims)).items]


def test_what_is_known_survives_a_restore(installation: Installation, target: Settings, tmp_path: Path) -> None:
    known = Known(installation)
    before = known.seen(installation)
    folder = BackupFolder(tmp_path / "backups", None)
    back_up(installation, folder, None, SILENT)
    with Installation(target) as there:
        restore(there, folder, None, False, SILENT)
    with Installation(target) as there:
        assert known.seen(there) == before
        shown = listing.link(there.database, known.claims, known.signed)
        assert (shown.attest, shown.end_attest) == ("self", "self")
        assert not verify(there.context).findings
        decided = actions.vote(there.acting_for(known.claims), known.action, approves=True)
        assert decided.state is ActionState.EXECUTED
        with pytest.raises(NotFoundError):
            beliefs.belief(there.database, known.claims, known.facts[0])
    assert known.seen(installation) == before, "the restored one is another installation"
