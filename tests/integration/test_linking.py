"""Links that people state, end, decide about and sign, and causes that rules find."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.knowledge.linking import Signature, decide_link, end_link, state_link
from neurigraph_pipelines.knowledge.signing import (
    attest_of,
    ending_bytes,
    register_key,
    revoke_key,
    rotate_key,
    statement_bytes,
)
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NeurigraphError, NotFoundError
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.views.kinds import Attest, LinkVerdict
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import inferred, link, links_of, plant_fact
from tests.support.memories import plain_context, rows


def test_people_state_end_and_sign_links(shared_installation: Installation) -> None:
    graph = new_graph(shared_installation)
    here, user, context = graph.here, graph.user.user_id, graph.here.acting_for(graph.claims)
    office, other = graph.remember("#Work/Office It was too small.", "#Work/Move We moved.")
    first, second = (plant_fact(here, *one) for one in ((office, "It is small."), (other, "We moved.")))
    said = StatedLink(LinkEnd.fact(second), LinkEnd.fact(first), "caused_by", reason="Ana said so.")
    written = state_link(context, said)
    assert written.created
    assert state_link(context, said).link_id == written.link_id
    wrong: list[tuple[StatedLink, type[NeurigraphError]]] = [
        (StatedLink(LinkEnd.fact(first), LinkEnd.fact(second), "caused_by"), ConflictError),
        (StatedLink(LinkEnd.fact(first), LinkEnd.fact(uuid4()), "supports"), NotFoundError),
        (StatedLink(LinkEnd.fact(first), LinkEnd.fact(second), "supersedes"), InvalidInputError),
        (StatedLink(LinkEnd.fact(first), LinkEnd.fact(second), "talks with"), InvalidInputError),
        (StatedLink(LinkEnd.fact(first), LinkEnd.fact(first), "supports"), InvalidInputError),
    ]
    for refused, error in wrong:
        with pytest.raises(error):
            state_link(context, refused)

    # Rejected, a link stands in no one's way; and what stands in its way now keeps it from being confirmed.
    decide_link(context, written.link_id, LinkVerdict.REJECTED)
    assert link(here, user, inferred(first, second, "caused_by"))
    with pytest.raises(ConflictError):
        decide_link(context, written.link_id, LinkVerdict.CONFIRMED)
    _signs(graph, LinkEnd.fact(first), LinkEnd.record(other))

    stranger = new_graph(shared_installation)
    with pytest.raises(NotFoundError):
        end_link(here.acting_for(stranger.claims), written.link_id)
    with pytest.raises(NotFoundError):
        state_link(here.acting_for(stranger.claims), said)


def _signs(graph: Graph, start: LinkEnd, end: LinkEnd) -> None:
    context, observer = graph.here.acting_for(graph.claims), f"user:{graph.claims.sub}"
    private, since = Ed25519PrivateKey.generate(), datetime(2026, 5, 1, tzinfo=UTC)
    key = register_key(context, private.public_key().public_bytes_raw())
    message = statement_bytes(str(start), str(end), "supports", observer, since)
    signed = Signature(key.signing_key_id, private.sign(message))
    with pytest.raises(InvalidInputError):
        state_link(context, StatedLink(start, end, "supports"), signature=signed)  # without the time that was signed
    written = state_link(context, StatedLink(start, end, "supports", valid_from=since), signature=signed)
    until = since + timedelta(days=1)
    ending = Signature(key.signing_key_id, private.sign(ending_bytes(message, observer, until)))
    with pytest.raises(InvalidInputError):
        end_link(context, written.link_id, until + timedelta(days=1), ending)
    end_link(context, written.link_id, until, ending)
    with pytest.raises(ConflictError):
        end_link(context, written.link_id)

    def attest() -> Attest:
        (row,) = rows(
            graph.here,
            "SELECT l.from_fact_id, NULL AS from_record_id, l.to_fact_id, l.to_record_id, l.to_node_id, l.to_source_id,"
            " l.relation, l.observed_by, lower(l.valid) AS valid_from, l.signature, k.public_key, k.holder,"
            " k.revoked_at FROM neurigraph.links AS l JOIN neurigraph.signing_keys AS k USING (key_id)"
            " WHERE l.link_id = %s",
            written.link_id,
        )
        return attest_of(row)

    assert attest() is Attest.SELF
    newer = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    rotate_key(context, key.signing_key_id, newer)
    assert attest() is Attest.SELF, "what a rotated key signed still counts"
    with pytest.raises(ConflictError):
        state_link(context, StatedLink(start, end, "supports", valid_from=since), signature=signed)
    revoke_key(context, key.signing_key_id)
    assert attest() is Attest.UNSIGNED


def test_rules_find_causes_and_reading_again_keeps_them(shared_installation: Installation) -> None:
    graph = new_graph(shared_installation)
    context, user = plain_context(graph.here), graph.user.user_id
    (record,) = graph.remember("#Work/Move Bob moved to Porto because the office was small.")
    reason = plant_fact(graph.here, record, "The office was small.")
    with graph.here.database.pipeline() as tx:
        tx.execute("SELECT set_config('neurigraph.author', 'tests', true)")
        tx.execute("UPDATE neurigraph.facts SET pinned = true WHERE fact_id = %s", [reason])
    found = []
    for _ in range(2):
        reading.read_again(context, [record])
        found += [row for row in links_of(graph.here, user) if row["relation"] == "caused_by"]
    assert [(row["to_id"], row["messages"], row["confidence"]) for row in found] == 2 * [(reason, [1], 0.75)]
    assert found[0]["link_id"] == found[1]["link_id"]
    (effect,) = rows(graph.here, "SELECT statement FROM neurigraph.facts WHERE fact_id = %s", found[0]["from_id"])
    assert "Bob moved to Porto" in effect["statement"]
