-- Counts of the whole installation for its operator. The functions return numbers with labels of closed sets, and only
-- to claims of the role operator. No key and no token has this role: the program signs such claims for itself.

CREATE OR REPLACE FUNCTION neurigraph_private.is_operator() RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(neurigraph.claims() ->> 'role' = 'operator', false)
$$;

-- The queue, failures, signs of life and totals: read often, from indexes and small tables.
CREATE OR REPLACE FUNCTION neurigraph.figures_of_work()
RETURNS TABLE (name text, label text, detail text, figure double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT neurigraph_private.is_operator() THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT t.name, t.label, '', t.total FROM neurigraph.pipeline_totals AS t
    UNION ALL
    SELECT 'heartbeat_age_seconds', h.name, '', extract(EPOCH FROM now() - h.beat_at)::double precision
    FROM neurigraph.heartbeats AS h
    UNION ALL
    -- Each count is a query of its own, because each has an index of its own.
    SELECT 'queue_segments', 'due', '', count(*)::double precision FROM neurigraph.storage_triggers AS t
    WHERE t.state = 'pending' AND t.next_attempt_at <= now()
    UNION ALL
    SELECT 'queue_segments', 'retry', '', count(*)::double precision FROM neurigraph.storage_triggers AS t
    WHERE t.state = 'pending' AND t.next_attempt_at > now()
    UNION ALL
    SELECT 'queue_segments', 'leased', '', count(*)::double precision FROM neurigraph.storage_triggers AS t
    WHERE t.state = 'claimed'
    UNION ALL
    SELECT 'queue_held', '', '', count(*)::double precision FROM neurigraph.queue_hold
    UNION ALL
    SELECT 'uploads_waiting', '', '', count(*)::double precision
    FROM neurigraph.uploads AS u WHERE u.state = 'received'
    UNION ALL
    SELECT 'failures_open', s.kind::text, f.step, count(*)::double precision
    FROM neurigraph.pipeline_failures AS f
    LEFT JOIN neurigraph.storage_triggers AS t ON f.trigger_id = t.trigger_id
    INNER JOIN neurigraph.sources AS s ON s.source_id = coalesce(t.source_id, f.upload_id)
    WHERE f.replayed_at IS NULL
    GROUP BY s.kind, f.step
    UNION ALL
    SELECT 'pending_embeddings', '', '', count(*)::double precision FROM neurigraph.pending_embeddings
    UNION ALL
    SELECT
        'pending_embeddings_age_seconds', '', '',
        coalesce(extract(EPOCH FROM now() - min(p.since)), 0)::double precision
    FROM neurigraph.pending_embeddings AS p;
END
$$;

-- Counts of stored things: read rarely, because the function counts whole tables and asks for the sizes of files.
CREATE OR REPLACE FUNCTION neurigraph.figures_of_sizes()
RETURNS TABLE (name text, label text, detail text, figure double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT neurigraph_private.is_operator() THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT 'users', '', '', count(*)::double precision FROM neurigraph.users
    UNION ALL
    SELECT 'active_users', '', '', count(DISTINCT k.user_id)::double precision
    FROM neurigraph.api_keys AS k WHERE k.last_used_at > now() - interval '1 day'
    UNION ALL
    SELECT 'records', '', '', coalesce(sum(g.record_count), 0)::double precision FROM neurigraph.graph_index AS g
    UNION ALL
    SELECT 'passages', '', '', coalesce(sum(s.passages), 0)::double precision FROM neurigraph.node_statistics AS s
    UNION ALL
    SELECT 'nodes', s.state::text, '', count(g.node_id)::double precision
    FROM unnest(enum_range(NULL::neurigraph.compression_state)) AS s (state)
    LEFT JOIN neurigraph.graph_index AS g ON g.compression_state = s.state
    GROUP BY s.state
    UNION ALL
    SELECT 'database_bytes', '', '', pg_database_size(current_database())::double precision
    UNION ALL
    SELECT
        'relation_bytes', CASE WHEN c.relkind = 'i' THEN 'indexes' ELSE 'tables' END, '',
        sum(c.relpages::bigint)::double precision * current_setting('block_size')::integer
    FROM pg_class AS c
    INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid
    WHERE c.relkind IN ('r', 'i', 't') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    GROUP BY 2
    UNION ALL
    SELECT 'relation_bytes', 'dagster', '', pg_database_size(d.oid)::double precision
    FROM pg_database AS d
    WHERE d.datname = current_database() || '_dagster' AND has_database_privilege(d.oid, 'CONNECT');
END
$$;

REVOKE ALL ON FUNCTION neurigraph.figures_of_work(), neurigraph.figures_of_sizes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.figures_of_work(), neurigraph.figures_of_sizes() TO neurigraph_agent;
