-- Who is asking. A face sets two parameters for its transaction: the claims, and their HMAC-SHA256. Anyone who can
-- run SQL can set a parameter, so claims without a good signature, or past their time, are no claims.

-- The two padded keys of HMAC (RFC 2104), so that the built-in sha256 suffices and no extension is needed.
CREATE TABLE neurigraph_private.claims_key (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    inner_pad bytea NOT NULL CHECK (octet_length(inner_pad) = 64),
    outer_pad bytea NOT NULL CHECK (octet_length(outer_pad) = 64)
);

CREATE FUNCTION neurigraph.claims() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    payload text := current_setting('request.jwt.claims', true);
    signature text := current_setting('neurigraph.claims_signature', true);
    expected bytea;
    stated jsonb;
BEGIN
    IF coalesce(payload, '') = '' OR coalesce(signature, '') = '' THEN
        RETURN NULL;
    END IF;
    SELECT sha256(k.outer_pad || sha256(k.inner_pad || convert_to(payload, 'UTF8'))) INTO expected
    FROM neurigraph_private.claims_key AS k;
    IF expected IS NULL OR encode(expected, 'hex') <> signature THEN
        RETURN NULL;
    END IF;
    stated := payload::jsonb;
    IF NOT coalesce((stated ->> 'exp')::numeric > extract(EPOCH FROM clock_timestamp()), false) THEN
        RETURN NULL;
    END IF;
    RETURN stated;
END
$$;

-- The owner of a graph, when the owner is asking; nobody else until grants say so.
CREATE FUNCTION neurigraph.asking_user_id() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN c.stated ->> 'role' = 'user' THEN (c.stated ->> 'user_id')::uuid END
    FROM (SELECT neurigraph.claims() AS stated) AS c
$$;

-- The gate of a node's tables, evaluated once a statement.
CREATE FUNCTION neurigraph.may_read_node(wanted uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.graph_index AS g
        WHERE g.node_id = wanted AND g.user_id = neurigraph.asking_user_id()
    )
$$;

-- Whose key this is; null for an unknown, expired or revoked one.
CREATE FUNCTION neurigraph.owner_of_key(hash bytea) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.user_id FROM neurigraph.api_keys AS k
    WHERE k.key_hash = hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.claims(), neurigraph.asking_user_id(), neurigraph.may_read_node(uuid),
neurigraph.owner_of_key(bytea) TO neurigraph_agent, neurigraph_pipeline;
