-- Spaces: which sources they have, and what a caller that is limited to some of them may do. What it sees follows from
-- hidden_sources() and reach() (sql/routines/access.sql), as for private sources.

-- The sources in the spaces that the caller is limited to. Pass only the result of claims().
CREATE OR REPLACE FUNCTION neurigraph_private.sources_in_spaces(asking jsonb) RETURNS SETOF uuid
LANGUAGE sql STABLE AS $$
    SELECT m.source_id
    FROM neurigraph.spaces AS p
    INNER JOIN neurigraph.source_spaces AS m ON p.space_id = m.space_id
    WHERE p.user_id = (asking ->> 'user_id')::uuid
        AND p.container_tag IN (SELECT t.tag FROM jsonb_array_elements_text(asking -> 'container_tags') AS t (tag))
$$;

-- The nodes that lead to a record which such a caller sees, with the root. A persona still needs its grants.
CREATE OR REPLACE FUNCTION neurigraph_private.nodes_in_spaces(asking jsonb) RETURNS SETOF uuid
LANGUAGE sql STABLE AS $$
    SELECT g.node_id FROM neurigraph.graph_index AS g
    WHERE g.user_id = (asking ->> 'user_id')::uuid AND g.layer_depth = 0
    UNION
    SELECT a.node_id
    FROM (
        SELECT DISTINCT i.node_id
        FROM neurigraph_private.sources_in_spaces(asking) AS m (source_id)
        INNER JOIN neurigraph.sources AS s
            ON m.source_id = s.source_id AND (asking ->> 'role' = 'bound' OR s.privacy <> 'private')
        INNER JOIN neurigraph.record_index AS i
            ON s.user_id = i.user_id AND i.source = s.kind || ':' || s.source_id AND NOT i.quarantined
    ) AS n
    INNER JOIN neurigraph.graph_index AS g ON n.node_id = g.node_id
    CROSS JOIN LATERAL unnest(g.path) AS a (node_id)
$$;

-- The records of the nodes of spaces that the caller sees, counted.
CREATE OR REPLACE FUNCTION neurigraph_private.records_in_spaces(asking jsonb)
RETURNS TABLE (node_id uuid, records integer)
LANGUAGE sql STABLE AS $$
    SELECT i.node_id, count(*)::integer
    FROM neurigraph_private.sources_in_spaces(asking) AS m (source_id)
    INNER JOIN neurigraph.sources AS s
        ON m.source_id = s.source_id AND (asking ->> 'role' = 'bound' OR s.privacy <> 'private')
    INNER JOIN neurigraph.record_index AS i
        ON s.user_id = i.user_id AND i.source = s.kind || ':' || s.source_id AND NOT i.quarantined
    GROUP BY i.node_id
$$;

-- Trigger on sources: a source is in the spaces that its sender names (neurigraph.container_tags), else in all that the
-- sender is limited to; and a version in those of the one before. The owner's first use of a tag makes the space.
CREATE OR REPLACE FUNCTION neurigraph.file_in_spaces() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named text [] := string_to_array(nullif(current_setting('neurigraph.container_tags', true), ''), ',');
    allowed text [] := neurigraph.asking_tags();
    is_owner boolean NOT NULL := coalesce(NEW.user_id = neurigraph.asking_user_id(), false);
