-- Accounts: the profiles that users state, and their passwords. Queries run as the caller or without claims.

-- name: account
-- The account of the owner of a graph; no row for other callers.
SELECT
    u.user_id,
    u.slug,
    a.display_name,
    a.email,
    coalesce(a.metadata, jsonb_build_object()) AS metadata,
    neurigraph.has_password() AS has_password
FROM neurigraph.users AS u
LEFT JOIN neurigraph.user_accounts AS a ON u.user_id = a.user_id
WHERE u.user_id = %(user_id)s;

-- name: change_account
-- Change the fields that the flags name.
INSERT INTO neurigraph.user_accounts AS a (user_id, display_name, email, metadata)
VALUES (%(user_id)s, %(display_name)s, %(email)s, coalesce(%(metadata)s, jsonb_build_object()))
ON CONFLICT (user_id) DO UPDATE SET
display_name = CASE WHEN %(with_display_name)s THEN excluded.display_name ELSE a.display_name END,
email = CASE WHEN %(with_email)s THEN excluded.email ELSE a.email END,
metadata = CASE WHEN %(with_metadata)s THEN excluded.metadata ELSE a.metadata END,
updated_at = now();

-- name: time_zone
-- The time zone that the owner of a graph names in the metadata of the user or the organization.
SELECT m.metadata ->> 'time_zone' AS time_zone
FROM (
    SELECT a.metadata FROM neurigraph.user_accounts AS a
    WHERE a.user_id = %(user_id)s
    UNION ALL
    SELECT o.metadata FROM neurigraph.organizations AS o
    WHERE o.user_id = %(user_id)s
) AS m
WHERE m.metadata ->> 'time_zone' IS NOT NULL;

-- name: set_password
SELECT neurigraph.set_password(%(salt)s, %(derived)s) AS is_set;

-- name: salt_of
SELECT neurigraph.salt_of(%(name)s, %(made)s) AS salt;

-- name: sign_in
SELECT s.* FROM neurigraph.sign_in(
    %(name)s, %(derived)s, %(key_hash)s, make_interval(secs => %(seconds)s)
) AS s;

-- name: closed_for
-- The seconds for which a name stays closed after wrong passwords.
SELECT extract(EPOCH FROM a.since + interval '15 minutes' - clock_timestamp())::float8 AS seconds
FROM neurigraph.sign_in_attempts AS a
WHERE a.name_hash = sha256(convert_to(%(name)s, 'UTF8'));
