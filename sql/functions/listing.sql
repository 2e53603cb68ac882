-- Progress of sources, for callers who wait until their messages are stored.

-- The state of a source: open while more messages may arrive, then waiting for a run, storing during a run, and stored.
-- A source that needs a person is failed, even if a run stores other parts of it. The state of an uploaded export is
-- the state of its conversations. The function runs with the caller's rights, and has no search path of its own so that
-- Postgres inlines it into the calling query.
CREATE OR REPLACE FUNCTION neurigraph.progress_of(source neurigraph.sources) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN q.failed OR u.state = 'failed' OR i.failed THEN 'failed'
        WHEN source.ended_at IS NULL AND u.source_id IS NULL THEN 'open'
        WHEN q.claimed OR i.claimed THEN 'storing'
        WHEN q.pending OR source.triggered_through < source.last_message OR u.state = 'received' OR i.waits
            OR (u.source_id IS NOT NULL AND u.file_id IS NULL AND u.imported -> 'format' IS NULL) THEN 'waiting'
        ELSE 'stored'
    END
    FROM (
        SELECT
            bool_or(t.state = 'failed') AS failed,
            bool_or(t.state = 'claimed') AS claimed,
            bool_or(t.state = 'pending') AS pending
        FROM neurigraph.storage_triggers AS t
        WHERE t.source_id = source.source_id
    ) AS q
    LEFT JOIN neurigraph.uploads AS u ON u.source_id = source.source_id
    LEFT JOIN LATERAL (
        SELECT
            bool_or(t.state = 'failed') AS failed,
            bool_or(t.state = 'claimed') AS claimed,
            bool_or(t.state = 'pending' OR c.triggered_through < c.last_message) AS waits
        FROM neurigraph.sources AS c
        LEFT JOIN neurigraph.storage_triggers AS t ON c.source_id = t.source_id AND t.state <> 'stored'
        WHERE c.upload_id = u.source_id
    ) AS i ON u.imported -> 'format' IS NOT NULL
$$;

-- The newest records of a graph that the caller sees and that meet all given conditions. record_index answers all
-- conditions, so only the nodes of the records in the page are read. The rights of the caller are computed once here,
-- and not again by the policies of each node. A plan for the order that is asked for can use an index.
CREATE OR REPLACE FUNCTION neurigraph.list_records(
    graph uuid, nodes uuid [], of_source uuid, created_from timestamptz, created_until timestamptz,
    inside jsonb, at timestamptz, last_id uuid, most integer
) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    -- Null means all nodes, and all records that are not in quarantine.
    visible uuid [] := neurigraph_private.visible_node_ids(asking);
    hidden uuid [] := neurigraph_private.hidden_sources(asking);
    node record;
    ids uuid [];
    of_nodes uuid [];
    shown jsonb [];
    found jsonb [] := '{}';
    by_event boolean := inside ->> 'order' = 'occurred_at';
    of_type text := inside ->> 'content_type';
    is_superseded boolean := inside ->> 'superseded';
    occurred_from timestamptz := inside ->> 'occurred_after';
    occurred_until timestamptz := inside ->> 'occurred_before';
    of_entity text := lower(inside ->> 'entity');
    of_topic text := lower(inside ->> 'topic');
