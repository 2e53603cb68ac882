-- Quarantine: finding the records and changes that a quarantine meets, and hiding records with all counts of their
-- words.

-- Whether a message meets the conditions of a quarantine. For messages from before origins were recorded, only the
-- source, its persona and the time are known.
CREATE OR REPLACE FUNCTION neurigraph_private.is_met(
    rule neurigraph.quarantines, message neurigraph.messages, source_persona uuid
) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (rule.source_id IS NULL OR message.source_id = rule.source_id)
        AND (rule.key_id IS NULL OR message.key_id IS NOT DISTINCT FROM rule.key_id)
        AND (
            rule.persona_id IS NULL
            OR CASE WHEN message.received_through IS NULL THEN source_persona ELSE message.persona_id END
                IS NOT DISTINCT FROM rule.persona_id
        )
        AND (rule.received_from IS NULL OR message.received_at >= rule.received_from)
        AND (rule.received_until IS NULL OR message.received_at < rule.received_until)
$$;

-- The records that a quarantine meets: records with at least one such message, because a summary cannot be split.
CREATE OR REPLACE FUNCTION neurigraph_private.records_met(rule neurigraph.quarantines)
RETURNS TABLE (record_id uuid, node_id uuid, messages bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sources uuid [] := ARRAY(
        SELECT s.source_id FROM neurigraph.sources AS s
        WHERE s.user_id = rule.user_id AND (rule.source_id IS NULL OR s.source_id = rule.source_id) AND EXISTS (
            SELECT FROM neurigraph.messages AS m
            WHERE m.source_id = s.source_id AND neurigraph_private.is_met(rule, m, s.persona_id)
        )
    );
    node record;
BEGIN
    FOR node IN
        SELECT DISTINCT g.node_id AS id, g.schema_name
        FROM neurigraph.record_index AS i
        INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
        WHERE i.user_id = rule.user_id AND i.source_id = ANY(sources)
        ORDER BY g.node_id
    LOOP
        RETURN QUERY EXECUTE format(
            $met$SELECT r.record_id, $3, count(*)
            FROM %I.metadata_records AS r
            INNER JOIN neurigraph.sources AS s ON r.source_id = s.source_id
            INNER JOIN neurigraph.messages AS m
                ON s.source_id = m.source_id AND m.seq BETWEEN r.first_message AND r.last_message
            WHERE r.source_id = ANY($2) AND neurigraph_private.is_met($1, m, s.persona_id)
            GROUP BY r.record_id$met$, node.schema_name
        ) USING rule, sources, node.id;
    END LOOP;
END
$$;

-- Hide records from every retrieval, or show them again: their rows, and the counts from their segments. Records
-- that they replaced are sent to caches again. All nodes have the current DDL; the caller holds the graph's lock.
CREATE OR REPLACE FUNCTION neurigraph_private.set_quarantined(records uuid [], hidden boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node record;
BEGIN
    FOR node IN
        SELECT g.node_id AS id, g.user_id AS owner, g.schema_name, array_agg(i.record_id) AS changing
        FROM neurigraph.record_index AS i
        INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
        WHERE i.record_id = ANY(records) AND i.quarantined <> hidden
        GROUP BY g.node_id
        ORDER BY g.node_id
    LOOP
        UPDATE neurigraph.segments AS s SET is_counted = NOT hidden WHERE s.record_id = ANY(node.changing);
        EXECUTE format(
            'UPDATE %I.metadata_records AS r SET quarantined = $2 WHERE r.record_id = ANY($1)', node.schema_name
        )
        USING node.changing, hidden;
        UPDATE neurigraph.record_index AS i SET quarantined = hidden WHERE i.record_id = ANY(node.changing);
        DELETE FROM neurigraph.warm_nodes AS w WHERE w.node_id = node.id;
        -- The packed layer still holds the newly hidden records.
        DELETE FROM neurigraph.layer_packs AS p WHERE p.node_id = node.id;
    END LOOP;
    -- A record that a hidden record superseded is current again, and a record that a shown record supersedes is not, so
    -- caches read both again.
    FOR node IN
        SELECT g.schema_name, array_agg(DISTINCT d.record_id) AS replaced
        FROM neurigraph.delta_log AS d
        INNER JOIN neurigraph.record_index AS i ON d.record_id = i.record_id
        INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
        WHERE d.delta_payload ->> 'operation' = 'supersede'
            AND d.delta_payload -> 'after' ->> 'superseded_by' = ANY(records::text [])
        GROUP BY g.schema_name
        ORDER BY g.schema_name
    LOOP
        EXECUTE format(
            'UPDATE %I.metadata_records AS r SET quarantined = r.quarantined WHERE r.record_id = ANY($1)',
            node.schema_name
        ) USING node.replaced;
    END LOOP;
END
$$;

-- Whether a change of a record meets the conditions of a quarantine. Changes by people and personas have a key, a
-- persona and a time, but no source. The key is unknown for changes from before keys were recorded.
CREATE OR REPLACE FUNCTION neurigraph_private.is_revision_met(
    rule neurigraph.quarantines, author text, key_used uuid, moment timestamptz
) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT rule.source_id IS NULL AND neurigraph.kind_of_author(author) IN ('user', 'persona')
        AND (rule.key_id IS NULL OR key_used IS NOT DISTINCT FROM rule.key_id)
        AND (rule.persona_id IS NULL OR author = 'persona:' || rule.persona_id)
        AND (rule.received_from IS NULL OR moment >= rule.received_from)
        AND (rule.received_until IS NULL OR moment < rule.received_until)
$$;

-- The deltas that a quarantine meets.
CREATE OR REPLACE FUNCTION neurigraph_private.revisions_met(rule neurigraph.quarantines)
RETURNS TABLE (delta_id uuid, record_id uuid)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.delta_id, d.record_id
    FROM neurigraph.delta_log AS d
    WHERE d.user_id = rule.user_id
        AND neurigraph_private.is_revision_met(rule, d.authored_by, d.key_id, d.w_coordinate)
$$;

-- Whether a change by an author at this moment would be in quarantine.
CREATE OR REPLACE FUNCTION neurigraph.is_held(of_user uuid, author text, key_used uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.quarantines AS q
        WHERE q.user_id = of_user AND q.released_at IS NULL
            AND neurigraph_private.is_revision_met(q, author, key_used, clock_timestamp())
    )
$$;

-- The fields of a record that hidden deltas changed, with their values by the visible deltas: the value that the last
-- visible delta set or, without a visible delta, the value that the first delta replaced. Deltas that quarantines wrote
-- give no values.
CREATE OR REPLACE FUNCTION neurigraph_private.visible_fields(wanted uuid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH changes AS MATERIALIZED (
        SELECT
            v.key, v.value AS after, d.delta_payload -> 'before' -> v.key AS before, d.w_coordinate AS w,
            neurigraph.kind_of_author(d.authored_by) <> 'quarantine' AND NOT EXISTS (
                SELECT FROM neurigraph.quarantined_deltas AS q WHERE q.delta_id = d.delta_id
            ) AS is_visible
        FROM neurigraph.delta_log AS d CROSS JOIN LATERAL jsonb_each(d.delta_payload -> 'after') AS v
        WHERE d.record_id = wanted
            -- Retention and the archive are left out: callers other than the owner only lengthen lives, and only the
            -- owner archives.
            AND v.key NOT IN (
                'embedding_model', 'node_path', 'tier', 'expires_at', 'archived_at', 'archived_reason'
            )
    )

    SELECT coalesce(jsonb_object_agg(f.key, f.value), '{}')
    FROM (
        SELECT
            c.key,
            coalesce(
                (array_agg(c.after ORDER BY c.w DESC) FILTER (WHERE c.is_visible))[1],
                (array_agg(c.before ORDER BY c.w))[1]
            ) AS value
        FROM changes AS c
        GROUP BY c.key
        HAVING NOT bool_and(c.is_visible)
    ) AS f
$$;

-- The times at which a record was superseded, according to its visible deltas.
CREATE OR REPLACE FUNCTION neurigraph_private.visible_supersessions(wanted uuid) RETURNS tstzmultirange
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(range_agg(tstzrange(s.w, s.until)) FILTER (WHERE s.is_superseded), '{}')
    FROM (
        SELECT
            d.w_coordinate AS w,
            lead(d.w_coordinate) OVER (ORDER BY d.w_coordinate) AS until,
            d.delta_payload -> 'after' ->> 'superseded_by' IS NOT NULL AS is_superseded
        FROM neurigraph.delta_log AS d
        WHERE d.record_id = wanted AND d.delta_payload -> 'after' ? 'superseded_by'
            AND neurigraph.kind_of_author(d.authored_by) <> 'quarantine'
            AND NOT EXISTS (SELECT FROM neurigraph.quarantined_deltas AS q WHERE q.delta_id = d.delta_id)
    ) AS s
$$;

-- The quarantines in force that a part of a source meets. The commit calls this function before it stores the part.
CREATE OR REPLACE FUNCTION neurigraph.quarantines_of(of_source uuid, first_message integer, last_message integer)
RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT q.quarantine_id
    FROM neurigraph.sources AS s
    INNER JOIN neurigraph.quarantines AS q ON s.user_id = q.user_id AND q.released_at IS NULL
    WHERE s.source_id = of_source AND EXISTS (
        SELECT FROM neurigraph.messages AS m
        WHERE m.source_id = s.source_id
            AND m.seq BETWEEN quarantines_of.first_message AND quarantines_of.last_message
            AND neurigraph_private.is_met(q, m, s.persona_id)
    )
$$;

-- Put a record that was just stored into the given quarantines.
CREATE OR REPLACE FUNCTION neurigraph.hold_record(held uuid, in_quarantines uuid []) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO neurigraph.quarantined_records (quarantine_id, record_id, user_id)
    SELECT q.quarantine_id, i.record_id, i.user_id
    FROM neurigraph.quarantines AS q INNER JOIN neurigraph.record_index AS i ON q.user_id = i.user_id
    WHERE q.quarantine_id = ANY(in_quarantines) AND i.record_id = held
    ON CONFLICT DO NOTHING;
    PERFORM neurigraph_private.set_quarantined(ARRAY[held], true);
END
$$;

-- The values of a node that a quarantine may change. Edges, candidates and aliases are left out, because they are
-- computed again from evidence.
CREATE OR REPLACE FUNCTION neurigraph_private.changeable(node neurigraph.graph_index) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(c.key, c.value) FROM jsonb_each(to_jsonb(node)) AS c
    WHERE c.key IN (
        'node_keywords', 'keyword_weights', 'node_summary', 'centroid', 'embedded_count',
        'record_count', 'language', 'quarantined'
    )
$$;

REVOKE ALL ON FUNCTION neurigraph.quarantines_of(uuid, integer, integer), neurigraph.hold_record(uuid, uuid []),
neurigraph.is_held(uuid, text, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.quarantines_of(uuid, integer, integer), neurigraph.hold_record(uuid, uuid []),
neurigraph.is_held(uuid, text, uuid) TO neurigraph_pipeline;
