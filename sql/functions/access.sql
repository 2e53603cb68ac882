-- Claims and access: the caller of a statement, and the nodes and sources that the caller may read and write.

-- The signed claims of the transaction, or null without a valid signature or after the claims expired. Programs sign
-- claims right before they send them. Claims that are two minutes older or newer than the transaction show that the
-- clock of the program is wrong, and then the function raises an error, so that nobody takes a wrong clock for an empty
-- answer. Ten seconds of age are normal, because programs reuse signatures for ten seconds. The limit is two minutes,
-- so that the lifetime of claims (five minutes) suffices for every statement (half a minute) and its wait for a
-- connection (half a minute).
CREATE OR REPLACE FUNCTION neurigraph.claims() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    payload text := current_setting('request.jwt.claims', true);
    signature text := current_setting('neurigraph.claims_signature', true);
    expected bytea;
    stated jsonb;
    behind double precision;
BEGIN
    IF coalesce(payload, '') = '' OR coalesce(signature, '') = '' THEN
        RETURN NULL;
    END IF;
    SELECT sha256(k.outer_pad || sha256(k.inner_pad || convert_to(payload, 'UTF8'))) INTO expected
    FROM neurigraph_private.claims_key AS k;
    IF expected IS NULL OR encode(expected, 'hex') <> signature THEN
        RETURN NULL;
    END IF;
    stated := payload::jsonb;
    behind := extract(EPOCH FROM now())::double precision - (stated ->> 'iat')::double precision;
    IF abs(behind) > 120 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'NG001',
            MESSAGE = format(
                'the clock of this program is %s seconds %s that of the database, and at most 120 are allowed',
                round(abs(behind)), CASE WHEN behind > 0 THEN 'behind' ELSE 'ahead of' END
            );
    END IF;
    IF NOT coalesce((stated ->> 'exp')::numeric > extract(EPOCH FROM clock_timestamp()), false) THEN
        RETURN NULL;
    END IF;
    RETURN stated;
END
$$;

-- Set the signed claims of the transaction and return them if they are valid. Functions that get claims as arguments
-- call it, which saves a statement.
CREATE OR REPLACE FUNCTION neurigraph_private.set_claims(payload text, signature text) RETURNS jsonb
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM
        set_config('request.jwt.claims', payload, true), set_config('neurigraph.claims_signature', signature, true);
    RETURN neurigraph.claims();
END
$$;

-- The owner of a graph if the caller is that owner, else null.
CREATE OR REPLACE FUNCTION neurigraph.asking_user_id() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN c.stated ->> 'role' = 'user' THEN (c.stated ->> 'user_id')::uuid END
    FROM (SELECT neurigraph.claims() AS stated) AS c
$$;

-- The owner of a graph if the caller acts for that owner within spaces, else null.
CREATE OR REPLACE FUNCTION neurigraph.bound_user_id() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN c.stated ->> 'role' = 'bound' THEN (c.stated ->> 'user_id')::uuid END
    FROM (SELECT neurigraph.claims() AS stated) AS c
$$;

-- The container tags that the caller is limited to; null means no limit.
CREATE OR REPLACE FUNCTION neurigraph.asking_tags() RETURNS text []
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN c.stated ? 'container_tags'
        THEN ARRAY(SELECT t.tag FROM jsonb_array_elements_text(c.stated -> 'container_tags') AS t (tag)) END
    FROM (SELECT neurigraph.claims() AS stated) AS c
$$;

-- The key of a caller's limit to spaces, equal for callers of the same spaces; null means no limit.
CREATE OR REPLACE FUNCTION neurigraph.asking_binding() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT md5(array_to_string(ARRAY(SELECT t.tag FROM unnest(neurigraph.asking_tags()) AS t (tag) ORDER BY t.tag), ','))::uuid
    WHERE neurigraph.asking_tags() IS NOT NULL
$$;

-- The node of the persona that the claims name, or null if the graph has no such persona (any more).
CREATE OR REPLACE FUNCTION neurigraph_private.persona_of(asking jsonb) RETURNS uuid
LANGUAGE sql STABLE AS $$
    SELECT g.node_id FROM neurigraph.graph_index AS g
    WHERE g.node_id = CASE
        WHEN asking ->> 'role' = 'persona' AND asking ->> 'sub' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN (asking ->> 'sub')::uuid
    END
        AND g.user_id = (asking ->> 'user_id')::uuid AND g.node_type = 'persona'
$$;

-- The member of an organization that the claims name, or null if the membership has ended.
CREATE OR REPLACE FUNCTION neurigraph_private.member_of(asking jsonb) RETURNS uuid
LANGUAGE sql STABLE AS $$
    SELECT m.member_id FROM neurigraph.organization_members AS m
    WHERE m.member_id = CASE
        WHEN asking ->> 'role' = 'member' AND asking ->> 'sub' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN (asking ->> 'sub')::uuid
    END
        AND m.user_id = (asking ->> 'user_id')::uuid AND m.ended_at IS NULL
