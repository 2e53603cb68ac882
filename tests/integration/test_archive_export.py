"""The archive in an export: a memory in it is exported, restored as archived, and comes back from there."""

from __future__ import annotations

from pathlib import Path

from neurigraph_pipelines.lifecycle import archive, retention
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims, Tier
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.exported_user import export, restore
from tests.support.memories import converse, ingest, new_user, plain_context, stored


def found(here: Installation, claims: Claims) -> set[str]:
    asked = search(plain_context(here).acting_for(claims), Question("walnut desk", limit=10))
    return {str(hit.record_id) for hit in asked.hits}


def test_archived_memory_is_exported_and_restored(
    shared_installation: Installation, installation: Installation, tmp_path: Path
) -> None:
    user, claims = new_user(shared_installation)
    for text in ("#Notes The walnut desk is old.", "#Notes The walnut desk is new."):
        converse(shared_installation, claims, text)
    away, shown = (one.record_id for one in stored(ingest(plain_context(shared_installation), user)))
    context = shared_installation.acting_for(claims)
    retention.set_tier(context, away, Tier.MID, reason="for a week")
    archive.archive(context, [away], "moved to another office")
    (before,) = archive.page_of_archive(shared_installation.listing(claims)).items
    export(shared_installation, user, tmp_path / "export.zip")
    assert restore(installation, tmp_path / "export.zip", user.slug).records == 2
    theirs = Claims.of_user(user.user_id)
    assert found(installation, theirs) == {str(shown)}
    (after,) = archive.page_of_archive(installation.listing(theirs)).items
    assert (after, after.tier, after.archived_reason) == (before, Tier.MID, "moved to another office")
    assert not verify(installation.context).findings
    archive.restore(installation.acting_for(theirs), [away])
    assert found(installation, theirs) == {str(shown), str(away)}
    kept = retention.retention_of(installation.database, theirs, [away])[away]
    assert (kept.tier, kept.expiry_reason) == (Tier.MID, "for a week")
    assert not verify(installation.context).findings
    assert found(shared_installation, claims) == {str(shown)}
