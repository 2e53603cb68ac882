-- Sums over evidence: edges, candidates and the aliases of nodes are sums over evidence and mentions. Triggers keep the
-- sums up to date, and sum_graph() computes all of them again.

-- Whether a record may change the values of a node that every reader sees: a record of a private source, or one in
-- quarantine, may not.
CREATE OR REPLACE FUNCTION neurigraph.is_shared(record uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT NOT i.quarantined AND s.privacy IS DISTINCT FROM 'private'
        FROM neurigraph.record_index AS i
        LEFT JOIN neurigraph.sources AS s ON s.source_id = i.source_id
        WHERE i.record_id = record
    );
END
$$;

-- Strength, count and validity of edges, over the evidence that the caller sees. Triggers see all evidence. Evidence of
-- records that are in quarantine or superseded does not count. Records of one source are not independent, so only the
-- strongest evidence of a source counts. `unproven` counts the statements whose records are unknown. A model ends and
-- denies only assertions of models. In an exclusive relation, an assertion ends when a later assertion of another edge
-- begins. The function is in PL/pgSQL because its plans are cached once a connection, as in all functions that a commit
-- calls.
CREATE OR REPLACE FUNCTION neurigraph.edge_sums(edges uuid [])
RETURNS TABLE (
    edge_id uuid, strength real, evidence_count integer, unproven integer, valid tstzmultirange,
    first_seen_at timestamptz, last_seen_at timestamptz
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT
            v.*,
            coalesce(i.source_id::text, v.observed_by, v.evidence_id::text) AS origin,
            coalesce(v.valid_from, i.occurred_at, v.created_at) AS since,
            v.record_id IS NULL OR coalesce(NOT i.quarantined AND i.superseded IS NOT TRUE, false) AS counts
        FROM neurigraph.edge_evidence AS v
        LEFT JOIN neurigraph.record_index AS i ON v.record_id = i.record_id
        WHERE v.edge_id = ANY(edges)
    ),

    asserted AS (
        SELECT k.* FROM known AS k WHERE k.counts AND k.stance = 'asserts'
    ),

    exclusive AS MATERIALIZED (
        SELECT r.from_node_id, r.relation
        FROM (SELECT DISTINCT k.from_node_id, k.relation FROM known AS k) AS r
        WHERE (neurigraph.relation_traits(r.relation)).is_exclusive
    ),

    -- Assertions of the other edges of exclusive relations.
    rivals AS MATERIALIZED (
        SELECT
            k.from_node_id,
            k.relation,
            v.edge_id,
            v.detected_by,
            coalesce(v.valid_from, i.occurred_at, v.created_at) AS since
        FROM exclusive AS k
        INNER JOIN neurigraph.edge_evidence AS v
            ON k.from_node_id = v.from_node_id AND k.relation = v.relation AND v.stance = 'asserts'
        LEFT JOIN neurigraph.record_index AS i ON v.record_id = i.record_id
        WHERE v.edge_id IS NOT NULL
            AND (v.record_id IS NULL OR coalesce(NOT i.quarantined AND i.superseded IS NOT TRUE, false))
    ),

    -- An assertion with an unknown beginning that follows an assertion of another edge begins when it was made.
    begun AS (
        SELECT
            a.*,
            CASE WHEN a.valid_from IS NULL AND b.follows AND (a.valid_until > a.since) IS NOT FALSE THEN a.since
            ELSE a.valid_from END AS begins,
            b.replaced_at
        FROM asserted AS a
        CROSS JOIN LATERAL (
            SELECT
                coalesce(bool_or(r.since < a.since), false) AS follows,
                min(r.since) FILTER (
                    WHERE r.since > a.since AND (r.detected_by <> 'model' OR a.detected_by = 'model')
                ) AS replaced_at
            FROM rivals AS r
            WHERE r.from_node_id = a.from_node_id AND r.relation = a.relation AND r.edge_id <> a.edge_id
        ) AS b
    ),

    -- Each assertion holds from its beginning to the first known end, except for denied times.
    held AS (
        SELECT a.edge_id, range_agg(h.spans) AS valid
        FROM begun AS a
        CROSS JOIN LATERAL (
            SELECT tstzmultirange(tstzrange(a.begins, least(a.valid_until, a.replaced_at, min(x.valid_until)))) AS span
            FROM known AS x
            WHERE x.edge_id = a.edge_id AND x.counts AND x.stance = 'ends'
                AND (x.detected_by <> 'model' OR a.detected_by = 'model')
                AND (a.begins IS NULL OR x.valid_until > a.begins)
        ) AS e
        CROSS JOIN LATERAL (
            SELECT e.span - coalesce(range_agg(tstzrange(x.valid_from, x.valid_until)), '{}') AS spans
            FROM known AS x
            WHERE x.edge_id = a.edge_id AND x.counts AND x.stance = 'denies'
                AND (x.detected_by <> 'model' OR a.detected_by = 'model')
        ) AS h
        GROUP BY a.edge_id
    ),

    strengths AS (
        SELECT
            o.edge_id,
            -- Rounded, because the order of a sum of floats changes its last digits.
            round((1 - exp(sum(ln(1 - least(o.weight, 0.999999)::double precision))))::numeric, 5)::real AS strength
        FROM (
            SELECT a.edge_id, max(a.weight) AS weight FROM asserted AS a GROUP BY a.edge_id, a.origin
        ) AS o
        GROUP BY o.edge_id
    )

    SELECT
        k.edge_id,
        coalesce(s.strength, 0)::real,
        (
            count(DISTINCT k.record_id) FILTER (WHERE k.counts AND k.stance = 'asserts')
            + coalesce(sum(k.statements) FILTER (
                WHERE k.record_id IS NULL AND k.stance = 'asserts'
            ), 0)
        )::integer,
        coalesce(sum(k.statements) FILTER (WHERE k.stated IS NOT NULL), 0)::integer,
        coalesce(h.valid, '{}'),
        min(k.created_at),
        max(k.created_at)
    FROM known AS k
    LEFT JOIN held AS h ON k.edge_id = h.edge_id
    LEFT JOIN strengths AS s ON k.edge_id = s.edge_id
    GROUP BY k.edge_id, s.strength, h.valid;
