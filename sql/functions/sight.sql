-- Whether a caller may see something by its id. An interface calls this function before it looks up anything: an id
-- that is hidden takes the same path and the same time as an id that does not exist.

-- The rights of a caller are computed before the id is looked up. Policies compute rights only for rows that exist, and
-- the difference in time can be measured from outside. The policies still decide: this function may let through rows
-- that they hide, such as an upload to a caller who sees none of its records, and hides no row that they show.
CREATE OR REPLACE FUNCTION neurigraph.sees(payload text, signature text, of_kind text, wanted uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph_private.set_claims(payload, signature);
    graph uuid := asking ->> 'user_id';
    is_owner boolean NOT NULL := coalesce(asking ->> 'role' = 'user', false);
    readable uuid [] := ARRAY(SELECT r.node_id FROM neurigraph_private.reach(asking, 'read') AS r (node_id));
    hidden uuid [] := neurigraph_private.hidden_sources(asking);
    author uuid := coalesce(neurigraph_private.persona_of(asking), neurigraph_private.member_of(asking));
    heard boolean := EXISTS (
        SELECT FROM neurigraph.record_index AS r
        WHERE r.user_id = graph AND r.node_id = ANY(readable) AND r.source_id = wanted
    );
BEGIN
    RETURN EXISTS (
        SELECT
        FROM (
            SELECT g.user_id, g.node_id, NULL::uuid AS source_id, NULL::uuid AS persona_id, g.quarantined
            FROM neurigraph.graph_index AS g WHERE of_kind = 'node' AND g.node_id = wanted
            UNION ALL
            SELECT r.user_id, r.node_id, r.source_id, NULL, r.quarantined
            FROM neurigraph.record_index AS r WHERE of_kind = 'record' AND r.record_id = wanted
            UNION ALL
            -- A record of the archive may be restored.
            SELECT
                r.user_id, r.node_id, r.source_id, NULL,
                r.quarantined AND NOT EXISTS (
                    SELECT FROM neurigraph.record_retention AS t
                    WHERE t.record_id = r.record_id AND t.archived_at IS NOT NULL
                )
            FROM neurigraph.record_index AS r WHERE of_kind = 'kept record' AND r.record_id = wanted
            UNION ALL
            SELECT
                r.user_id, r.node_id, r.source_id, NULL,
                r.quarantined OR f.forgotten_at IS NOT NULL OR coalesce(f.forget_after <= now(), false)
            FROM neurigraph.facts AS f INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
            WHERE of_kind = 'fact' AND f.fact_id = wanted
            UNION ALL
            SELECT f.user_id, f.node_id, r.source_id, NULL, r.quarantined
            FROM neurigraph.file_index AS f INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
            WHERE of_kind = 'file' AND f.file_id = wanted
            UNION ALL
            SELECT e.user_id, e.from_node_id, NULL, NULL, e.evidence_count = 0
            FROM neurigraph.node_edges AS e WHERE of_kind = 'edge' AND e.edge_id = wanted
            UNION ALL
            SELECT
                l.user_id, r.node_id, r.source_id, NULL,
                r.quarantined OR coalesce(
                    t.quarantined
                    OR NOT (is_owner OR (t.node_id = ANY(readable) AND t.source_id <> ALL(hidden))),
                    false
                )
            FROM neurigraph.links AS l
            INNER JOIN neurigraph.record_index AS r ON l.from_record_id = r.record_id
            LEFT JOIN neurigraph.record_index AS t ON l.to_record_id = t.record_id
            WHERE of_kind = 'link' AND l.link_id = wanted
            UNION ALL
            SELECT
                v.user_id, r.node_id, r.source_id, NULL,
                r.quarantined OR t.quarantined OR f.forgotten_at IS NOT NULL OR e.forgotten_at IS NOT NULL
                OR coalesce(least(f.forget_after, e.forget_after) <= now(), false)
                OR NOT (is_owner OR (t.node_id = ANY(readable) AND t.source_id <> ALL(hidden)))
            FROM neurigraph.fact_verdicts AS v
            INNER JOIN neurigraph.facts AS f ON v.later_id = f.fact_id
            INNER JOIN neurigraph.facts AS e ON v.earlier_id = e.fact_id
            INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
            INNER JOIN neurigraph.record_index AS t ON e.record_id = t.record_id
            WHERE of_kind = 'link' AND v.link_id = wanted
            UNION ALL
            SELECT k.user_id, NULL, NULL, k.persona_id, false
            FROM neurigraph.signing_keys AS k WHERE of_kind = 'signing_key' AND k.key_id = wanted
            UNION ALL
            -- Everybody who sees a link also sees the key that signed it.
            SELECT k.user_id, r.node_id, r.source_id, NULL, r.quarantined
            FROM neurigraph.signing_keys AS k
            LEFT JOIN neurigraph.links AS l ON k.key_id IN (l.key_id, l.end_key_id)
            LEFT JOIN neurigraph.record_index AS r ON l.from_record_id = r.record_id
            WHERE of_kind = 'signing_key' AND k.key_id = wanted
            UNION ALL
            SELECT s.user_id, NULL, s.source_id, coalesce(s.persona_id, s.member_id), false
            FROM neurigraph.sources AS s WHERE of_kind = 'source' AND s.source_id = wanted
            UNION ALL
            SELECT k.user_id, NULL, NULL, NULL, false
            FROM neurigraph.api_keys AS k WHERE of_kind = 'key' AND k.key_id = wanted
            UNION ALL
            SELECT t.user_id, NULL, NULL, NULL, false
            FROM neurigraph.permission_grants AS t WHERE of_kind = 'grant' AND t.grant_id = wanted
            UNION ALL
            SELECT p.user_id, NULL, NULL, NULL, false
            FROM neurigraph.pipeline_failures AS p WHERE of_kind = 'failure' AND p.failure_id = wanted
            UNION ALL
            SELECT q.user_id, NULL, NULL, NULL, false
            FROM neurigraph.quarantines AS q WHERE of_kind = 'quarantine' AND q.quarantine_id = wanted
            UNION ALL
            SELECT a.user_id, a.node_id, NULL, NULL, false
            FROM neurigraph.actions AS a WHERE of_kind = 'action' AND a.action_id = wanted
            UNION ALL
            SELECT w.user_id, NULL, NULL, NULL, false
            FROM neurigraph.webhooks AS w WHERE of_kind = 'webhook' AND w.webhook_id = wanted
            UNION ALL
            SELECT p.user_id, NULL, NULL, NULL, p.container_tag <> ALL(coalesce(neurigraph.asking_tags(), '{}'))
            FROM neurigraph.spaces AS p WHERE of_kind = 'space' AND p.space_id = wanted
            UNION ALL
            SELECT
                d.user_id, (array_agg(i.node_id))[1], NULL, NULL,
                bool_or(
                    i.quarantined OR i.node_id <> ALL(readable) OR i.source_id = ANY(hidden)
                )
            FROM neurigraph.digests AS d
            INNER JOIN neurigraph.digest_records AS r ON d.digest_id = r.digest_id
            INNER JOIN neurigraph.record_index AS i ON r.record_id = i.record_id
            WHERE of_kind = 'digest' AND d.digest_id = wanted
            GROUP BY d.digest_id
            UNION ALL
            -- A forgotten memory has a receipt, which the owner may read again.
            SELECT e.user_id, NULL, NULL, NULL, false
            FROM neurigraph.erasures AS e WHERE of_kind IN ('node', 'record', 'fact') AND e.subject_id = wanted
        ) AS found
        WHERE found.user_id = graph
            AND (
                is_owner
                OR (
                    NOT found.quarantined
                    AND (found.source_id IS NULL OR found.source_id <> ALL(hidden))
                    AND (found.node_id = ANY(readable) OR found.persona_id = author
                        OR (of_kind = 'source' AND (heard OR asking ->> 'role' = 'bound'))
                        OR (of_kind = 'space' AND asking ? 'container_tags'))
                )
            )
    );
END
$$;

REVOKE ALL ON FUNCTION neurigraph.sees(text, text, text, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.sees(text, text, text, uuid) TO neurigraph_agent;

-- The summary of a node for a caller. A summary describes the whole node, so a caller within spaces gets none. The
-- summary of a person may rest on memories of other nodes, so others than the owner get only the counts of this node.
CREATE OR REPLACE FUNCTION neurigraph.summary_for(
    kind neurigraph.concept_kind, summary text, is_within_spaces boolean, sees_all boolean
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN is_within_spaces THEN ''
        WHEN kind = 'person' AND NOT sees_all
            THEN coalesce(substring(summary FROM '(?:1 memory|[0-9,]+ memories) from .*'), '')
        ELSE summary
    END
$$;

REVOKE ALL ON FUNCTION neurigraph.summary_for(neurigraph.concept_kind, text, boolean, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.summary_for(neurigraph.concept_kind, text, boolean, boolean)
TO neurigraph_agent, neurigraph_pipeline;
