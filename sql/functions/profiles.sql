-- Profiles of nodes follow their records: what is erased, hidden, revised or moved away leaves no profile that was made
-- of it, and what comes or is superseded leaves one that says it is stale. A nightly asset makes them again.

-- Outdate the profiles that a record is part of: those of shared records change nothing when a private one changes, or
-- their readers would learn of it. With `gone` they are removed.
CREATE OR REPLACE FUNCTION neurigraph_private.outdate_profiles(node uuid, of_source uuid, gone boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    IF gone THEN
        DELETE FROM neurigraph.profiles AS p
        WHERE p.node_id = node AND (p.covers = 'all' OR NOT EXISTS (
            SELECT FROM neurigraph.sources AS s
            WHERE s.source_id = of_source AND s.privacy = 'private'
        ));
    ELSE
        UPDATE neurigraph.profiles AS p SET is_stale = true
        WHERE p.node_id = node AND NOT p.is_stale AND (p.covers = 'all' OR NOT EXISTS (
            SELECT FROM neurigraph.sources AS s
            WHERE s.source_id = of_source AND s.privacy = 'private'
        ));
    END IF;
END
$$;
