"""The graph of ``callers`` with facts, verdicts, links and digests of each node, and what else is known of it."""

from __future__ import annotations

from neurigraph_pipelines.graph.profile_building import rebuild_profiles
from neurigraph_pipelines.knowledge.reading import wait_for_reading
from tests.support.callers import CallerGraph, share
from tests.support.two_users import World


def share_with_knowledge(world: World) -> CallerGraph:
    """Share a graph in which every table about a node or a memory has rows."""
    made = share(world)
    rebuild_profiles(made.installation.database)
    # What search stages for a moment, held longer.
    with made.installation.database.pipeline() as tx:
        for ids in made.nodes.values():
            tx.execute(
                "INSERT INTO neurigraph.warm_nodes (user_id, node_id, expires_at) "
                "SELECT g.user_id, g.node_id, now() + interval '1 hour' FROM neurigraph.graph_index AS g "
                "WHERE g.node_id = %s ON CONFLICT DO NOTHING",
                [ids.node],
            )
            tx.execute(
                "INSERT INTO neurigraph.facts (fact_id, record_id, user_id, seq, first_message, last_message, "
                "statement, kind, stated_as, confidence, importance, impact, extractor, statement_key) "
                "SELECT gen_random_uuid(), r.record_id, r.user_id, 99, 1, 1, 'Planted.', "
                "'other', 'statement', 0.5, 0.5, 'low', 'tests', 1 "
                "FROM neurigraph.record_index AS r WHERE r.record_id = %s",
                [ids.record],
            )
            wait_for_reading(tx, [ids.record])
            tx.execute(
                "INSERT INTO neurigraph.read_windows (record_id, digest, user_id, facts) "
                "SELECT r.record_id, sha256('planted'), r.user_id, '[]' "
                "FROM neurigraph.record_index AS r WHERE r.record_id = %s",
                [ids.record],
            )
            tx.execute(
                "INSERT INTO neurigraph.fact_verdicts (later_id, earlier_id, user_id, verdict, confidence, reason, "
                "effect, judged_by) "
                "SELECT a.fact_id, b.fact_id, a.user_id, 'supports', 0.5, 'planted', 'none', 'tests' "
                "FROM neurigraph.facts AS a INNER JOIN neurigraph.facts AS b ON a.record_id = b.record_id "
                "WHERE a.record_id = %s AND a.fact_id <> b.fact_id LIMIT 1",
                [ids.record],
            )
            tx.execute(
                "INSERT INTO neurigraph.digest_failures (node_id, user_id, days, starts_at, covers, attempts, "
                "next_attempt_at, error) SELECT g.node_id, g.user_id, 7, now(), 'shared', 1, now(), 'ProviderError' "
                "FROM neurigraph.graph_index AS g WHERE g.node_id = %s ON CONFLICT DO NOTHING",
                [ids.node],
            )
    return made
