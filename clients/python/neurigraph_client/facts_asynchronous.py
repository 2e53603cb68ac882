"""The client's calls about facts and their links, a part of ``AsyncMemory``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_client.calls_asynchronous import AsyncCalls
from neurigraph_pipelines.views.erasures import ErasurePreview, ErasureWithObjects, Forgotten
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.facts import (
    Fact,
    FactHistory,
    FactWithEvidence,
    StatedFact,
    UndoneDecision,
    UndoneDecisions,
)
from neurigraph_pipelines.views.links import Link, WrittenLink
from neurigraph_pipelines.views.search import Duplicates


class AsyncFacts(AsyncCalls):
    """Reads, states and changes facts."""

    def facts(self, **filters: Any) -> AsyncIterator[Fact]:
        """Yield facts, newest first, page after page.

        Args:
            filters: As the API takes them, such as ``node_id``, ``who``, ``kind``, ``status`` and ``tag``.
        """
        return self._pages("/v1/facts", "facts", Fact, filters)

    async def fact(self, fact_id: UUID) -> FactWithEvidence:
        """Return a fact; its ``said_in`` says where it was said."""
        return FactWithEvidence.model_validate(await self.call("GET", f"/v1/facts/{fact_id}"))

    async def fact_history(self, fact_id: UUID) -> FactHistory:
        """Return the versions of a fact, and their changes."""
        return FactHistory.model_validate(await self.call("GET", f"/v1/facts/{fact_id}/history"))

    async def duplicates(self, text: str, limit: int = 10) -> Duplicates:
        """Return facts and messages that say the same as a text, or nearly; nothing is written."""
        body = {"text": text, "limit": limit}
        return Duplicates.model_validate(await self.call("POST", "/v1/duplicates", body))

    async def query_facts(self, query: str | None = None, kind: str = "search", **fields: Any) -> QueriedFacts:
        """Follow the links of facts to causes, versions or connected facts, each with its path in words.

        Args:
            kind: ``search``, ``why``, ``changed``, ``about`` or ``connected``.
            fields: As the API takes them, such as ``fact_id``, ``max_hops``, ``traverse_types`` and ``include_graph``.
        """
        body = {"query": query, "kind": kind, **fields}
        return QueriedFacts.model_validate(await self.call("POST", "/v1/facts/query", body))

    async def state_fact(self, statement: str, **fields: Any) -> StatedFact:
        """State a fact. It is there when its note is stored and read.

        Args:
            fields: As the API takes them, such as ``path``, ``kind``, ``who``, ``tags`` and ``privacy``.
        """
        return StatedFact.model_validate(await self.call("POST", "/v1/facts", {"statement": statement, **fields}))

    async def change_fact(self, fact_id: UUID, **fields: Any) -> StatedFact | FactWithEvidence:
        """Change a fact: new words, such as another ``statement``, are a next version; the rest applies at once."""
        changed = await self.call("PATCH", f"/v1/facts/{fact_id}", fields)
        return StatedFact.model_validate(changed) if "note_id" in changed else FactWithEvidence.model_validate(changed)

    async def retract_fact(self, fact_id: UUID) -> None:
        """Take a fact back; the version before it stands again."""
        await self.call("POST", f"/v1/facts/{fact_id}/retract")

    async def confirm_fact(self, fact_id: UUID) -> None:
        """Confirm that a fact holds, even if it was taken back."""
        await self.call("POST", f"/v1/facts/{fact_id}/confirm")

    async def undo_decisions(self, fact_id: UUID, other_fact_id: UUID | None = None) -> list[UndoneDecision]:
        """Undo the results of comparing a fact with others, or with one other fact; return the decisions."""
        limit = f"?other_fact_id={other_fact_id}" if other_fact_id is not None else ""
        return UndoneDecisions.model_validate(await self.call("POST", f"/v1/facts/{fact_id}/undo{limit}")).undone

    def links(
        self, *, fact_id: UUID | None = None, record_id: UUID | None = None, **filters: Any
    ) -> AsyncIterator[Link]:
        """Yield the links of a fact, or of a memory and its facts, newest first, page after page.

        Args:
            filters: ``relation``, ``all`` with rejected and ended ones, or ``computed`` of a fact.
        """
        if (fact_id is None) == (record_id is None):
            raise ValueError("give a fact or a memory")
        of = f"facts/{fact_id}" if fact_id is not None else f"records/{record_id}"
        return self._pages(f"/v1/{of}/links", "links", Link, filters)

    async def state_link(self, relation: str, **fields: Any) -> UUID:
        """State a link, and return its id; the same again changes nothing.

        Args:
            fields: As the API takes them: an end such as ``from_fact_id`` and one such as ``to_record_id``, ``reason``.
        """
        return WrittenLink.model_validate(
            await self.call("POST", "/v1/links", {"relation": relation, **fields})
        ).link_id

    async def end_link(self, link_id: UUID, valid_until: datetime | None = None) -> Link:
        """Say that a link holds no longer, or since when."""
        body = {"valid_until": valid_until}
        return Link.model_validate(await self.call("POST", f"/v1/links/{link_id}/end", body))

    async def confirm_link(self, link_id: UUID) -> Link:
        """Confirm a link, even if it was rejected."""
        return Link.model_validate(await self.call("POST", f"/v1/links/{link_id}/confirm"))

    async def reject_link(self, link_id: UUID) -> Link:
        """Reject a link; it is not inferred again."""
        return Link.model_validate(await self.call("POST", f"/v1/links/{link_id}/reject"))

    async def forget_fact(self, fact_id: UUID, *, dry_run: bool = True) -> Forgotten:
        """Erase a fact for good, or count with a dry run what belongs to it.

        Args:
            dry_run: Pass False to erase.
        """
        query = {"dry_run": str(dry_run).lower()}
        answer = await self.call("DELETE", f"/v1/facts/{fact_id}", **query)
        return ErasurePreview.model_validate(answer) if dry_run else ErasureWithObjects.model_validate(answer)
