-- Profiles of nodes follow their records. Erasing, hiding, revising or moving a record removes the profiles that were
-- made of it. Adding or superseding a record marks them as stale. A nightly asset makes them again.

-- Outdate the profiles that a record is part of; with `gone`, remove them. A change of a private record does not touch
-- profiles of shared records, because their readers would notice the change.
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
