-- Actions: proposing them, once each.

-- What an action is about, as it is now: an action is carried out only if this is as it was when it was proposed.
-- Neither the node of a record nor whether a fact is disputed counts, since a doubt itself changes that.
CREATE OR REPLACE FUNCTION neurigraph_private.expectation(asked neurigraph.actions) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT md5(jsonb_build_array(
        (
            SELECT jsonb_agg(
                jsonb_build_array(f.fact_id, f.statement, f.version, f.status = 'archived', f.valid_until)
                ORDER BY f.fact_id
            )
            FROM neurigraph.facts AS f WHERE f.fact_id IN (asked.fact_id, asked.other_fact_id)
        ),
        (
            SELECT jsonb_agg(
                jsonb_build_array(
                    i.record_id,
                    i.quarantined,
                    (
                        SELECT max(d.w_coordinate) FROM neurigraph.delta_log AS d
                        WHERE d.record_id = i.record_id AND d.delta_payload ->> 'operation' <> 'move'
                    )
                ) ORDER BY i.record_id
            )
            FROM neurigraph.record_index AS i
            WHERE (i.record_id = asked.record_id AND asked.fact_id IS NULL)
                OR (i.record_id = asked.other_record_id AND asked.other_fact_id IS NULL)
        ),
        (
            SELECT jsonb_agg(
                jsonb_build_array(g.node_id, g.node_name, g.parent_node_id, g.node_type) ORDER BY g.node_id
            )
            FROM neurigraph.graph_index AS g
            WHERE asked.kind = 'merge_nodes' AND g.node_id IN (asked.node_id, asked.other_node_id)
        ),
        (
            SELECT jsonb_build_array(s.title, s.last_message) FROM neurigraph.sources AS s
            WHERE s.source_id = asked.source_id
        )
    )::text)
$$;

-- By what the same proposal is known: contradictions and merges are the same whichever way round.
CREATE OR REPLACE FUNCTION neurigraph_private.digest_of_action(asked neurigraph.actions) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT md5(jsonb_build_array(
        asked.kind, asked.details ->> 'relation', asked.source_id, asked.message,
        CASE WHEN t.turned THEN t.there ELSE t.here END, CASE WHEN t.turned THEN t.here ELSE t.there END
    )::text)
    FROM (
        SELECT
            e.here, e.there, asked.kind IN ('resolve', 'merge_nodes') AND e.here > e.there AS turned
        FROM (
            SELECT
                coalesce(asked.fact_id, asked.record_id, asked.source_id, asked.node_id) AS here,
                coalesce(asked.other_fact_id, asked.other_record_id, asked.other_node_id) AS there
        ) AS e
    ) AS t
$$;

-- Put something in the queue, unless it is there. A doubt that was decided is not asked again while what it is about
-- is as it was. No row if something that it is about is gone, or of another user.
CREATE OR REPLACE FUNCTION neurigraph.propose_action(proposed jsonb)
RETURNS TABLE (action_id uuid, state text, created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asked neurigraph.actions := jsonb_populate_record(NULL::neurigraph.actions, proposed);
BEGIN
    IF asked.fact_id IS NOT NULL THEN
        asked.record_id := (
            SELECT f.record_id FROM neurigraph.facts AS f
            WHERE f.fact_id = asked.fact_id AND f.user_id = asked.user_id
        );
    END IF;
    IF asked.other_fact_id IS NOT NULL THEN
        asked.other_record_id := (
            SELECT f.record_id FROM neurigraph.facts AS f
            WHERE f.fact_id = asked.other_fact_id AND f.user_id = asked.user_id
        );
        IF asked.other_record_id IS NULL THEN
            RETURN;
        END IF;
    END IF;
    IF asked.fact_id IS NOT NULL OR asked.record_id IS NOT NULL THEN
        asked.node_id := (
            SELECT i.node_id FROM neurigraph.record_index AS i
            WHERE i.record_id = asked.record_id AND i.user_id = asked.user_id
        );
    END IF;
    IF NOT EXISTS (
        SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = asked.node_id AND g.user_id = asked.user_id
    ) OR asked.other_node_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = asked.other_node_id AND g.user_id = asked.user_id
    ) OR asked.other_record_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM neurigraph.record_index AS i
        WHERE i.record_id = asked.other_record_id AND i.user_id = asked.user_id
    ) THEN
        RETURN;
    END IF;
    asked.details := coalesce(asked.details, '{}');
    asked.digest := neurigraph_private.digest_of_action(asked);
    asked.expected := neurigraph_private.expectation(asked);
    -- Those who propose the same at once take turns.
    PERFORM pg_advisory_xact_lock(hashtextextended('neurigraph.action:' || asked.user_id || asked.digest, 0));
    RETURN QUERY
    SELECT a.action_id, a.state, false FROM neurigraph.actions AS a
    WHERE a.user_id = asked.user_id AND a.digest = asked.digest
        AND (
            a.state IN ('open', 'approved')
            OR (a.origin = 'doubt' AND a.state IN ('executed', 'rejected') AND a.expected = asked.expected)
        )
    ORDER BY a.requested_at DESC
    LIMIT 1;
    IF FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    INSERT INTO neurigraph.actions AS a (
        user_id, kind, origin, reason, node_id, other_node_id, record_id, other_record_id, fact_id, other_fact_id,
        source_id, message, details, requested_by, expires_at, expected, digest
    )
    VALUES (
        asked.user_id, asked.kind, asked.origin, asked.reason, asked.node_id, asked.other_node_id, asked.record_id,
        asked.other_record_id, asked.fact_id, asked.other_fact_id, asked.source_id, asked.message, asked.details,
        asked.requested_by, asked.expires_at, asked.expected, asked.digest
    )
    RETURNING a.action_id, a.state, true;
END
$$;

REVOKE ALL ON FUNCTION neurigraph_private.expectation(neurigraph.actions),
neurigraph_private.digest_of_action(neurigraph.actions), neurigraph.propose_action(jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.propose_action(jsonb) TO neurigraph_pipeline;
