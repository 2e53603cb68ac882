-- The evidence of what stood before evidence was kept. A commit writes all its rows at one moment, by which the record
-- of an edge, a candidate or a node is known; of an edge that many records state, the first and the last one are. It
-- runs for databases and exports of earlier versions, and does nothing where evidence is complete.

-- The record that a commit of a moment stored, one of the given nodes first.
CREATE OR REPLACE FUNCTION neurigraph_private.record_of_moment(owner uuid, moment timestamptz, near uuid [])
RETURNS uuid
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.record_id FROM neurigraph.record_index AS i
    WHERE i.user_id = owner AND i.created_at = moment
    ORDER BY i.node_id = ANY(near) DESC, i.record_id
    LIMIT 1
$$;

-- What quarantines in force took out of the graph comes back: its evidence keeps it hidden.
CREATE OR REPLACE FUNCTION neurigraph_private.restore_hidden(owner uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO neurigraph.node_edges (
        edge_id, user_id, from_node_id, to_node_id, relation, strength, evidence_count, created_at, last_seen_at
    )
    SELECT
        b.edge_id, b.user_id, b.from_node_id, b.to_node_id, b.relation, b.strength, b.evidence_count, b.created_at,
        b.last_seen_at
    FROM neurigraph.quarantine_changes AS c
    CROSS JOIN LATERAL jsonb_populate_record(NULL::neurigraph.node_edges, c.before) AS b
    INNER JOIN neurigraph.graph_index AS f ON b.from_node_id = f.node_id AND f.user_id = owner
    INNER JOIN neurigraph.graph_index AS t ON b.to_node_id = t.node_id AND t.user_id = owner
    WHERE c.user_id = owner AND b.user_id = owner AND c.table_name = 'node_edges'
    ON CONFLICT DO NOTHING;
    INSERT INTO neurigraph.node_candidates
    SELECT b.*
    FROM neurigraph.quarantine_changes AS c
    CROSS JOIN LATERAL jsonb_populate_record(NULL::neurigraph.node_candidates, c.before) AS b
    WHERE c.user_id = owner AND b.user_id = owner AND c.table_name = 'node_candidates'
    ON CONFLICT DO NOTHING;
    DELETE FROM neurigraph.quarantine_changes AS c WHERE c.user_id = owner AND c.table_name <> 'graph_index';
END
$$;

CREATE OR REPLACE FUNCTION neurigraph_private.derive_edge_evidence(owner uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    WITH bare AS MATERIALIZED (
        SELECT e.* FROM neurigraph.node_edges AS e
        WHERE e.user_id = owner
            AND NOT EXISTS (SELECT FROM neurigraph.edge_evidence AS v WHERE v.edge_id = e.edge_id)
    ),

    known AS MATERIALIZED (
        SELECT b.edge_id, m.moment, r.record_id
        FROM bare AS b
        CROSS JOIN LATERAL (
            SELECT b.created_at AS moment
            UNION
            SELECT b.last_seen_at WHERE b.evidence_count > 1
        ) AS m
        CROSS JOIN LATERAL (
            SELECT neurigraph_private.record_of_moment(owner, m.moment, ARRAY[b.from_node_id, b.to_node_id]) AS record_id
        ) AS r
        WHERE r.record_id IS NOT NULL
    )

    INSERT INTO neurigraph.edge_evidence (
        user_id, edge_id, from_node_id, to_node_id, relation, record_id, statements, stated, weight, detected_by,
        created_at
    )
    SELECT
        b.user_id, b.edge_id, b.from_node_id, b.to_node_id, b.relation, k.record_id, 1, NULL, b.strength, 'model'::neurigraph.detector,
        k.moment
    FROM bare AS b INNER JOIN known AS k ON b.edge_id = k.edge_id
    UNION ALL
    SELECT
        b.user_id, b.edge_id, b.from_node_id, b.to_node_id, b.relation, NULL, b.evidence_count - n.found,
        -- The records of both ends are known, or neither surely is.
        tstzrange(b.created_at, b.last_seen_at, CASE n.found WHEN 2 THEN '()' ELSE '[]' END), b.strength, 'model'::neurigraph.detector,
        b.last_seen_at
    FROM bare AS b
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS found FROM known AS k WHERE k.edge_id = b.edge_id
    ) AS n
    WHERE b.evidence_count > n.found
$$;

-- A name that the notes of a record say it learned, or that a node had when a record made it, is that record's; every
-- other one was given by the owner.
CREATE OR REPLACE FUNCTION neurigraph_private.derive_aliases(owner uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    WITH learned AS MATERIALIZED (
        SELECT DISTINCT ON (split_part(n.note, ' is another name of ', 1))
            split_part(n.note, ' is another name of ', 1) AS value, d.record_id
        FROM neurigraph.delta_log AS d
        CROSS JOIN LATERAL jsonb_array_elements_text(d.delta_payload -> 'notes') AS n (note)
        WHERE d.user_id = owner AND d.delta_payload ->> 'operation' = 'create' AND n.note LIKE '% is another name of %'
        ORDER BY 1, d.w_coordinate
    ),

    bare AS MATERIALIZED (
        SELECT DISTINCT ON (g.node_id, lower(a.value))
            g.node_id, a.value, g.created_at + a.place * interval '1 microsecond' AS created_at,
            coalesce(l.record_id, neurigraph_private.record_of_moment(owner, g.created_at, ARRAY[g.node_id]))
                AS record_id
        FROM neurigraph.graph_index AS g
        CROSS JOIN LATERAL unnest(g.aliases) WITH ORDINALITY AS a (value, place)
        LEFT JOIN learned AS l ON a.value = l.value
        WHERE g.user_id = owner AND char_length(a.value) BETWEEN 1 AND 500
            AND NOT EXISTS (
                SELECT FROM neurigraph.node_aliases AS k WHERE k.node_id = g.node_id AND k.value = a.value
            )
        ORDER BY g.node_id, lower(a.value), a.place
    ),

    made AS (
        INSERT INTO neurigraph.node_aliases (user_id, node_id, alias_type, value, value_key, given_by, created_at)
        SELECT
            owner, b.node_id, 'name', b.value, lower(b.value),
            CASE WHEN b.record_id IS NULL THEN 'user:' || owner END, b.created_at
        FROM bare AS b
        ON CONFLICT DO NOTHING
        RETURNING alias_id, node_id, value, given_by
    )

    INSERT INTO neurigraph.mentions (user_id, record_id, node_id, role, alias_id, detected_by)
    SELECT owner, b.record_id, m.node_id, 'mention', m.alias_id, 'model'
    FROM made AS m INNER JOIN bare AS b ON m.node_id = b.node_id AND m.value = b.value
    WHERE m.given_by IS NULL
$$;

-- A candidate of unknown origin is dropped: nothing says where it comes from. Relations that wait for the others follow
-- the first record.
CREATE OR REPLACE FUNCTION neurigraph_private.derive_candidates(owner uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bare uuid [] := ARRAY(
        SELECT c.candidate_id FROM neurigraph.node_candidates AS c
        WHERE c.user_id = owner
            AND NOT EXISTS (SELECT FROM neurigraph.mentions AS m WHERE m.candidate_id = c.candidate_id)
    );
BEGIN
    WITH known AS MATERIALIZED (
        SELECT c.candidate_id, c.confidence, m.moment, r.record_id
        FROM neurigraph.node_candidates AS c
        CROSS JOIN LATERAL (
            SELECT c.first_seen_at AS moment
            UNION
            SELECT c.last_seen_at WHERE c.segments > 1
        ) AS m
        CROSS JOIN LATERAL (
            SELECT neurigraph_private.record_of_moment(owner, m.moment, '{}') AS record_id
        ) AS r
        WHERE c.candidate_id = ANY(bare) AND r.record_id IS NOT NULL
    )

    INSERT INTO neurigraph.mentions (user_id, record_id, candidate_id, role, confidence, detected_by, created_at)
    SELECT
        owner, k.record_id, k.candidate_id, 'mention',
        -- Together they are worth what the candidate was.
        greatest(
            1 - power(1 - least(k.confidence, 0.999999), 1.0::double precision / count(*) OVER (
                PARTITION BY k.candidate_id
            )), 1e-6
        ), 'model', k.moment
    FROM known AS k;
    INSERT INTO neurigraph.edge_evidence (
        user_id, candidate_id, from_node_id, relation, record_id, weight, detected_by, created_at
    )
    SELECT
        owner, c.candidate_id, g.node_id, left(e.edge ->> 'label', 120), f.record_id,
        least(greatest(coalesce((e.edge ->> 'strength')::real, 0.5), 0), 1), 'model', f.created_at
    FROM neurigraph.node_candidates AS c
    CROSS JOIN LATERAL (
        SELECT m.record_id, m.created_at FROM neurigraph.mentions AS m
        WHERE m.candidate_id = c.candidate_id ORDER BY m.created_at, m.mention_id LIMIT 1
    ) AS f
    CROSS JOIN LATERAL jsonb_array_elements(c.edges) AS e (edge)
    INNER JOIN neurigraph.graph_index AS g ON g.user_id = owner AND e.edge -> 'from' = (
        SELECT jsonb_agg(a.node_name ORDER BY a.layer_depth)
        FROM neurigraph.graph_index AS a WHERE a.node_id = ANY(g.path) AND a.layer_depth > 0
    )
    WHERE c.candidate_id = ANY(bare) AND e.edge ->> 'label' <> '';
    UPDATE neurigraph.node_candidates SET edges = '[]' WHERE user_id = owner AND edges <> '[]';
    DELETE FROM neurigraph.node_candidates AS c
    WHERE c.candidate_id = ANY(bare)
        AND NOT EXISTS (SELECT FROM neurigraph.mentions AS m WHERE m.candidate_id = c.candidate_id);
END
$$;

-- Derive the evidence of a graph where it is missing, and compute everything again that follows from evidence.
CREATE OR REPLACE FUNCTION neurigraph_private.derive_evidence(owner uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.restore_hidden(owner);
    INSERT INTO neurigraph.mentions (user_id, record_id, node_id, role, detected_by, created_at)
    SELECT i.user_id, i.record_id, i.node_id, 'subject', 'model', i.created_at
    FROM neurigraph.record_index AS i
    WHERE i.user_id = owner AND NOT EXISTS (
        SELECT FROM neurigraph.mentions AS m WHERE m.record_id = i.record_id AND m.role = 'subject'
    );
    PERFORM neurigraph_private.derive_aliases(owner);
    PERFORM neurigraph_private.derive_candidates(owner);
    PERFORM neurigraph_private.derive_edge_evidence(owner);
    UPDATE neurigraph.graph_index AS g SET
        defined_by = neurigraph_private.record_of_moment(owner, g.created_at, ARRAY[g.node_id])
    WHERE g.user_id = owner AND g.layer_depth > 0 AND g.defined_by IS NULL AND g.node_type = 'concept'
        AND g.created_at IN (SELECT i.created_at FROM neurigraph.record_index AS i WHERE i.user_id = owner);
    PERFORM neurigraph_private.sum_edges(
        ARRAY(SELECT e.edge_id FROM neurigraph.node_edges AS e WHERE e.user_id = owner)
    );
    PERFORM neurigraph_private.sum_candidates(
        ARRAY(SELECT c.candidate_id FROM neurigraph.node_candidates AS c WHERE c.user_id = owner)
    );
    PERFORM neurigraph_private.project_aliases(
        ARRAY(SELECT g.node_id FROM neurigraph.graph_index AS g WHERE g.user_id = owner)
    );
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;

-- Once for every graph of earlier versions: each record of a graph with evidence is a mention of its node.
DO $$
DECLARE
    graph record;
BEGIN
    FOR graph IN
        SELECT u.user_id FROM neurigraph.users AS u
        WHERE EXISTS (
            SELECT FROM neurigraph.record_index AS i
            WHERE i.user_id = u.user_id AND NOT EXISTS (
                SELECT FROM neurigraph.mentions AS m WHERE m.record_id = i.record_id AND m.role = 'subject'
            )
        ) OR EXISTS (
            SELECT FROM neurigraph.node_edges AS e
            WHERE e.user_id = u.user_id
                AND NOT EXISTS (SELECT FROM neurigraph.edge_evidence AS v WHERE v.edge_id = e.edge_id)
        )
    LOOP
        PERFORM neurigraph_private.derive_evidence(graph.user_id);
    END LOOP;
END
$$;
