-- Change tracking: the versions that tell whether cached answers and cached nodes are current.

-- The version of all data of a user that an answer may depend on.
CREATE OR REPLACE FUNCTION neurigraph_private.data_version(owner uuid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT md5(coalesce(string_agg(c.change::text, ',' ORDER BY c.change), ''))
    FROM neurigraph.user_changes AS c WHERE c.user_id = owner
$$;

-- The version of the part of a graph that a caller sees. For a member or a caller within spaces, the visible part
-- depends only on rows that the user's version counts. Personas and third parties get null, because a grant ends
-- without a change of any row.
CREATE OR REPLACE FUNCTION neurigraph_private.seen_version(asking jsonb) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE WHEN asking ->> 'role' IN ('user', 'bound') OR neurigraph_private.member_of(asking) IS NOT NULL
        THEN neurigraph_private.data_version((asking ->> 'user_id')::uuid) END;
END
$$;

-- The version of the part of a graph that a caller sees, with the version of the unstored messages. The function sets
-- the signed claims.
CREATE OR REPLACE FUNCTION neurigraph.data_version(payload text, signature text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    asking jsonb := neurigraph_private.set_claims(payload, signature);
BEGIN
    RETURN neurigraph_private.seen_version(asking) || coalesce(neurigraph_private.unstored_version(asking), '');
END
$$;

-- The same without the version of the unstored messages: of what is made from stored memories alone.
CREATE OR REPLACE FUNCTION neurigraph.stored_version(payload text, signature text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    RETURN neurigraph_private.seen_version(neurigraph_private.set_claims(payload, signature));
END
$$;

-- The version of one node.
CREATE OR REPLACE FUNCTION neurigraph_private.node_version(wanted uuid) RETURNS TABLE (version text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT coalesce(string_agg(c.change::text, ',' ORDER BY c.change), '')
    FROM neurigraph.node_changes AS c WHERE c.node_id = wanted
$$;

-- The versions of all nodes of a user.
CREATE OR REPLACE FUNCTION neurigraph_private.node_versions(owner uuid) RETURNS TABLE (node_id uuid, version text)
LANGUAGE sql STABLE AS $$
    SELECT c.node_id, string_agg(c.change::text, ',' ORDER BY c.change)
    FROM neurigraph.node_changes AS c WHERE c.user_id = owner GROUP BY c.node_id
$$;

-- For a caller from whom some sources are hidden: the records of some nodes that the caller sees, and the version of
-- this part of each node. The version changes with each change of a visible record, and not with changes of hidden
-- records. No row names erased records, so an erasure changes the versions of all parts of a node. The version of a
-- part begins with a slash. Pass only the result of claims(), and nodes that the caller sees.
CREATE OR REPLACE FUNCTION neurigraph_private.seen_parts(asking jsonb, hidden uuid [], nodes uuid [])
RETURNS TABLE (node_id uuid, records uuid [], version text)
LANGUAGE plpgsql STABLE ROWS 100 SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    RETURN QUERY
    SELECT
        n.node_id,
        coalesce(r.records, '{}'),
        '/' || md5(concat_ws(' ', w.changes, r.changes))
    FROM unnest(nodes) AS n (node_id)
    LEFT JOIN (
        SELECT
            i.node_id AS of_node,
            array_agg(i.record_id) AS records,
            string_agg(concat(i.record_id, c.changes), ',' ORDER BY i.record_id) AS changes
        FROM neurigraph.record_index AS i
        LEFT JOIN (
            SELECT o.record_id AS changed, string_agg(o.change::text, '+' ORDER BY o.change) AS changes
            FROM neurigraph.record_changes AS o
            WHERE o.node_id = ANY(nodes) AND o.record_id IS NOT NULL
            GROUP BY o.record_id
        ) AS c ON i.record_id = c.changed
        WHERE i.user_id = (asking ->> 'user_id')::uuid AND i.node_id = ANY(nodes) AND NOT i.quarantined
            AND i.source_id NOT IN (SELECT unnest(hidden))
        GROUP BY i.node_id
    ) AS r ON n.node_id = r.of_node
    LEFT JOIN (
        SELECT o.node_id AS of_node, string_agg(o.change::text, ',' ORDER BY o.change) AS changes
        FROM neurigraph.record_changes AS o
        WHERE o.node_id = ANY(nodes) AND o.record_id IS NULL
        GROUP BY o.node_id
    ) AS w ON n.node_id = w.of_node;
END
$$;

-- Record that the current transaction changes something of a user; older rows are deleted as new ones come.
CREATE OR REPLACE FUNCTION neurigraph_private.note_change(owner uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- One row for each transaction and user suffices.
    IF current_setting('neurigraph.changed', true) = owner::text || pg_current_xact_id() THEN
        RETURN;
    END IF;
    INSERT INTO neurigraph.user_changes (user_id, change)
    SELECT u.user_id, pg_current_xact_id() FROM neurigraph.users AS u WHERE u.user_id = owner
    ON CONFLICT DO NOTHING;
    DELETE FROM neurigraph.user_changes AS c
    USING (
        SELECT o.change FROM neurigraph.user_changes AS o
        WHERE o.user_id = owner AND o.change < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY o.change
        LIMIT 16
        FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE c.user_id = owner AND c.change = old.change;
    PERFORM set_config('neurigraph.changed', owner::text || pg_current_xact_id(), true);
END
$$;

-- Record that the current transaction changes the tables of a node.
CREATE OR REPLACE FUNCTION neurigraph_private.note_node_change(node uuid, owner uuid, erases boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    noted text := node::text || pg_current_xact_id();
BEGIN
    -- One row for each transaction and node suffices.
    IF current_setting('neurigraph.changed_node', true) IS DISTINCT FROM noted THEN
        PERFORM neurigraph_private.note_change(owner);
        INSERT INTO neurigraph.node_changes (node_id, user_id, change)
        SELECT g.node_id, g.user_id, pg_current_xact_id()
        FROM neurigraph.graph_index AS g WHERE g.node_id = node
        ON CONFLICT DO NOTHING;
        DELETE FROM neurigraph.node_changes AS c
        USING (
            SELECT o.change FROM neurigraph.node_changes AS o
            WHERE o.node_id = node AND o.change < pg_snapshot_xmin(pg_current_snapshot())
            ORDER BY o.change
            LIMIT 16
            FOR UPDATE SKIP LOCKED
        ) AS past
        WHERE c.node_id = node AND c.change = past.change;
        PERFORM set_config('neurigraph.changed_node', noted, true);
    END IF;
    -- An erasure deletes the packed layer, which has the erased records. Other changes only make the packed layer
    -- outdated.
    IF erases THEN
        DELETE FROM neurigraph.layer_packs AS p WHERE p.node_id = node;
        -- No row may name an erased record, so readers read the whole node again.
        DELETE FROM neurigraph.record_changes AS c WHERE c.node_id = node;
        INSERT INTO neurigraph.record_changes (node_id, user_id, change)
        SELECT g.node_id, g.user_id, pg_current_xact_id()
        FROM neurigraph.graph_index AS g WHERE g.node_id = node;
    END IF;
END
$$;

-- Record that the current transaction changes some records of a node.
CREATE OR REPLACE FUNCTION neurigraph_private.note_record_changes(node uuid, owner uuid, records uuid []) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO neurigraph.record_changes (node_id, user_id, change, record_id)
    SELECT DISTINCT node, owner, pg_current_xact_id(), c.record_id FROM unnest(records) AS c (record_id)
    WHERE c.record_id IS NOT NULL
    ON CONFLICT DO NOTHING;
END
$$;

-- Record a change of a node's table: of the whole node for a statement, and of the old and the new record for a row.
CREATE OR REPLACE FUNCTION neurigraph_private.note_change_of(
    level text, node uuid, owner uuid, erases boolean, old_record uuid, new_record uuid
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF level = 'ROW' THEN
        PERFORM neurigraph_private.note_record_changes(node, owner, ARRAY[old_record, new_record]);
    ELSE
        PERFORM neurigraph_private.note_node_change(node, owner, erases);
    END IF;
END
$$;

-- Trigger on the tables of nodes, once a statement, and for each row of records and files. Arguments: node_id and
-- user_id. OLD and NEW are null for a statement.
CREATE OR REPLACE FUNCTION neurigraph.note_node_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.note_change_of(
        TG_LEVEL, TG_ARGV[0]::uuid, TG_ARGV[1]::uuid, TG_OP = 'DELETE', OLD.record_id, NEW.record_id
    );
    RETURN NEW;
END
$$;

-- The records of a node that may have changed since a transaction began; null if the changes are unknown, or if so many
-- records changed that reading the whole node is faster.
CREATE OR REPLACE FUNCTION neurigraph_private.changed_since(node uuid, since bigint) RETURNS uuid []
LANGUAGE plpgsql STABLE AS $$
DECLARE
    from_change xid8 := since::text::xid8;
    changed uuid [];
BEGIN
    IF since IS NULL
        OR NOT EXISTS (SELECT FROM neurigraph.record_changes AS c WHERE c.node_id = node AND c.record_id IS NULL)
        OR EXISTS (
            SELECT FROM neurigraph.record_changes AS c
            WHERE c.node_id = node AND c.record_id IS NULL AND c.change >= from_change
        )
    THEN
        RETURN NULL;
    END IF;
    changed := ARRAY(
        SELECT DISTINCT c.record_id FROM neurigraph.record_changes AS c
        WHERE c.node_id = node AND c.change >= from_change
    );
    RETURN CASE WHEN cardinality(changed) <= greatest(
        100, (SELECT g.record_count FROM neurigraph.graph_index AS g WHERE g.node_id = node) / 8
    ) THEN changed END;
END
$$;

-- Trigger on shared tables, for each row: record that the current transaction changes something of the row's user.
CREATE OR REPLACE FUNCTION neurigraph.note_row_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.note_change(CASE WHEN TG_OP = 'DELETE' THEN OLD.user_id ELSE NEW.user_id END);
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.data_version(text, text), neurigraph.stored_version(text, text),
neurigraph.note_node_change(), neurigraph.note_row_change() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.data_version(text, text), neurigraph.stored_version(text, text)
TO neurigraph_agent;
