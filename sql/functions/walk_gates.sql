-- Checks of a walk (walks.sql): the records, facts and links that it may enter. Postgres inlines these functions.

-- Whether a record is open to a caller. The caller's rights are computed once a walk. An owner without anything in
-- quarantine sees all records.
CREATE OR REPLACE FUNCTION neurigraph_private.may_enter_record(
    r neurigraph.record_index, sees_all boolean, is_owner boolean, readable uuid [], hidden uuid []
) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT sees_all OR (
        NOT r.quarantined AND (
            is_owner OR (r.node_id = ANY(readable) AND r.source_id <> ALL(hidden))
        )
    )
$$;

-- Whether a node, or else a source, is open to a caller. The function is not inlined, because few links lead to nodes
-- and sources.
CREATE OR REPLACE FUNCTION neurigraph_private.may_enter_end(
    node uuid, from_source uuid, is_owner boolean, readable uuid [], hidden uuid []
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF node IS NOT NULL THEN
        RETURN EXISTS (
            SELECT FROM neurigraph.graph_index AS g
            WHERE g.node_id = node AND NOT g.quarantined AND (is_owner OR g.node_id = ANY(readable))
        );
    END IF;
    RETURN is_owner OR EXISTS (
        SELECT FROM neurigraph.sources AS s
        INNER JOIN neurigraph.record_index AS r ON s.user_id = r.user_id AND r.source_id = s.source_id
        WHERE s.source_id = from_source AND neurigraph_private.may_enter_record(r, false, false, readable, hidden)
    );
END
$$;

-- Whether a fact stands: it is not forgotten, was known at a moment, and was true at another moment. Null means any
-- moment.
CREATE OR REPLACE FUNCTION neurigraph_private.fact_stands(
    f neurigraph.facts, with_archived boolean, known_at timestamptz, true_at timestamptz
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT f.forgotten_at IS NULL AND (f.forget_after IS NULL OR f.forget_after > now())
        AND (with_archived OR f.status <> 'archived')
        AND (known_at IS NULL OR f.recorded_at <= known_at)
        AND (
            true_at IS NULL OR (
                (f.valid_until IS NULL OR f.valid_until > true_at)
                AND (f.occurred IS NULL OR lower_inf(f.occurred) OR lower(f.occurred) <= true_at)
            )
        )
$$;

-- Whether a link was true in the world at a moment, as far as was known at another moment. Null means now.
CREATE OR REPLACE FUNCTION neurigraph_private.link_held(
    l neurigraph.links, known_at timestamptz, held_at timestamptz
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (l.verdict <> 'rejected' OR l.verdict_at > known_at)
        AND (known_at IS NULL OR l.created_at <= known_at)
        AND CASE WHEN l.ended_at > known_at THEN coalesce(lower(l.valid) <= held_at, true) ELSE l.valid @> held_at END
$$;