END
$$;

-- Strength and count of an edge for the caller: the owner gets the stored sums, other callers the sums over the
-- evidence that they see.
CREATE OR REPLACE FUNCTION neurigraph.seen_edge(edge neurigraph.node_edges)
RETURNS TABLE (strength real, evidence_count integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT edge.strength, edge.evidence_count WHERE edge.user_id = (SELECT neurigraph.asking_user_id())
    UNION ALL
    SELECT s.strength, s.evidence_count FROM neurigraph.edge_sums(ARRAY[edge.edge_id]) AS s
    WHERE edge.user_id IS DISTINCT FROM (SELECT neurigraph.asking_user_id())
$$;

-- Bring edges, and the other edges of their exclusive relations, up to date with their evidence. An edge is deleted if
-- its only evidence left is people's statements that end or deny it. These statements are deleted with the edge, so
-- that no words of a relation outlive its last memory.
CREATE OR REPLACE FUNCTION neurigraph_private.sum_edges(edges uuid []) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    edges := edges || ARRAY(
        WITH exclusive AS MATERIALIZED (
            SELECT e.from_node_id, e.relation FROM neurigraph.node_edges AS e
            WHERE e.edge_id = ANY(edges) AND (neurigraph.relation_traits(e.relation)).is_exclusive
        )

        SELECT o.edge_id FROM exclusive AS e
        INNER JOIN neurigraph.node_edges AS o ON e.from_node_id = o.from_node_id AND e.relation = o.relation
    );
    DELETE FROM neurigraph.node_edges AS e
    WHERE e.edge_id = ANY(edges)
        AND NOT EXISTS (
            SELECT FROM neurigraph.edge_evidence AS v
            WHERE v.edge_id = e.edge_id AND (v.observed_by IS NULL OR v.stance = 'asserts')
        );
    UPDATE neurigraph.node_edges AS e SET
        strength = s.strength, evidence_count = s.evidence_count, valid = s.valid,
        created_at = s.first_seen_at, last_seen_at = s.last_seen_at
    FROM neurigraph.edge_sums(edges) AS s
    WHERE e.edge_id = s.edge_id
        AND (e.strength, e.evidence_count, e.valid, e.created_at, e.last_seen_at) IS DISTINCT FROM
        (s.strength, s.evidence_count, s.valid, s.first_seen_at, s.last_seen_at);
END
$$;

-- The weight of each candidate, from the weights of the shared records that mention it, combined as independent ones.
CREATE OR REPLACE FUNCTION neurigraph_private.candidate_sums(candidates uuid [])
RETURNS TABLE (
    candidate_id uuid, confidence double precision, segments integer,
    first_seen_at timestamptz, last_seen_at timestamptz
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        m.candidate_id,
        coalesce(
            1 - exp(sum(ln(1 - least(m.confidence, 0.999999)) ORDER BY m.mention_id) FILTER (WHERE r.shared)), 0
        ),
        (count(*) FILTER (WHERE r.shared))::integer,
        min(m.created_at),
        max(m.created_at)
    FROM neurigraph.mentions AS m
    CROSS JOIN LATERAL (SELECT neurigraph.is_shared(m.record_id) AS shared) AS r
    WHERE m.candidate_id = ANY(candidates)
    GROUP BY m.candidate_id
$$;

-- Bring candidates up to date with their mentions, and delete candidates without mentions.
CREATE OR REPLACE FUNCTION neurigraph_private.sum_candidates(candidates uuid []) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM neurigraph.node_candidates AS c
    WHERE c.candidate_id = ANY(candidates)
        AND NOT EXISTS (SELECT FROM neurigraph.mentions AS m WHERE m.candidate_id = c.candidate_id);
    UPDATE neurigraph.node_candidates AS c SET
        confidence = s.confidence, segments = s.segments,
        first_seen_at = s.first_seen_at, last_seen_at = s.last_seen_at
    FROM neurigraph_private.candidate_sums(candidates) AS s
    WHERE c.candidate_id = s.candidate_id;
END
$$;

-- The names of a node that questions may use: names that people gave it, and names that shared records use.
CREATE OR REPLACE FUNCTION neurigraph_private.names_of(node uuid, own_key text) RETURNS text []
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(
        SELECT min(a.value) FROM neurigraph.node_aliases AS a
        WHERE a.node_id = node AND a.alias_type IN ('name', 'former_name', 'handle', 'email') AND a.value_key <> own_key
            AND (
                a.given_by IS NOT NULL
                OR EXISTS (
                    SELECT FROM neurigraph.mentions AS m
                    WHERE m.alias_id = a.alias_id AND neurigraph.is_shared(m.record_id)
                )
            )
        GROUP BY a.value_key
        ORDER BY min(a.created_at), min(a.value)
        LIMIT 16
    )
$$;

CREATE OR REPLACE FUNCTION neurigraph_private.project_aliases(nodes uuid []) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE neurigraph.graph_index AS g SET aliases = n.names
    FROM (
        SELECT w.node_id, neurigraph_private.names_of(w.node_id, w.name_key) AS names
        FROM neurigraph.graph_index AS w WHERE w.node_id = ANY(nodes)
    ) AS n
    WHERE g.node_id = n.node_id AND g.aliases <> n.names;
END
$$;

-- Bring edges, candidates and aliases up to date after some of their records were hidden or shown.
CREATE OR REPLACE FUNCTION neurigraph_private.sum_records(records uuid []) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.sum_edges(ARRAY(
        SELECT DISTINCT v.edge_id FROM neurigraph.edge_evidence AS v
        WHERE v.record_id = ANY(records) AND v.edge_id IS NOT NULL
    ));
    PERFORM neurigraph_private.sum_candidates(ARRAY(
        SELECT DISTINCT m.candidate_id FROM neurigraph.mentions AS m
        WHERE m.record_id = ANY(records) AND m.candidate_id IS NOT NULL
    ));
    PERFORM neurigraph_private.project_aliases(ARRAY(
        SELECT DISTINCT m.node_id FROM neurigraph.mentions AS m
        WHERE m.record_id = ANY(records) AND m.alias_id IS NOT NULL
    ));
END
$$;

-- Triggers on evidence run once a statement: `removed_rows` and `added_rows` are the rows before and after.

-- A new assertion of an edge that has strength 1 and holds at all times changes only the edge's count. This function
-- raises the count, so that an edge of thousands of records is not summed again for each record. Returns the edges
-- whose counts it raised.
CREATE OR REPLACE FUNCTION neurigraph_private.add_to_certain(edges uuid [], evidence uuid []) RETURNS uuid []
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    WITH fresh AS (
        SELECT v.edge_id, count(DISTINCT v.record_id)::integer AS records
        FROM neurigraph.edge_evidence AS v
        INNER JOIN neurigraph.record_index AS i ON v.record_id = i.record_id
        WHERE v.evidence_id = ANY(evidence) AND NOT i.quarantined AND i.superseded IS NOT TRUE AND NOT EXISTS (
            SELECT FROM neurigraph.edge_evidence AS o
            WHERE o.record_id = v.record_id AND o.edge_id = v.edge_id AND o.evidence_id <> ALL(evidence)
        )
        GROUP BY v.edge_id
        HAVING bool_and(v.stance = 'asserts' AND v.fact_id IS NULL)
    ),

    added AS (
        UPDATE neurigraph.node_edges AS e SET
            evidence_count = e.evidence_count + f.records, last_seen_at = greatest(e.last_seen_at, now())
        FROM fresh AS f
        WHERE e.edge_id = f.edge_id AND e.edge_id = ANY(edges)
            AND e.strength = 1 AND e.evidence_count > 0 AND e.valid = '{(,)}'
            AND NOT (neurigraph.relation_traits(e.relation)).is_exclusive
        RETURNING e.edge_id
    )

    SELECT coalesce(array_agg(a.edge_id), '{}') FROM added AS a
$$;

-- Compute all edges, candidates and aliases of a graph again from their evidence.
CREATE OR REPLACE FUNCTION neurigraph_private.sum_graph(owner uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
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

-- Trigger on evidence, mentions and aliases, once a statement: sum up the edges, candidates and nodes concerned. An
-- alias that no mention uses, and that nobody gave by hand, is deleted.
CREATE OR REPLACE FUNCTION neurigraph.sum_evidence() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    edges uuid [] := '{}';
    candidates uuid [] := '{}';
    used uuid [] := '{}';
    nodes uuid [] := '{}';
    done uuid [];
BEGIN
    IF TG_TABLE_NAME = 'edge_evidence' THEN
        IF TG_OP <> 'INSERT' THEN
            edges := ARRAY(SELECT DISTINCT g.edge_id FROM removed_rows AS g WHERE g.edge_id IS NOT NULL)
                -- A deleted edge cannot name the other edges of its exclusive relation, so the evidence names them.
                || ARRAY(
                    SELECT e.edge_id FROM removed_rows AS g
                    INNER JOIN neurigraph.node_edges AS e ON g.from_node_id = e.from_node_id AND g.relation = e.relation
                    WHERE (neurigraph.relation_traits(g.relation)).is_exclusive
                );
        END IF;
        IF TG_OP <> 'DELETE' THEN
            edges := edges || ARRAY(SELECT DISTINCT c.edge_id FROM added_rows AS c WHERE c.edge_id IS NOT NULL);
        END IF;
        IF TG_OP = 'INSERT' AND EXISTS (
            SELECT FROM neurigraph.node_edges AS e
            WHERE e.edge_id = ANY(edges) AND e.strength = 1 AND e.evidence_count > 0
        ) THEN
            done := neurigraph_private.add_to_certain(edges, ARRAY(SELECT c.evidence_id FROM added_rows AS c));
            edges := ARRAY(SELECT e.id FROM unnest(edges) AS e (id) WHERE e.id <> ALL(done));
        END IF;
        IF edges <> '{}' THEN
            PERFORM neurigraph_private.sum_edges(edges);
        END IF;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' AND TG_TABLE_NAME = 'mentions' THEN
        candidates := ARRAY(SELECT DISTINCT g.candidate_id FROM removed_rows AS g WHERE g.candidate_id IS NOT NULL);
        used := ARRAY(SELECT DISTINCT g.alias_id FROM removed_rows AS g WHERE g.alias_id IS NOT NULL);
    ELSIF TG_OP <> 'INSERT' THEN
        nodes := ARRAY(SELECT DISTINCT g.node_id FROM removed_rows AS g);
    END IF;
    IF TG_OP <> 'DELETE' AND TG_TABLE_NAME = 'mentions' THEN
        candidates := candidates
            || ARRAY(SELECT DISTINCT c.candidate_id FROM added_rows AS c WHERE c.candidate_id IS NOT NULL);
        used := used || ARRAY(SELECT DISTINCT c.alias_id FROM added_rows AS c WHERE c.alias_id IS NOT NULL);
    ELSIF TG_OP <> 'DELETE' THEN
        nodes := nodes || ARRAY(SELECT DISTINCT c.node_id FROM added_rows AS c);
    END IF;
    IF candidates <> '{}' THEN
        PERFORM neurigraph_private.sum_candidates(candidates);
    END IF;
    IF used <> '{}' THEN
        nodes := ARRAY(SELECT DISTINCT a.node_id FROM neurigraph.node_aliases AS a WHERE a.alias_id = ANY(used));
        DELETE FROM neurigraph.node_aliases AS a
        WHERE a.alias_id = ANY(used) AND a.given_by IS NULL
            AND NOT EXISTS (SELECT FROM neurigraph.mentions AS m WHERE m.alias_id = a.alias_id);
    END IF;
    IF nodes <> '{}' THEN
        PERFORM neurigraph_private.project_aliases(nodes);
    END IF;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.is_shared(uuid), neurigraph.edge_sums(uuid []),
neurigraph.seen_edge(neurigraph.node_edges), neurigraph.sum_evidence() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.is_shared(uuid) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.edge_sums(uuid []), neurigraph.seen_edge(neurigraph.node_edges)
TO neurigraph_agent, neurigraph_pipeline;
