-- Unstored messages, for search: messages that were handed in and are not stored yet. They lie in no node, so the
-- rights to read them depend on who handed them in.

-- The sources with unstored messages that the caller may read, the last message first. The owner of the graph reads all
-- of them, or, within spaces, all in the spaces. A member of an organization reads sources that the member handed in. A
-- persona that may still write reads sources that it handed in and that are not private. Other callers read none. These
-- rules are the rules of the policies of messages. `change` differs after every statement that adds, replaces or stores
-- messages, because each writes the source's row. Pass only the result of claims().
CREATE OR REPLACE FUNCTION neurigraph_private.unstored_sources(asking jsonb, wanted uuid, most integer)
RETURNS TABLE (
    source_id uuid, kind neurigraph.source_kind, external_id text, title text, persona_id uuid,
    stored_through integer, last_message integer, last_received_at timestamptz, change text
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owner uuid := asking ->> 'user_id';
    is_owner boolean NOT NULL := coalesce(asking ->> 'role' = 'user', false);
    persona uuid;
    member uuid;
    hidden uuid [];
    is_bound boolean NOT NULL := coalesce(asking ->> 'role' = 'bound', false);
BEGIN
    IF NOT is_owner THEN
        persona := neurigraph.writing_persona();
        member := neurigraph_private.member_of(asking);
        IF coalesce(persona, member) IS NULL AND NOT is_bound THEN
            RETURN;
        END IF;
        hidden := neurigraph_private.hidden_sources(asking);
    END IF;
    RETURN QUERY
    SELECT
        s.source_id, s.kind, s.external_id, s.title, s.persona_id, s.stored_through, s.last_message,
        s.last_received_at, s.xmin::text
    FROM neurigraph.sources AS s
    WHERE s.user_id = owner AND s.stored_through < s.last_message AND NOT s.held
        AND (wanted IS NULL OR s.source_id = wanted)
        AND (
            is_owner
            OR ((is_bound OR s.persona_id = persona OR s.member_id = member) AND s.source_id <> ALL(hidden))
        )
    ORDER BY s.last_received_at DESC, s.source_id DESC
    LIMIT most;
END
$$;

-- The version of the unstored messages that the caller may read; null if there are none, the cheapest case.
CREATE OR REPLACE FUNCTION neurigraph_private.unstored_version(asking jsonb) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.user_id = (asking ->> 'user_id')::uuid AND s.stored_through < s.last_message AND NOT s.held
    ) THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT md5(string_agg(c.part, ',') || max(q.in_force))
        FROM (
            SELECT s.source_id || s.change AS part FROM neurigraph_private.unstored_sources(asking, NULL, 200) AS s
        ) AS c
        CROSS JOIN (
            SELECT coalesce(string_agg(r.quarantine_id::text, ',' ORDER BY r.quarantine_id), '') AS in_force
            FROM neurigraph.quarantines AS r
            WHERE r.user_id = (asking ->> 'user_id')::uuid AND r.released_at IS NULL
        ) AS q
    );
END
$$;