$$;

-- The nodes that a caller other than the owner reaches. A member of an organization reads all nodes. A persona reads
-- its own node and all nodes below it. Every other right is granted node by node: a grant opens the node that it names,
-- and no node above, beside or below it. Writing always needs a grant. A caller that is limited to spaces reaches only
-- nodes that lead to a record in these spaces; if the caller acts for the owner, it reaches all such nodes.
CREATE OR REPLACE FUNCTION neurigraph_private.reach(asking jsonb, wanted neurigraph.grant_type) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 100 SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    IF asking ->> 'role' = 'bound' THEN
        RETURN QUERY SELECT n.node_id FROM neurigraph_private.nodes_in_spaces(asking) AS n (node_id);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT r.node_id
    FROM (
        SELECT g.node_id FROM neurigraph.graph_index AS g
        WHERE wanted = 'read' AND g.path @> ARRAY[neurigraph_private.persona_of(asking)]
        UNION ALL
        SELECT g.node_id FROM neurigraph.graph_index AS g
        WHERE wanted = 'read' AND g.user_id = (asking ->> 'user_id')::uuid
            AND (SELECT neurigraph_private.member_of(asking) IS NOT NULL)
        UNION ALL
        SELECT t.target_node_id FROM neurigraph.permission_grants AS t
        WHERE t.user_id = (asking ->> 'user_id')::uuid
            AND t.subject_id = asking ->> 'sub' AND t.subject_type::text = asking ->> 'role'
            AND (t.subject_type = 'third_party' OR neurigraph_private.persona_of(asking) IS NOT NULL)
            AND (wanted = 'read' OR t.grant_type = wanted)
            AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
    ) AS r
    WHERE NOT asking ? 'container_tags'
        OR r.node_id IN (SELECT n.node_id FROM neurigraph_private.nodes_in_spaces(asking) AS n (node_id));
END
$$;

-- The nodes that a caller may read: the single definition, used by the policies of node tables (may_read_node) and by
-- every function that runs with the owner's rights. Pass only the result of claims().
CREATE OR REPLACE FUNCTION neurigraph.visible_nodes(asking jsonb) RETURNS SETOF neurigraph.graph_index
LANGUAGE sql STABLE AS $$
    SELECT g.* FROM neurigraph.graph_index AS g
    WHERE g.user_id = (asking ->> 'user_id')::uuid AND NOT g.quarantined
        AND (
            (
                SELECT asking ->> 'role' = 'user'
                    OR (neurigraph_private.member_of(asking) IS NOT NULL AND NOT asking ? 'container_tags')
            )
            OR g.node_id IN (SELECT r.node_id FROM neurigraph_private.reach(asking, 'read') AS r (node_id))
        )
$$;

-- The sources of the graph that are hidden from the caller, in a single definition. Private sources are hidden from
-- everybody but the owner, except that a member of an organization sees the member's own ones. From a caller that is
-- limited to spaces, all sources outside these spaces are hidden. Pass only the result of claims().
CREATE OR REPLACE FUNCTION neurigraph_private.hidden_sources(asking jsonb) RETURNS uuid []
LANGUAGE plpgsql STABLE SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    acts_for_owner boolean NOT NULL := coalesce(asking ->> 'role' IN ('user', 'bound'), false);
BEGIN
    IF asking ? 'container_tags' THEN
        RETURN ARRAY(
            SELECT s.source_id FROM neurigraph.sources AS s
            WHERE s.user_id = (asking ->> 'user_id')::uuid AND NOT (
                (acts_for_owner OR s.privacy <> 'private')
                AND s.source_id IN (SELECT m.source_id FROM neurigraph_private.sources_in_spaces(asking) AS m (source_id))
            )
        );
    END IF;
    RETURN CASE WHEN acts_for_owner THEN '{}'::uuid [] ELSE ARRAY(
        SELECT s.source_id FROM neurigraph.sources AS s
        WHERE s.user_id = (asking ->> 'user_id')::uuid AND s.privacy = 'private'
            AND coalesce(s.member_id <> (SELECT neurigraph_private.member_of(asking)), true)
    ) END;
END
$$;

-- The sources that are hidden from the caller, for the policies of all tables that describe records: evaluated once a
-- statement.
CREATE OR REPLACE FUNCTION neurigraph.hidden_sources() RETURNS uuid []
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT neurigraph_private.hidden_sources(neurigraph.claims())
$$;