BEGIN
    IF named IS NULL AND allowed IS NULL AND NEW.replaces IS NULL THEN
        RETURN NULL;
    END IF;
    IF is_owner THEN
        INSERT INTO neurigraph.spaces (user_id, name, container_tag)
        SELECT NEW.user_id, t.tag, t.tag FROM unnest(named) AS t (tag)
        ON CONFLICT (user_id, container_tag) DO NOTHING;
    ELSIF NOT named <@ coalesce(allowed, '{}') THEN
        RAISE insufficient_privilege USING MESSAGE = 'the caller may not name these spaces';
    END IF;
    INSERT INTO neurigraph.source_spaces (source_id, space_id, user_id)
    SELECT NEW.source_id, p.space_id, NEW.user_id
    FROM neurigraph.spaces AS p
    WHERE p.user_id = NEW.user_id AND (
        p.container_tag = ANY(coalesce(named, allowed))
        OR p.space_id IN (SELECT b.space_id FROM neurigraph.source_spaces AS b WHERE b.source_id = NEW.replaces)
    )
    ON CONFLICT DO NOTHING;
    IF coalesce(named, allowed) IS NOT NULL AND NOT EXISTS (
        SELECT FROM neurigraph.source_spaces AS m
        INNER JOIN neurigraph.spaces AS p ON m.space_id = p.space_id
        WHERE m.source_id = NEW.source_id AND p.container_tag = ANY(coalesce(named, allowed))
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'the spaces of this key were removed';
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER file_in_spaces AFTER INSERT ON neurigraph.sources
FOR EACH ROW EXECUTE FUNCTION neurigraph.file_in_spaces();

-- Trigger on notes: a note that replaces another, or states the next version of a fact, is in the spaces of that, too.
CREATE OR REPLACE FUNCTION neurigraph.keep_spaces_of_note() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO neurigraph.source_spaces (source_id, space_id, user_id)
    SELECT NEW.source_id, b.space_id, NEW.user_id
    FROM neurigraph.source_spaces AS b
    WHERE b.user_id = NEW.user_id AND (
        b.source_id = NEW.replaces OR b.source_id = (
            SELECT split_part(i.source, ':', 2)::uuid
            FROM neurigraph.facts AS f
            INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
            WHERE f.fact_id = NEW.follows
        )
    )
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER keep_spaces_of_note AFTER INSERT ON neurigraph.notes
FOR EACH ROW WHEN (NEW.replaces IS NOT NULL OR NEW.follows IS NOT NULL)
EXECUTE FUNCTION neurigraph.keep_spaces_of_note();

-- A caller that is limited to spaces sees these, and which of its sources are in them.
DROP POLICY IF EXISTS bound ON neurigraph.spaces;
CREATE POLICY bound ON neurigraph.spaces FOR SELECT TO neurigraph_agent
USING (
    user_id = (SELECT (neurigraph.claims() ->> 'user_id')::uuid)
    AND container_tag = ANY((SELECT neurigraph.asking_tags())::text [])
);

DROP POLICY IF EXISTS bound ON neurigraph.source_spaces;
CREATE POLICY bound ON neurigraph.source_spaces FOR SELECT TO neurigraph_agent
USING (
    space_id IN (SELECT p.space_id FROM neurigraph.spaces AS p WHERE (SELECT neurigraph.asking_tags() IS NOT NULL))
    AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
);

-- Who acts for the owner within spaces reads and writes their sources, except files. What is handed in is in these
-- spaces at once, by the trigger.
ALTER TABLE neurigraph.sources ALTER COLUMN binding SET DEFAULT neurigraph.asking_binding();
DROP POLICY IF EXISTS bound ON neurigraph.sources;
CREATE POLICY bound ON neurigraph.sources TO neurigraph_agent
USING (
    user_id = (SELECT neurigraph.bound_user_id())
    AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
)
WITH CHECK (user_id = (SELECT neurigraph.bound_user_id()) AND kind <> 'upload');
DROP POLICY IF EXISTS true_binding ON neurigraph.sources;
CREATE POLICY true_binding ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding()));

DO $$
DECLARE
    guarded name;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['messages', 'notes'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS bound ON neurigraph.%I', guarded);
        EXECUTE format(
            'CREATE POLICY bound ON neurigraph.%I TO neurigraph_agent '
            'USING (user_id = (SELECT neurigraph.bound_user_id()) '
            'AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources()))))', guarded
        );
    END LOOP;
    FOREACH guarded IN ARRAY ARRAY['storage_triggers', 'uploads'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS bound ON neurigraph.%I', guarded);
        EXECUTE format(
            'CREATE POLICY bound ON neurigraph.%I FOR SELECT TO neurigraph_agent '
            'USING (user_id = (SELECT neurigraph.bound_user_id()) '
            'AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources()))))', guarded
        );
    END LOOP;
END
$$;

-- What is known of a node as a whole was made of records of all spaces: nothing of it within some. The same holds for
-- edges that nobody can trace to a record, for names that were given by hand, and for standards.
DO $$
DECLARE
    guarded text [];
BEGIN
    FOREACH guarded SLICE 1 IN ARRAY ARRAY[
        ['profiles', 'false'],
        ['node_standards', 'false'],
        ['actions', 'false'],
        ['edge_evidence', 'record_id IS NOT NULL'],
        ['node_aliases', 'EXISTS (SELECT FROM neurigraph.mentions AS m WHERE m.alias_id = node_aliases.alias_id)']
    ] LOOP
        EXECUTE format('DROP POLICY IF EXISTS traceable ON neurigraph.%I', guarded[1]);
        EXECUTE format(
            'CREATE POLICY traceable ON neurigraph.%I AS RESTRICTIVE FOR SELECT TO neurigraph_agent '
            'USING ((SELECT neurigraph.asking_tags() IS NULL) OR %s)', guarded[1], guarded[2]
        );
    END LOOP;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
REVOKE ALL ON FUNCTION neurigraph.file_in_spaces() FROM PUBLIC;
