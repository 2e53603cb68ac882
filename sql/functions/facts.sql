-- Facts: their versions and the log of their changes.

-- The fields of a fact that may change after it was read or stated, as an object.
CREATE OR REPLACE FUNCTION neurigraph_private.changeable_fields(fact neurigraph.facts) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object(
        'status', fact.status, 'confirmed_at', fact.confirmed_at, 'valid_until', fact.valid_until,
        'pinned', fact.pinned, 'tags', fact.tags, 'metadata', fact.metadata, 'forget_after', fact.forget_after,
        'forgotten_at', fact.forgotten_at, 'forget_reason', fact.forget_reason
    )
$$;