BEGIN
    SELECT coalesce(array_agg(n.record_id), '{}'), coalesce(array_agg(n.node_id), '{}') INTO ids, of_nodes
    FROM (
        SELECT i.record_id, i.node_id FROM neurigraph.record_index AS i
        WHERE i.user_id = graph AND i.user_id = (asking ->> 'user_id')::uuid AND NOT i.quarantined
            AND (
                visible IS NULL OR (
                    i.node_id = ANY(visible) AND i.source_id NOT IN (SELECT unnest(hidden))
                )
            )
            AND (CASE WHEN by_event THEN i.occurred_at ELSE i.created_at END, i.record_id) < (at, last_id)
            AND i.created_at >= created_from AND i.created_at < created_until
            AND (nodes IS NULL OR i.node_id = ANY(nodes))
            AND (of_source IS NULL OR i.source_id = of_source)
            AND (of_type IS NULL OR i.content_type::text = of_type)
            AND (is_superseded IS NULL OR i.superseded = is_superseded)
            AND (occurred_from IS NULL OR i.occurred_at >= occurred_from)
            AND (occurred_until IS NULL OR i.occurred_at < occurred_until)
            AND (of_entity IS NULL OR of_entity = ANY(i.entity_keys))
            AND (of_topic IS NULL OR of_topic = ANY(i.topic_keys))
        ORDER BY CASE WHEN by_event THEN i.occurred_at ELSE i.created_at END DESC, i.record_id DESC
        LIMIT most
    ) AS n;
    FOR node IN
        SELECT
            g.node_id,
            g.schema_name,
            array_agg(k.id) AS wanted,
            -- The function reads all names, so it leaves out those above the first node that the caller sees.
            (
                SELECT n.node_path FROM neurigraph.names_along(
                    CASE
                        WHEN visible IS NULL THEN g.path
                        ELSE ARRAY(SELECT a.id FROM unnest(g.path) AS a (id) WHERE a.id = ANY(visible))
                    END
                ) AS n
            ) AS path
        FROM unnest(ids, of_nodes) AS k (id, of_node)
        INNER JOIN neurigraph.graph_index AS g ON k.of_node = g.node_id
        GROUP BY g.node_id
    LOOP
        EXECUTE format(
            $shown$
            SELECT array_agg(jsonb_build_object(
                %2$s, 'node_id', $2, 'node_path', $3
            ))
            FROM %1$I.metadata_records AS r
            LEFT JOIN %1$I.file_manifest AS f ON r.record_id = f.record_id AND r.file_pointer = f.storage_path
            WHERE r.record_id = ANY($1)
            $shown$, node.schema_name, neurigraph.record_fields()
        ) INTO shown USING node.wanted, node.node_id, node.path;
        found := found || coalesce(shown, '{}');
    END LOOP;
    RETURN QUERY
    SELECT s.shown || jsonb_build_object(
        'tier', coalesce(t.tier, 'long'), 'expires_at', t.expires_at, 'expiry_reason', t.expiry_reason,
        'superseded_by', o.record_id
    )
    FROM unnest(found) AS s (shown)
    LEFT JOIN neurigraph.retention_of(ids) AS t ON (s.shown ->> 'record_id')::uuid = t.record_id
    LEFT JOIN neurigraph.record_index AS o ON (s.shown ->> 'superseded_by')::uuid = o.record_id
        AND o.user_id = graph AND NOT o.quarantined
        AND (
            visible IS NULL OR (
                o.node_id = ANY(visible) AND o.source_id NOT IN (SELECT unnest(hidden))
            )
        )
    ORDER BY array_position(ids, (s.shown ->> 'record_id')::uuid);
END
$$;

-- The titles of records that the caller sees. Runs with the caller's rights.
CREATE OR REPLACE FUNCTION neurigraph.titles_of(records uuid []) RETURNS TABLE (record_id uuid, title text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node record;
BEGIN
    FOR node IN
        SELECT g.schema_name, array_agg(i.record_id) AS wanted
        FROM neurigraph.record_index AS i INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
        WHERE i.record_id = ANY(records)
        GROUP BY g.schema_name
    LOOP
        RETURN QUERY EXECUTE format(
            'SELECT r.record_id, r.title FROM %I.metadata_records AS r WHERE r.record_id = ANY($1)', node.schema_name
        ) USING node.wanted;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.progress_of(neurigraph.sources),
neurigraph.list_records(uuid, uuid [], uuid, timestamptz, timestamptz, jsonb, timestamptz, uuid, integer),
neurigraph.titles_of(uuid []) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.progress_of(neurigraph.sources) TO neurigraph_agent, neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION
neurigraph.list_records(uuid, uuid [], uuid, timestamptz, timestamptz, jsonb, timestamptz, uuid, integer),
neurigraph.titles_of(uuid []) TO neurigraph_agent;
