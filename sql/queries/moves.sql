-- Moves of users between databases.

-- name: place
-- The user of a name in a database, and whether the row is a copy whose move is not complete.
SELECT
    u.user_id,
    EXISTS (SELECT FROM neurigraph.arrivals AS a WHERE a.user_id = u.user_id) AS is_arriving
FROM neurigraph.users AS u
WHERE u.slug = %(slug)s;

-- name: ties
-- Whether a user shares a graph with other users of the database, and whether parts of the graph mirror another
-- installation.
SELECT
    EXISTS (
        SELECT FROM neurigraph.organizations AS o
        FULL JOIN neurigraph.organization_members AS m ON o.user_id = m.user_id
        WHERE o.user_id = %(user_id)s OR m.member_id = %(user_id)s
    ) AS shares,
    EXISTS (SELECT FROM neurigraph.peers AS p WHERE p.user_id = %(user_id)s) AS mirrors;

-- name: lock_rows
-- Lock all rows of a user in a table: statements that change a row wait.
SELECT count(*) FROM (SELECT FROM {table} WHERE user_id = %(user_id)s FOR UPDATE) AS r;

-- name: lock_node
-- Lock the tables of a node against changes, and not against readers.
LOCK TABLE {schema}.metadata_records, {schema}.file_manifest IN SHARE ROW EXCLUSIVE MODE;

-- name: arrive
-- Keep the staged rows of some tables until the move is complete.
INSERT INTO neurigraph.arrivals (user_id, kept)
SELECT
    %(user_id)s,
    coalesce(jsonb_object_agg(k.name, k.kept), jsonb_build_object())
FROM (
    SELECT
        t.name,
        jsonb_agg(i.line ORDER BY i.number) AS kept
    FROM unnest(%(names)s::text [], %(parts)s::text []) AS t (name, part)
    INNER JOIN pg_temp.incoming AS i ON t.part = i.part
    GROUP BY t.name
) AS k;

-- name: write_kept
-- Write the kept rows of one table.
INSERT INTO {table}
SELECT r.* FROM neurigraph.arrivals AS a
CROSS JOIN LATERAL jsonb_populate_recordset(NULL::{table}, a.kept -> %(name)s) AS r
WHERE a.user_id = %(user_id)s
ON CONFLICT DO NOTHING;

-- name: settle
DELETE FROM neurigraph.arrivals WHERE user_id = %(user_id)s;
