-- Statistics of nodes: passages, speakers and languages. A trigger on segments keeps them, for every writer.

-- Count the segments of some nodes again.
CREATE OR REPLACE FUNCTION neurigraph_private.count_segments(nodes uuid []) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM neurigraph.node_statistics AS s WHERE s.node_id = ANY(nodes) ORDER BY s.node_id FOR UPDATE;
    INSERT INTO neurigraph.node_statistics AS s (node_id, user_id, passages, speakers, languages)
    SELECT
        g.node_id,
        g.user_id,
        coalesce((SELECT sum(c.passages) FROM neurigraph.segments AS c WHERE c.node_id = g.node_id AND c.is_counted), 0),
        ARRAY(
            SELECT DISTINCT w.word FROM neurigraph.segments AS c CROSS JOIN unnest(c.speakers) AS w (word)
            WHERE c.node_id = g.node_id AND c.is_counted
        ),
        ARRAY(
            SELECT DISTINCT w.word FROM neurigraph.segments AS c CROSS JOIN unnest(c.languages) AS w (word)
            WHERE c.node_id = g.node_id AND c.is_counted
        )
    FROM neurigraph.graph_index AS g
    WHERE g.node_id = ANY(nodes)
    ORDER BY g.node_id
    ON CONFLICT (node_id) DO UPDATE SET
        passages = excluded.passages, speakers = excluded.speakers, languages = excluded.languages;
END
$$;

-- The speakers in the nodes that the caller may read, in lower case, and the languages there beside the installation's.
CREATE OR REPLACE FUNCTION neurigraph_private.voices_and_languages(
    asking jsonb, visible uuid [], OUT speakers text [], OUT languages text []
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF visible IS NOT NULL AND NOT neurigraph_private.counts_are_visible(asking) THEN
        -- A caller who may not see counts gets only the languages of visible nodes.
        speakers := '{}';
        languages := ARRAY(
            SELECT DISTINCT g.language::text FROM neurigraph.graph_index AS g
            WHERE g.node_id = ANY(visible) AND NOT asking ? 'container_tags'
        );
        RETURN;
    END IF;
    SELECT
        coalesce(array_agg(DISTINCT w.word) FILTER (WHERE w.is_speaker), '{}'),
        coalesce(array_agg(DISTINCT w.word) FILTER (WHERE NOT w.is_speaker), '{}')
    INTO speakers, languages
    FROM neurigraph.node_statistics AS s
    CROSS JOIN LATERAL (
        SELECT p.word, true AS is_speaker FROM unnest(s.speakers) AS p (word)
        UNION ALL
        SELECT l.word, false AS is_speaker FROM unnest(s.languages) AS l (word)
    ) AS w
    WHERE s.user_id = (asking ->> 'user_id')::uuid AND (visible IS NULL OR s.node_id = ANY(visible));
END
$$;
