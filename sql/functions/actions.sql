-- Actions: proposing each action once.

-- A digest of the state of an action's subject. An action is carried out only if the digest is the same as at the
-- proposal. The digest leaves out values that doubts and approvals change themselves: the node of a record, whether a
-- fact is disputed, and the place of a fact in its chain. The digest has place 1 for every fact, as for a fact without
-- versions.
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
                            AND (d.delta_payload ->> 'operation' <> 'refile' OR d.delta_payload -> 'after' <> '{}')
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

-- The key that recognises a repeated proposal. A contradiction or a merge has the same key in either direction.
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

-- The default expiry of an action. The setting of the installation comes as hours in a parameter of the connection. A
-- caller who sets the parameter in SQL moves only the expiry of its own actions.
CREATE OR REPLACE FUNCTION neurigraph_private.expiry_of_actions() RETURNS timestamptz
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT clock_timestamp() + least(
        greatest(
            coalesce(nullif(current_setting('neurigraph.action_hours', true), '')::double precision, 24), 0.1
        ),
        8760
    ) * interval '1 hour'
$$;

-- Put an action into the queue, unless the queue has it. A decided doubt is not asked again while its subject is
-- unchanged. Returns no row if a subject of the action is gone or belongs to another user.
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
    -- Callers who propose the same action at once take turns.
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
        source_id, message, details, persona_id, job, expires_at, expected, digest
    )
    VALUES (
        asked.user_id, asked.kind, asked.origin, asked.reason, asked.node_id, asked.other_node_id, asked.record_id,
        asked.other_record_id, asked.fact_id, asked.other_fact_id, asked.source_id, asked.message, asked.details,
        asked.persona_id, asked.job, asked.expires_at, asked.expected, asked.digest
    )
    RETURNING a.action_id, a.state, true;
END
$$;

-- The persona that asks; null for other callers.
CREATE OR REPLACE FUNCTION neurigraph.asking_persona() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT neurigraph_private.persona_of(neurigraph.claims())
$$;

-- Whether the standard of its node lets a persona decide about an action now. No caller decides an action that the
-- caller asked for, and only the owner decides doubts.
CREATE OR REPLACE FUNCTION neurigraph_private.persona_may_decide(asked neurigraph.actions, persona uuid)
RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT asked.origin = 'policy' AND asked.persona_id IS DISTINCT FROM persona AND EXISTS (
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

-- The actions of a persona: its own, and the actions that it may decide about. The policy of actions also requires that
-- the persona sees the subjects.
CREATE OR REPLACE FUNCTION neurigraph.actions_of_persona() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.action_id
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    CROSS JOIN LATERAL neurigraph_private.persona_of(c.asking) AS p (persona)
    INNER JOIN neurigraph.actions AS a ON a.user_id = (c.asking ->> 'user_id')::uuid
    WHERE p.persona IS NOT NULL
        AND (a.persona_id = p.persona OR neurigraph_private.persona_may_decide(a, p.persona))
$$;

-- The last check before an action is carried out, in the same transaction: whether the action is still approved,
-- whether its subjects are unchanged since the proposal, and whether the requester may still write to the node.
CREATE OR REPLACE FUNCTION neurigraph.lock_approved(wanted uuid)
RETURNS TABLE (is_as_expected boolean, may_write boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        a.expected = neurigraph_private.expectation(a),
        a.job IS NOT NULL OR a.node_id IN (
            SELECT w.node_id FROM neurigraph.writable_nodes(a.persona_id) AS w (node_id)
        )
    FROM neurigraph.actions AS a
    WHERE a.action_id = wanted AND a.state = 'approved'
    FOR UPDATE
$$;

-- The text of a held note, for its writer and for callers who may decide about it: both see the action.
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

-- Actions of nodes that are about to be merged away. Actions about the node itself are deleted, because nobody approved
-- them for the other node. The running merge, actions about records and held notes pass to the successor, whose
-- standard applies from then on.
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

REVOKE ALL ON FUNCTION neurigraph.propose_action(jsonb), neurigraph.lock_approved(uuid), neurigraph.asking_persona(),
neurigraph.actions_of_persona(), neurigraph.held_text(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.propose_action(jsonb), neurigraph.lock_approved(uuid) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.asking_persona(), neurigraph.actions_of_persona(), neurigraph.held_text(uuid)
TO neurigraph_agent;
