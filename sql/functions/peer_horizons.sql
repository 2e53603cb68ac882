-- The horizons of listings that this installation gave to peers. Each function serves only the third party in the
-- claims.

-- Begin a listing: store its horizon, the point up to which the listing certainly sees all changes, and return its id.
-- The newest twenty listings of a third party are kept.
CREATE OR REPLACE FUNCTION neurigraph.open_horizon() RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    opened uuid;
BEGIN
    IF asking ->> 'role' IS DISTINCT FROM 'third_party' THEN
        RETURN NULL;
    END IF;
    INSERT INTO neurigraph.peer_horizons (user_id, subject_id, change)
    VALUES ((asking ->> 'user_id')::uuid, asking ->> 'sub', pg_snapshot_xmin(pg_current_snapshot()))
    RETURNING horizon_id INTO opened;
    DELETE FROM neurigraph.peer_horizons AS h
    USING (
        SELECT o.horizon_id FROM neurigraph.peer_horizons AS o
        WHERE o.user_id = (asking ->> 'user_id')::uuid AND o.subject_id = asking ->> 'sub'
        ORDER BY o.noted_at DESC, o.horizon_id
        OFFSET 20
    ) AS old
    WHERE h.horizon_id = old.horizon_id;
    RETURN opened;
END
$$;

-- The digests of an earlier listing for nodes that nobody changed since; no rows if this database does not know the
-- listing, as after a restore from a backup.
CREATE OR REPLACE FUNCTION neurigraph.recalled_digests(earlier uuid) RETURNS TABLE (node_id uuid, digests jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.key::uuid, d.value
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    INNER JOIN neurigraph.peer_horizons AS h
        ON h.user_id = (c.asking ->> 'user_id')::uuid AND h.subject_id = c.asking ->> 'sub'
    CROSS JOIN LATERAL jsonb_each(h.digests) AS d
    WHERE h.horizon_id = earlier AND c.asking ->> 'role' = 'third_party'
        AND NOT EXISTS (
            SELECT FROM neurigraph.node_changes AS n WHERE n.node_id = d.key::uuid AND n.change >= h.change
        )
$$;

-- Whether this database knows an earlier listing.
CREATE OR REPLACE FUNCTION neurigraph.knows_horizon(earlier uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.peer_horizons AS h
        WHERE h.horizon_id = earlier AND h.user_id = (c.asking ->> 'user_id')::uuid AND h.subject_id = c.asking ->> 'sub'
            AND c.asking ->> 'role' = 'third_party'
    )
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
$$;

-- Store the digests of the listed nodes.
CREATE OR REPLACE FUNCTION neurigraph.remember_digests(horizon uuid, listed jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE neurigraph.peer_horizons AS h SET digests = h.digests || listed
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
    WHERE h.horizon_id = horizon AND h.user_id = (c.asking ->> 'user_id')::uuid AND h.subject_id = c.asking ->> 'sub'
        AND c.asking ->> 'role' = 'third_party'
$$;

REVOKE ALL ON FUNCTION neurigraph.open_horizon(), neurigraph.recalled_digests(uuid), neurigraph.knows_horizon(uuid),
neurigraph.remember_digests(uuid, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.open_horizon(), neurigraph.recalled_digests(uuid), neurigraph.knows_horizon(uuid),
neurigraph.remember_digests(uuid, jsonb) TO neurigraph_agent;
