-- The directory: the databases, and the database of each user.

-- name: list_databases
-- The databases with their numbers of users. Users without a row in residents live in `main`.
SELECT
    d.name,
    d.home,
    CASE WHEN d.name = 'main'
        THEN (SELECT count(*) FROM neurigraph.users AS u WHERE NOT EXISTS (
            SELECT FROM neurigraph.arrivals AS a WHERE a.user_id = u.user_id))
        ELSE (SELECT count(*) FROM neurigraph.residents AS r WHERE r.database = d.name)
    END AS users,
    (SELECT count(*) FROM neurigraph.residents AS r WHERE r.moving_to = d.name) AS arriving
FROM neurigraph.databases AS d
ORDER BY d.name <> 'main', d.name;

-- name: home_of
SELECT d.home FROM neurigraph.databases AS d WHERE d.name = %(name)s;

-- name: add_database
INSERT INTO neurigraph.databases (name, home) VALUES (%(name)s, %(home)s) ON CONFLICT DO NOTHING RETURNING name;

-- name: lock_database
SELECT d.name FROM neurigraph.databases AS d WHERE d.name = %(name)s FOR UPDATE;

-- name: remove_database
DELETE FROM neurigraph.databases WHERE name = %(name)s;

-- name: residents_of
SELECT r.slug FROM neurigraph.residents AS r WHERE %(name)s IN (r.database, r.moving_to) ORDER BY r.slug LIMIT 3;

-- name: place_by_id
SELECT r.resident_id, r.slug, r.database, r.moving_to FROM neurigraph.residents AS r WHERE r.resident_id = %(value)s;

-- name: place_by_slug
SELECT r.resident_id, r.slug, r.database, r.moving_to FROM neurigraph.residents AS r WHERE r.slug = %(value)s;

-- name: place_by_key
SELECT r.resident_id, r.slug, r.database, r.moving_to
FROM neurigraph.resident_keys AS k
INNER JOIN neurigraph.residents AS r ON k.resident_id = r.resident_id
WHERE k.key_hash = %(value)s;

-- name: lock_slug
-- Let all transactions that create a user of this name wait.
SELECT pg_advisory_xact_lock(hashtextextended('neurigraph resident ' || %(slug)s, 0));

-- name: hold_slug
-- Take the lock of lock_slug until the connection ends.
SELECT pg_advisory_lock(hashtextextended('neurigraph resident ' || %(slug)s, 0));

-- name: is_here
SELECT EXISTS (SELECT FROM neurigraph.users AS u WHERE u.slug = %(slug)s) AS found;

-- name: insert_resident
INSERT INTO neurigraph.residents (resident_id, slug, database, moving_to)
VALUES (%(resident_id)s, %(slug)s, %(database)s, %(moving_to)s)
ON CONFLICT DO NOTHING;

-- name: insert_resident_key
INSERT INTO neurigraph.resident_keys (key_hash, resident_id) VALUES (%(key_hash)s, %(resident_id)s)
ON CONFLICT DO NOTHING;

-- name: begin_move
UPDATE neurigraph.residents SET moving_to = %(moving_to)s
WHERE resident_id = %(resident_id)s AND moving_to IS NULL;

-- name: settle_move
UPDATE neurigraph.residents SET database = moving_to, moving_to = NULL
WHERE resident_id = %(resident_id)s AND moving_to = %(moving_to)s AND moving_to <> 'main';

-- name: settle_here
DELETE FROM neurigraph.residents WHERE resident_id = %(resident_id)s AND moving_to = 'main';

-- name: forget_resident
DELETE FROM neurigraph.residents WHERE resident_id = %(resident_id)s AND moving_to IS NULL;

-- name: lives_here
-- Whether a database has a user that callers reach, by id.
SELECT
    EXISTS (
        SELECT FROM neurigraph.users AS u
        WHERE u.user_id = %(user_id)s
            AND NOT EXISTS (SELECT FROM neurigraph.arrivals AS a WHERE a.user_id = u.user_id)
    ) AS found;

-- name: people
-- The users of a database without organizations. An organization and its members share a database, and are found by the
-- members.
SELECT u.user_id, u.slug FROM neurigraph.users AS u
WHERE NOT EXISTS (SELECT FROM neurigraph.organizations AS o WHERE o.user_id = u.user_id)
ORDER BY u.slug;

-- name: key_hashes
SELECT k.key_hash FROM neurigraph.api_keys AS k
WHERE k.user_id = %(user_id)s AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now());

-- name: answers
-- Whether a database answers at all. Runs without claims.
SELECT true AS it_does;
