-- The fields of sources that records and search results show.

-- The fields of a source besides its text; null if it has none. A message of a note is a version of the note. The
-- function runs with the caller's rights, so it names no earlier version that the caller does not see. It has no search
-- path of its own so that Postgres inlines it into the calling query.
CREATE OR REPLACE FUNCTION neurigraph.source_details(source neurigraph.sources, message integer) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN source.version > 1 OR (source.kind = 'note' AND message > 1) OR num_nonnulls(
            source.origin, source.document_type, source.url, source.channel, source.author, source.metadata,
            source.updated_at
        ) > 0
            THEN jsonb_strip_nulls(jsonb_build_object(
                'origin', source.origin,
                'document_type', source.document_type,
                'url', source.url,
                'channel', source.channel,
                'author', source.author,
                'metadata', source.metadata,
                'version', CASE WHEN source.kind = 'note' THEN message ELSE source.version END,
                'replaces', (
                    SELECT b.source_id FROM neurigraph.sources AS b WHERE b.source_id = source.replaces
                ),
                'updated_at', source.updated_at
            ))
    END
$$;

-- Whether the caller may hand in a new version of a source: only of the caller's own sources.
CREATE OR REPLACE FUNCTION neurigraph.may_replace(wanted uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = wanted
            AND s.binding IS NOT DISTINCT FROM neurigraph.asking_binding()
            AND CASE
                WHEN s.persona_id IS NOT NULL THEN s.persona_id = neurigraph.writing_persona()
                WHEN s.member_id IS NOT NULL THEN s.member_id = neurigraph.asking_member()
                ELSE s.user_id IN (neurigraph.asking_user_id(), neurigraph.bound_user_id())
            END
    )
$$;

REVOKE ALL ON FUNCTION neurigraph.source_details(neurigraph.sources, integer), neurigraph.may_replace(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.source_details(neurigraph.sources, integer)
TO neurigraph_agent, neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.may_replace(uuid) TO neurigraph_agent;
