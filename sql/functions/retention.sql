-- Retention: the parts that callers see, and the counting of accesses.

-- The retention of records that the caller sees. Pass only the result of claims().
CREATE OR REPLACE FUNCTION neurigraph_private.seen_retention(asking jsonb, records uuid [])
RETURNS SETOF neurigraph.record_retention
LANGUAGE sql STABLE AS $$
    SELECT t.*
    FROM neurigraph.record_retention AS t
    INNER JOIN neurigraph.record_index AS i ON t.record_id = i.record_id
    WHERE t.record_id = ANY(records) AND i.user_id = (asking ->> 'user_id')::uuid AND NOT i.quarantined
        AND (
            asking ->> 'role' = 'user'
            OR (
                i.node_id IN (SELECT v.node_id FROM neurigraph.visible_nodes(asking) AS v)
                AND i.source_id NOT IN (
                    SELECT h.source_id FROM unnest((SELECT neurigraph_private.hidden_sources(asking))) AS h (source_id)
                )
            )
        )
$$;

-- The tier and the expiry of records that the caller sees and that have a row. Only the owner gets reasons and counts
-- of accesses. Other callers get the expiry that the record was given, even if accesses have moved the expiry since.
CREATE OR REPLACE FUNCTION neurigraph.retention_of(records uuid [])
RETURNS TABLE (
    record_id uuid, tier neurigraph.retention_tier, expires_at timestamptz, expiry_reason text,
    access_count integer, access_days integer
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    is_owner boolean := asking ->> 'role' = 'user';
BEGIN
    RETURN QUERY
    SELECT
        t.record_id,
        t.tier,
        CASE WHEN is_owner THEN t.expires_at ELSE t.granted_until END,
        CASE WHEN is_owner THEN t.reason END,
        CASE WHEN is_owner THEN t.access_count END,
        CASE WHEN is_owner THEN t.access_days END
    FROM neurigraph_private.seen_retention(asking, records) AS t;
END
$$;

-- Count an access of the caller to some records, once for each record, asker and hour, and extend the lives of the
-- records. Rows are locked in one order. A record that a sweep archives at the same time is left alone.
CREATE OR REPLACE FUNCTION neurigraph_private.count_accesses(asking jsonb, returned uuid []) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    asker text := (asking ->> 'role') || ':' || (asking ->> 'sub');
    this_hour timestamptz := date_trunc('hour', now(), 'UTC');
BEGIN
    WITH due AS MATERIALIZED (
        SELECT r.record_id
        FROM neurigraph.record_retention AS r
        WHERE r.record_id IN (SELECT s.record_id FROM neurigraph_private.seen_retention(asking, returned) AS s)
            AND r.tier <> 'long' AND r.archived_at IS NULL
            AND (
                r.last_access_at IS NULL OR r.last_access_at < this_hour
                OR (asker <> ALL(r.hour_askers) AND cardinality(r.hour_askers) < 100)
            )
        ORDER BY r.record_id
        FOR NO KEY UPDATE
    )

    UPDATE neurigraph.record_retention AS t SET
        expires_at = greatest(t.expires_at, now() + t.lifetime),
        access_count = t.access_count + 1,
        access_days = t.access_days + CASE
            WHEN t.access_days > 0
                AND (t.last_access_at AT TIME ZONE 'UTC')::date >= (now() AT TIME ZONE 'UTC')::date THEN 0
            ELSE 1
        END,
        -- The hour of the last access stays the current hour after the clock is set back.
        hour_askers = CASE WHEN t.last_access_at >= this_hour THEN t.hour_askers ELSE '{}' END || asker,
        last_access_at = greatest(t.last_access_at, now())
    FROM due AS d
    WHERE t.record_id = d.record_id;
END
$$;

-- Whether a graph has canaries that nobody has retrieved yet, and records that expire: without them, noting retrievals
-- is useless.
CREATE OR REPLACE FUNCTION neurigraph_private.watches(owner uuid, OUT is_watched boolean, OUT expires boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    is_watched := EXISTS (SELECT FROM neurigraph.canaries AS c WHERE c.user_id = owner AND c.retrieved_at IS NULL);
    expires := EXISTS (
        SELECT FROM neurigraph.record_retention AS t WHERE t.user_id = owner AND t.expires_at IS NOT NULL
    );
END
$$;

-- The records, of the given ones, that were opened since a moment. The tables of nodes have the access times.
CREATE OR REPLACE FUNCTION neurigraph_private.opened_since(records uuid [], moment timestamptz) RETURNS SETOF uuid
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
            'SELECT r.record_id FROM %I.metadata_records AS r WHERE r.record_id = ANY($1) AND r.last_accessed_at > $2',
            node.schema_name
        ) USING node.wanted, moment;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.retention_of(uuid []) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.retention_of(uuid []) TO neurigraph_agent;
