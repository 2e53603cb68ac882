-- Digests follow the records that they cover: if a record is erased, moved, revised, superseded, hidden or made
-- private, the same transaction removes its digests. A nightly asset makes digests again from the remaining records.

-- Whether the caller sees all records that a digest covers.
CREATE OR REPLACE FUNCTION neurigraph.sees_digest(wanted uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.digests AS d
        WHERE d.digest_id = wanted AND d.user_id = (c.asking ->> 'user_id')::uuid
            AND EXISTS (SELECT FROM neurigraph.digest_records AS r WHERE r.digest_id = wanted)
            AND NOT EXISTS (
                SELECT FROM neurigraph.digest_records AS r
                INNER JOIN neurigraph.record_index AS i ON r.record_id = i.record_id
                WHERE r.digest_id = wanted AND NOT (
                    NOT i.quarantined
                    AND i.node_id IN (SELECT v.node_id FROM neurigraph.visible_nodes(c.asking) AS v)
                    AND i.source_id <> ALL(neurigraph_private.hidden_sources(c.asking))
                )
            )
    )
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
$$;

REVOKE ALL ON FUNCTION neurigraph.sees_digest(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.sees_digest(uuid) TO neurigraph_agent, neurigraph_pipeline;