-- The unstored messages that the caller may read: the newest `most` messages of the 200 sources that received a message
-- last, with at most a hundred times as many tokens. Segments of a source may be stored in any order. A source is left
-- out if any of its unstored messages meets a quarantine in force, because its record will be hidden. `sent` is null if
-- the caller knows the current version. A caller that knows the state before `since` gets only the text of newer
-- messages. Transaction ids are compared modulo 2^32, because rows store them so.
CREATE OR REPLACE FUNCTION neurigraph_private.unstored(
    asking jsonb, known_version text, since bigint, most integer, OUT version text, OUT horizon bigint, OUT sent json
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owner uuid := asking ->> 'user_id';
    -- A persona reads only its own messages: the pipeline does not store messages of others at its node either.
    sender uuid := neurigraph_private.persona_of(asking);
    are_held boolean;
    till_now bigint;
BEGIN
    version := neurigraph_private.unstored_version(asking);
    IF version IS NULL OR most = 0 OR version = known_version THEN
        RETURN;
    END IF;
    are_held := EXISTS (SELECT FROM neurigraph.quarantines AS q WHERE q.user_id = owner AND q.released_at IS NULL);
    IF NOT pg_is_in_recovery() THEN  -- on a replica a snapshot does not list all running transactions
        horizon := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
        till_now := CASE WHEN horizon - since BETWEEN 0 AND 1000000000
            THEN pg_snapshot_xmax(pg_current_snapshot())::text::bigint - since END;
    END IF;
    WITH waiting AS MATERIALIZED (
        SELECT
            s.*,
            row_number() OVER in_order AS place,
            sum(s.last_message - s.stored_through) OVER in_order AS till
        FROM neurigraph_private.unstored_sources(asking, NULL, 200) AS s
        WHERE NOT are_held OR NOT EXISTS (
            SELECT FROM neurigraph.quarantines_of(s.source_id, s.stored_through + 1, s.last_message)
        )
        WINDOW in_order AS (ORDER BY s.last_received_at DESC, s.source_id DESC)
    ),

    newest AS MATERIALIZED (
        SELECT
            m.*,
            w.place,
            sum(m.token_count) OVER (ORDER BY w.place, m.seq DESC) - m.token_count AS tokens_before
        FROM waiting AS w
        CROSS JOIN LATERAL (
            SELECT
                i.source_id, i.seq, i.role, i.author, left(i.content, 40000) AS content, i.tool_event, i.token_count,
                i.occurred_at, i.utc_offset, i.external_id, i.section, i.key_id, i.received_through, i.received_at,
                CASE WHEN i.received_through IS NULL THEN w.persona_id ELSE i.persona_id END AS persona_id,
                till_now IS NULL OR (i.xmin::text::bigint - since) & 4294967295 <= till_now AS is_new
            FROM neurigraph.messages AS i
            WHERE i.source_id = w.source_id AND i.content IS NOT NULL
                AND (sender IS NULL OR i.received_through IS NULL OR i.persona_id = sender)
                AND i.seq > w.stored_through + greatest(w.till - most, 0)
                AND NOT EXISTS (
                    SELECT FROM neurigraph.storage_triggers AS t
                    WHERE t.source_id = i.source_id AND t.state = 'stored'
                        AND i.seq BETWEEN t.first_message AND t.last_message
                )
            -- The limit keeps the planner from one join, which would read the messages of all users.
            ORDER BY i.seq DESC
            LIMIT most
        ) AS m
        WHERE w.till - (w.last_message - w.stored_through) < most
    ),

    chosen AS MATERIALIZED (
        SELECT n.* FROM newest AS n WHERE n.tokens_before < 100 * most
    )

    SELECT json_build_object(
        'slug', (SELECT u.slug FROM neurigraph.users AS u WHERE u.user_id = owner),
        'more', (SELECT coalesce(max(w.till) > most OR count(*) = 200, false) FROM waiting AS w)
        OR (SELECT count(*) FROM newest) > (SELECT count(*) FROM chosen),
        'sources', (
            SELECT coalesce(json_agg(json_build_object(
                'source_id', w.source_id, 'kind', w.kind, 'external_id', w.external_id, 'title', w.title,
                'details', (
                    SELECT neurigraph.source_details(d, w.last_message) FROM neurigraph.sources AS d
                    WHERE d.source_id = w.source_id
                ),
                'seqs', c.seqs
            ) ORDER BY w.place), '[]')
            FROM waiting AS w
            INNER JOIN (
                SELECT h.source_id, json_agg(h.seq ORDER BY h.seq) AS seqs FROM chosen AS h GROUP BY h.source_id
            ) AS c ON w.source_id = c.source_id
        ),
        'messages', (
            SELECT coalesce(json_agg(to_jsonb(c) - '{is_new,tokens_before,place}'::text [] ORDER BY c.place, c.seq DESC), '[]')
            FROM chosen AS c WHERE c.is_new
        )
    ) INTO sent;
END
$$;

-- The unstored messages of one source, from a number on; null if no such source exists or the caller may not read it.
CREATE OR REPLACE FUNCTION neurigraph.unstored_messages(wanted uuid, from_message integer, most integer) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    sender uuid := neurigraph_private.persona_of(asking);
BEGIN
    RETURN (
        SELECT json_build_object(
            'slug', (SELECT u.slug FROM neurigraph.users AS u WHERE u.user_id = (asking ->> 'user_id')::uuid),
            'kind', s.kind,
            'messages', (
                SELECT coalesce(json_agg(c ORDER BY c.seq), '[]')
                FROM (
                    SELECT
                        m.source_id, m.seq, m.role, m.author, m.content, m.tool_calls, m.tool_event, m.token_count,
                        m.occurred_at, m.utc_offset, m.external_id, m.section, m.key_id, m.received_through, m.received_at,
                        p.persona_id,
                        (
                            SELECT g.node_name FROM neurigraph.visible_nodes(asking) AS g
                            WHERE g.node_id = p.persona_id
                        ) AS persona
                    FROM neurigraph.messages AS m
                    CROSS JOIN LATERAL (
                        SELECT CASE WHEN m.received_through IS NULL THEN s.persona_id ELSE m.persona_id END AS persona_id
                    ) AS p
                    WHERE m.source_id = s.source_id AND m.seq > s.stored_through AND m.seq >= from_message
                        AND (sender IS NULL OR p.persona_id = sender)
                        AND m.content IS NOT NULL AND NOT EXISTS (
                            SELECT FROM neurigraph.storage_triggers AS t
                            WHERE t.source_id = m.source_id AND t.state = 'stored'
                                AND m.seq BETWEEN t.first_message AND t.last_message
                        )
                    ORDER BY m.seq
                    LIMIT most
                ) AS c
            )
        )
        FROM neurigraph_private.unstored_sources(asking, wanted, 1) AS s
        WHERE NOT EXISTS (SELECT FROM neurigraph.quarantines_of(s.source_id, s.stored_through + 1, s.last_message))
    );
END
$$;

REVOKE ALL ON FUNCTION neurigraph.unstored_messages(uuid, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.unstored_messages(uuid, integer, integer) TO neurigraph_agent;
