-- Who is asking, and what they may see.

CREATE OR REPLACE FUNCTION neurigraph.claims() RETURNS jsonb
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
CREATE OR REPLACE FUNCTION neurigraph.asking_user_id() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN c.stated ->> 'role' = 'user' THEN (c.stated ->> 'user_id')::uuid END
    FROM (SELECT neurigraph.claims() AS stated) AS c
$$;

-- Who may see which nodes: the one place that says so, for the policies of node tables (may_read_node) and for
-- everything that runs with the owner's rights. What it is asked with must come from claims().
CREATE OR REPLACE FUNCTION neurigraph.visible_nodes(asking jsonb) RETURNS SETOF neurigraph.graph_index
LANGUAGE sql STABLE AS $$
    SELECT g.* FROM neurigraph.graph_index AS g
    WHERE g.user_id = (asking ->> 'user_id')::uuid AND asking ->> 'role' = 'user'
$$;

CREATE OR REPLACE FUNCTION neurigraph.may_read_node(wanted uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM (SELECT neurigraph.claims() AS asking OFFSET 0) AS c
        CROSS JOIN LATERAL neurigraph.visible_nodes(c.asking) AS g
        WHERE g.node_id = wanted
    )
$$;

-- Whose key this is; null for an unknown, expired or revoked one.
CREATE OR REPLACE FUNCTION neurigraph.owner_of_key(hash bytea) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.user_id FROM neurigraph.api_keys AS k
    WHERE k.key_hash = hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
$$;

REVOKE ALL ON FUNCTION neurigraph.claims(), neurigraph.asking_user_id(), neurigraph.visible_nodes(jsonb),
neurigraph.may_read_node(uuid), neurigraph.owner_of_key(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.claims(), neurigraph.asking_user_id(), neurigraph.may_read_node(uuid),
neurigraph.owner_of_key(bytea) TO neurigraph_agent, neurigraph_pipeline;
