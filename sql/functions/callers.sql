-- Callers: the key and the door of a call, whether anything is hidden from it, and the holders of keys.

-- The key and the door that the caller used; null without claims, and for a caller without a key.
CREATE OR REPLACE FUNCTION neurigraph.asking_key() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (neurigraph.claims() ->> 'key_id')::uuid
$$;

CREATE OR REPLACE FUNCTION neurigraph.asking_door() RETURNS neurigraph.received_through
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (neurigraph.claims() ->> 'received_through')::neurigraph.received_through
$$;

-- Whether no source is hidden from the caller: a quick check, which is never true for a caller within spaces.
CREATE OR REPLACE FUNCTION neurigraph_private.sees_all_sources(asking jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    RETURN NOT asking ? 'container_tags' AND (
        asking ->> 'role' IN ('user', 'bound') OR NOT EXISTS (
            SELECT FROM neurigraph.sources AS s
            WHERE s.user_id = (asking ->> 'user_id')::uuid AND s.privacy = 'private'
                AND coalesce(s.member_id <> (SELECT neurigraph_private.member_of(asking)), true)
        )
    );
END
$$;

CREATE OR REPLACE FUNCTION neurigraph.sees_all_sources() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(neurigraph_private.sees_all_sources(neurigraph.claims()), true)
$$;

-- Whether no record of the graph is hidden from the caller, by privacy or by quarantine.
CREATE OR REPLACE FUNCTION neurigraph.sees_all_records() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT neurigraph_private.sees_all_sources(c.asking) AND NOT EXISTS (
        SELECT FROM neurigraph.record_index AS i WHERE i.user_id = (c.asking ->> 'user_id')::uuid AND i.quarantined
    )
    FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
$$;

-- The caller as a cache key of values for one caller: the API key, or role and subject of a token.
CREATE OR REPLACE FUNCTION neurigraph.asking_caller() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(c.stated ->> 'key_id', (c.stated ->> 'role') || ':' || (c.stated ->> 'sub'))
    FROM (SELECT neurigraph.claims() AS stated) AS c
$$;

-- The holder of an API key; no row if the key is unknown, expired or revoked. Updates last_used_at at most once an
-- hour.
CREATE OR REPLACE FUNCTION neurigraph.holder_of_key(hash bytea)
RETURNS TABLE (key_id uuid, user_id uuid, role text, subject_id text, container_tags text [])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    holder neurigraph.api_keys;
BEGIN
    SELECT k.* INTO holder FROM neurigraph.api_keys AS k
    WHERE k.key_hash = hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp());
    IF NOT FOUND OR (
        holder.role = 'member' AND neurigraph_private.member_of(
            jsonb_build_object('role', holder.role, 'sub', holder.subject_id, 'user_id', holder.user_id)
        ) IS NULL
    ) THEN
        RETURN;
    END IF;
    IF holder.last_used_at IS NULL OR holder.last_used_at NOT BETWEEN now() - interval '1 hour' AND now() THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE neurigraph.api_keys AS k SET last_used_at = now()
        WHERE k.key_id IN (
            SELECT i.key_id FROM neurigraph.api_keys AS i WHERE i.key_id = holder.key_id FOR NO KEY UPDATE SKIP LOCKED
        );
    END IF;
    RETURN QUERY SELECT holder.key_id, holder.user_id, holder.role, holder.subject_id, holder.container_tags;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.asking_key(), neurigraph.asking_door(), neurigraph.asking_caller(),
neurigraph.sees_all_sources(), neurigraph.sees_all_records(), neurigraph.holder_of_key(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.asking_key(), neurigraph.asking_door(), neurigraph.asking_caller(),
neurigraph.sees_all_sources(), neurigraph.sees_all_records(), neurigraph.holder_of_key(bytea)
TO neurigraph_agent, neurigraph_pipeline;
