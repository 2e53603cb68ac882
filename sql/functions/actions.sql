-- Actions: proposing them, once each.

-- The present state of the subject of an action: an action is carried out only if the subject is in the state that it
-- had when the action was proposed. Neither the node of a record nor whether a fact is disputed counts, since a doubt
-- itself changes that; nor does the place of a fact in its chain, which each approval about the same chain changes. A
-- lone fact has place 1.
CREATE OR REPLACE FUNCTION neurigraph_private.expectation(asked neurigraph.actions) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT md5(jsonb_build_array(
        (
            SELECT jsonb_agg(
                jsonb_build_array(f.fact_id, f.statement, 1, f.status = 'archived', f.valid_until)
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

-- The key by which the same proposal is known: contradictions and merges are the same in either direction.
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

-- When an action expires by default. The hours are a parameter of the connection, from the setting of the installation;
-- a caller who sets them otherwise, in SQL, moves at most the expiry of its own actions.
CREATE OR REPLACE FUNCTION neurigraph_private.expiry_of_actions() RETURNS timestamptz
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT clock_timestamp() + least(
        greatest(
            coalesce(nullif(current_setting('neurigraph.action_hours', true), '')::double precision, 24), 0.1
        ),
        8760
    ) * interval '1 hour'
$$;

-- Put something in the queue, unless it is there. A decided doubt is not asked again while its subject is unchanged. No
-- row if something that it is about is gone, or of another user.
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
    asked.expires_at := coalesce(asked.expires_at, neurigraph_private.expiry_of_actions());
    asked.digest := neurigraph_private.digest_of_action(asked);
    asked.expected := neurigraph_private.expectation(asked);
    -- Callers who propose the same at once take turns.
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

-- The caller who asks or votes, by role and subject, with any key.
CREATE OR REPLACE FUNCTION neurigraph.asking_voter() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (c.stated ->> 'role') || ':' || CASE
        WHEN c.stated ->> 'role' = 'user' THEN c.stated ->> 'user_id' ELSE c.stated ->> 'sub'
    END
    FROM (SELECT neurigraph.claims() AS stated OFFSET 0) AS c
$$;

-- Whether a persona may decide about an action now, as the standard of its node says. No caller decides an action that
-- it asked for, and doubts are the owner's.
CREATE OR REPLACE FUNCTION neurigraph_private.persona_may_decide(asked neurigraph.actions, persona uuid)
RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT asked.origin = 'policy' AND asked.requested_by <> 'persona:' || persona AND EXISTS (
        SELECT FROM neurigraph_private.standard_of(asked.node_id) AS s
        WHERE s.field = 'approver' AND (
            s.value = 'persona:' || persona
            OR (
                s.value LIKE 'consensus:%'
                AND asked.node_id IN (SELECT w.node_id FROM neurigraph.writable_nodes(persona) AS w (node_id))
            )
        )
    ) AND EXISTS (
        SELECT FROM neurigraph.graph_index AS g
        WHERE g.node_id = persona AND g.user_id = asked.user_id AND g.node_type = 'persona'
    )
$$;

-- The actions that a persona may see, if it sees what they are about: its own, and those that it may decide about.
CREATE OR REPLACE FUNCTION neurigraph.actions_of_persona() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.action_id
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    CROSS JOIN LATERAL neurigraph_private.persona_of(c.asking) AS p (persona)
    INNER JOIN neurigraph.actions AS a ON a.user_id = (c.asking ->> 'user_id')::uuid
    WHERE p.persona IS NOT NULL
        AND (a.requested_by = 'persona:' || p.persona OR neurigraph_private.persona_may_decide(a, p.persona))
$$;

-- The last look before an action is carried out, in the transaction that does it: whether it is still to be done,
-- whether what it is about is as it was when it was proposed, and whether who asked for it may still write there.
CREATE OR REPLACE FUNCTION neurigraph.lock_approved(wanted uuid)
RETURNS TABLE (is_as_expected boolean, may_write boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        a.expected = neurigraph_private.expectation(a),
        a.requested_by LIKE 'job:%' OR a.node_id IN (
            SELECT w.node_id
            FROM neurigraph.writable_nodes(nullif(split_part(a.requested_by, 'persona:', 2), '')::uuid) AS w (node_id)
        )
    FROM neurigraph.actions AS a
    WHERE a.action_id = wanted AND a.state = 'approved'
    FOR UPDATE
$$;

-- The text of a held note, for those who decide about it and for its writer: they see the action.
CREATE OR REPLACE FUNCTION neurigraph.held_text(wanted uuid) RETURNS TABLE (title text, content text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.title, m.content
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    INNER JOIN neurigraph.actions AS a ON a.action_id = wanted AND a.user_id = (c.asking ->> 'user_id')::uuid
    INNER JOIN neurigraph.sources AS s ON a.source_id = s.source_id
    INNER JOIN neurigraph.messages AS m ON a.source_id = m.source_id AND a.message = m.seq
    WHERE a.state = 'open' AND (
        c.asking ->> 'role' = 'user'
        OR a.action_id IN (SELECT o.action_id FROM neurigraph.actions_of_persona() AS o (action_id))
    )
$$;

-- Actions of nodes that are about to be merged away: what is about the node itself is void, for nobody approved it of
-- the other one. The merge that is being carried out, what is about records and what waits in the inbox pass to the
-- successor, whose standard applies from then on.
CREATE OR REPLACE FUNCTION neurigraph_private.redirect_actions(nodes uuid [], successors uuid []) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM neurigraph.actions AS a
    WHERE (a.node_id = ANY(nodes) OR a.other_node_id = ANY(nodes)) AND a.record_id IS NULL AND a.source_id IS NULL
        AND NOT (a.kind = 'merge_nodes' AND a.state <> 'open');
    UPDATE neurigraph.actions AS a SET node_id = s.successor
    FROM unnest(nodes, successors) AS s (node_id, successor) WHERE a.node_id = s.node_id;
    UPDATE neurigraph.actions AS a SET other_node_id = s.successor
    FROM unnest(nodes, successors) AS s (node_id, successor) WHERE a.other_node_id = s.node_id;
    UPDATE neurigraph.node_standards AS t SET approver_persona = s.successor
    FROM unnest(nodes, successors) AS s (node_id, successor)
    INNER JOIN neurigraph.graph_index AS g ON s.successor = g.node_id
    WHERE t.approver_persona = s.node_id AND g.node_type = 'persona'
$$;

REVOKE ALL ON FUNCTION neurigraph.propose_action(jsonb), neurigraph.lock_approved(uuid), neurigraph.asking_voter(),
neurigraph.actions_of_persona(), neurigraph.held_text(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.propose_action(jsonb), neurigraph.lock_approved(uuid) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.asking_voter(), neurigraph.actions_of_persona(), neurigraph.held_text(uuid)
TO neurigraph_agent;
