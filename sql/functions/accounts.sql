-- Passwords: setting a password, and signing in. No role reads the stored hashes.

-- Set the password of the owner who asks, or remove it with null. Keys that were issued for the old password end.
-- Returns whether the caller may set a password: not within spaces, not as a member, and not for an organization.
CREATE OR REPLACE FUNCTION neurigraph.set_password(new_salt bytea, derived bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    person uuid := neurigraph.asking_user_id();
BEGIN
    PERFORM FROM neurigraph.users AS u WHERE u.user_id = person FOR NO KEY UPDATE;
    IF NOT FOUND OR neurigraph.is_organization(person) THEN
        RETURN false;
    END IF;
    DELETE FROM neurigraph.user_passwords AS p WHERE p.user_id = person;
    IF derived IS NOT NULL THEN
        INSERT INTO neurigraph.user_passwords (user_id, salt, hash) VALUES (person, new_salt, sha256(derived));
    END IF;
    UPDATE neurigraph.api_keys AS k SET revoked_at = now()
    WHERE k.user_id = person AND k.by_password AND k.revoked_at IS NULL
        AND k.key_id IS DISTINCT FROM neurigraph.asking_key();
    RETURN true;
END
$$;

-- Whether the owner who asks has a password.
CREATE OR REPLACE FUNCTION neurigraph.has_password() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM neurigraph.user_passwords AS p WHERE p.user_id = (SELECT neurigraph.asking_user_id()))
$$;

-- The salt of a user's password. A name without a password gets a salt that is made of the name and does not change.
CREATE OR REPLACE FUNCTION neurigraph.salt_of(name text, made bytea) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(
        (
            SELECT p.salt FROM neurigraph.user_passwords AS p
            INNER JOIN neurigraph.users AS u ON p.user_id = u.user_id
            WHERE u.slug = name
        ),
        made
    )
$$;

-- Sign in: issue a key that expires, if the password is right. The outcome is signed_in, too_often, or null for a wrong
-- name or password. Ten failures within a quarter of an hour close a name, known or not, until the quarter is over.
CREATE OR REPLACE FUNCTION neurigraph.sign_in(
    name text, derived bytea, new_key_hash bytea, lifetime interval,
    OUT outcome text, OUT person uuid, OUT key_id uuid, OUT expires timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named bytea := sha256(convert_to(name, 'UTF8'));
    failed integer;
BEGIN
    -- Attempts for one name take turns.
    PERFORM pg_advisory_xact_lock(hashtextextended('neurigraph sign-in ' || encode(named, 'hex'), 0));
    DELETE FROM neurigraph.sign_in_attempts AS a WHERE a.since < clock_timestamp() - interval '15 minutes';
    SELECT a.attempts INTO failed FROM neurigraph.sign_in_attempts AS a WHERE a.name_hash = named;
    IF failed >= 10 THEN
        outcome := 'too_often';
        RETURN;
    END IF;
    SELECT u.user_id INTO person
    FROM neurigraph.user_passwords AS p
    INNER JOIN neurigraph.users AS u ON p.user_id = u.user_id
    WHERE u.slug = name AND p.hash = sha256(derived);
    IF person IS NULL THEN
        INSERT INTO neurigraph.sign_in_attempts AS a (name_hash, since, attempts) VALUES (named, clock_timestamp(), 1)
        ON CONFLICT (name_hash) DO UPDATE SET attempts = a.attempts + 1;
        RETURN;
    END IF;
    DELETE FROM neurigraph.sign_in_attempts AS a WHERE a.name_hash = named;
    expires := clock_timestamp() + lifetime;
    INSERT INTO neurigraph.api_keys (user_id, key_hash, role, label, expires_at, by_password)
    VALUES (person, new_key_hash, 'user', 'signed in with a password', expires, true)
    RETURNING api_keys.key_id INTO key_id;
    outcome := 'signed_in';
END
$$;

REVOKE ALL ON FUNCTION neurigraph.set_password(bytea, bytea), neurigraph.has_password(),
neurigraph.salt_of(text, bytea), neurigraph.sign_in(text, bytea, bytea, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.set_password(bytea, bytea), neurigraph.has_password(),
neurigraph.salt_of(text, bytea), neurigraph.sign_in(text, bytea, bytea, interval) TO neurigraph_agent;