-- The deltas of the graph that a quarantine in force hides from everybody, the owner included.
CREATE OR REPLACE FUNCTION neurigraph.hidden_deltas() RETURNS uuid []
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(
        SELECT q.delta_id FROM neurigraph.quarantined_deltas AS q WHERE q.user_id = neurigraph.asking_user_id()
    )
$$;

-- Whether the caller may see figures that are counted over whole nodes (words, speakers, mean vectors): not if such a
-- figure counts a hidden source, and never within spaces. For a caller without these figures all words are equally
-- rare.
CREATE OR REPLACE FUNCTION neurigraph_private.counts_are_visible(asking jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN asking ->> 'role' = 'user' OR (
        NOT asking ? 'container_tags' AND NOT EXISTS (
            SELECT FROM neurigraph.sources AS s
            INNER JOIN neurigraph.record_index AS r ON s.user_id = r.user_id AND r.source_id = s.source_id
            WHERE s.source_id = ANY(neurigraph_private.hidden_sources(asking))
                AND r.node_id IN (SELECT v.node_id FROM neurigraph.visible_nodes(asking) AS v)
        )
    );
END
$$;

-- Whether the caller may read a node. The function is in PL/pgSQL because its plans are cached once a connection: an
-- SQL function would be planned for each statement.
CREATE OR REPLACE FUNCTION neurigraph.may_read_node(wanted uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
BEGIN
    RETURN EXISTS (SELECT FROM neurigraph.visible_nodes(asking) AS g WHERE g.node_id = wanted);
END
$$;

-- Whether a node is a mount node of a peer, or lies below a mount node. Nobody writes to such nodes.
CREATE OR REPLACE FUNCTION neurigraph_private.is_mirror(wanted uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.peers AS p WHERE p.mount_node_id = wanted
        UNION ALL
        SELECT FROM neurigraph.mirrored_nodes AS m WHERE m.node_id = wanted
    )
$$;

-- The rule for the caller's writes to a node: `any` for the owner; the `write` field of the node's standard for a
-- caller with a grant to write, and for a member; null for callers who may not write.
CREATE OR REPLACE FUNCTION neurigraph_private.write_rule(asking jsonb, wanted uuid) RETURNS text
LANGUAGE plpgsql STABLE SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    IF neurigraph_private.is_mirror(wanted) OR NOT EXISTS (
        SELECT FROM neurigraph.graph_index AS g
        WHERE g.node_id = wanted AND g.user_id = (asking ->> 'user_id')::uuid
            AND (
                asking ->> 'role' = 'user' OR neurigraph_private.member_of(asking) IS NOT NULL
                OR g.node_id IN (SELECT r.node_id FROM neurigraph_private.reach(asking, 'read_write') AS r (node_id))
            )
    ) THEN
        RETURN NULL;
    END IF;
    RETURN CASE
        WHEN asking ->> 'role' IN ('user', 'bound') THEN 'any'
        ELSE (SELECT s.value FROM neurigraph_private.standard_of(wanted) AS s WHERE s.field = 'write')
    END;
END
$$;

-- Whether the caller may write to a node without an approval, which includes changes of memories of others, so members
-- may not. In PL/pgSQL for its cached plans, as may_read_node.
CREATE OR REPLACE FUNCTION neurigraph.may_write_node(wanted uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    RETURN coalesce(
        neurigraph.claims() ->> 'role' <> 'member'
        AND neurigraph_private.write_rule(neurigraph.claims(), wanted) IN ('any', 'registered'), false
    );
END
$$;

-- Whether the caller may hand in a note for a node, even if the note then waits for an approval. Notes of members never
-- wait, so a member may not where an approval is needed.
CREATE OR REPLACE FUNCTION neurigraph.may_hand_in(wanted uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    RETURN coalesce(
        neurigraph_private.write_rule(neurigraph.claims(), wanted) = ANY(
            CASE WHEN neurigraph.claims() ->> 'role' = 'member' THEN ARRAY['any', 'registered']
                ELSE ARRAY['any', 'registered', 'approve'] END
        ), false
    );
END
$$;

-- The nodes that a caller other than the owner may read; no rows for the owner, for whom other policies apply.
CREATE OR REPLACE FUNCTION neurigraph.readable_nodes() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.node_id
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    CROSS JOIN LATERAL neurigraph_private.reach(c.asking, 'read') AS r (node_id)
$$;

-- The node of the calling persona, if the persona may write to at least one node.
CREATE OR REPLACE FUNCTION neurigraph.writing_persona() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT neurigraph_private.persona_of(c.asking)
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    WHERE EXISTS (SELECT FROM neurigraph_private.reach(c.asking, 'read_write'))
$$;

-- The sources that the caller handed in as a persona that may still write. Policies of tables with sources call this
-- function, so that the policies of sources are not planned again for each table.
CREATE OR REPLACE FUNCTION neurigraph.handed_in_sources() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.source_id FROM neurigraph.sources AS s WHERE s.persona_id = neurigraph.writing_persona()
$$;

-- The segments of the sources that the caller handed in as a persona that may still write.
CREATE OR REPLACE FUNCTION neurigraph.handed_in_triggers() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.trigger_id
    FROM neurigraph.storage_triggers AS t
    INNER JOIN neurigraph.sources AS s ON t.source_id = s.source_id
    WHERE s.persona_id = neurigraph.writing_persona()
$$;

-- The nodes in which the pipeline may file messages of a persona.
CREATE OR REPLACE FUNCTION neurigraph.writable_nodes(persona uuid) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.node_id
    FROM neurigraph.graph_index AS g
    CROSS JOIN LATERAL neurigraph_private.reach(
        jsonb_build_object('role', 'persona', 'sub', g.node_id, 'user_id', g.user_id), 'read_write'
    ) AS r (node_id)
    WHERE g.node_id = persona
$$;

-- The nodes that an answer may depend on, computed once a question. Null means all nodes: for the owner, and for a
-- member from whom nothing is hidden. Other callers learn nothing of other nodes, not even through a score. Pass only
-- the result of claims().
CREATE OR REPLACE FUNCTION neurigraph_private.visible_node_ids(asking jsonb) RETURNS uuid []
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF asking ->> 'role' = 'user' OR (
        neurigraph_private.member_of(asking) IS NOT NULL AND NOT asking ? 'container_tags'
        AND neurigraph_private.hidden_sources(asking) = '{}'
    ) THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(SELECT v.node_id FROM neurigraph.visible_nodes(asking) AS v);
END
$$;

-- The nodes of a graph, limited to the result of visible_node_ids().
CREATE OR REPLACE FUNCTION neurigraph_private.nodes_of(owner uuid, visible uuid []) RETURNS SETOF neurigraph.graph_index
LANGUAGE sql STABLE AS $$
    SELECT g.* FROM neurigraph.graph_index AS g
    -- For a CASE the planner estimates half of the nodes, and for an OR almost none.
    WHERE g.user_id = owner AND NOT g.quarantined AND CASE WHEN visible IS NULL THEN true ELSE g.node_id = ANY(visible) END
$$;

-- The edges of a graph between nodes of visible_node_ids(), with evidence that the caller sees.
CREATE OR REPLACE FUNCTION neurigraph_private.edges_of(owner uuid, visible uuid []) RETURNS SETOF neurigraph.node_edges
LANGUAGE sql STABLE AS $$
    SELECT e.* FROM neurigraph.node_edges AS e
    WHERE e.user_id = owner AND e.evidence_count > 0
        AND (
            (visible IS NULL AND e.valid <> '{}')
            OR (
                e.from_node_id = ANY(visible) AND e.to_node_id = ANY(visible)
                AND EXISTS (
                    SELECT FROM neurigraph.edge_evidence AS v
                    LEFT JOIN neurigraph.record_index AS i ON v.record_id = i.record_id
                    WHERE v.edge_id = e.edge_id AND (
                        (v.stated IS NOT NULL AND NOT (SELECT neurigraph.asking_tags() IS NOT NULL))
                        OR (
                            i.node_id = ANY(visible) AND NOT i.quarantined AND i.superseded IS NOT TRUE
                            AND i.source_id <> ALL((SELECT neurigraph.hidden_sources())::uuid [])
                        )
                    )
                )
            )
        )
$$;

REVOKE ALL ON FUNCTION neurigraph.claims(), neurigraph.asking_user_id(), neurigraph.visible_nodes(jsonb),
neurigraph.bound_user_id(), neurigraph.asking_tags(), neurigraph.asking_binding(), neurigraph.hidden_sources(),
neurigraph.hidden_deltas(), neurigraph.may_read_node(uuid), neurigraph.may_write_node(uuid),
neurigraph.may_hand_in(uuid), neurigraph.readable_nodes(), neurigraph.writing_persona(),
neurigraph.writable_nodes(uuid), neurigraph.handed_in_sources(), neurigraph.handed_in_triggers() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.claims(), neurigraph.asking_user_id(), neurigraph.bound_user_id(),
neurigraph.asking_tags(), neurigraph.asking_binding(), neurigraph.hidden_sources(), neurigraph.hidden_deltas(),
neurigraph.may_read_node(uuid), neurigraph.may_write_node(uuid), neurigraph.may_hand_in(uuid),
neurigraph.readable_nodes(), neurigraph.writing_persona(), neurigraph.handed_in_sources(),
neurigraph.handed_in_triggers() TO neurigraph_agent, neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.writable_nodes(uuid) TO neurigraph_pipeline;
