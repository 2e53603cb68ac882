-- The directory of users who are spread over several databases. Only the database of the first installation has rows.

-- Databases, each of an installation. `main` is this one, and has no home folder here.
CREATE TABLE IF NOT EXISTS neurigraph.databases (
    name text PRIMARY KEY CHECK (name ~ '^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$'),
    home text UNIQUE,
    CHECK ((name = 'main') = (home IS NULL))
);
INSERT INTO neurigraph.databases (name) VALUES ('main') ON CONFLICT DO NOTHING;

-- Users who live in another database than this one, and those who are moving. Everybody else is here. The column is not
-- called user_id, since these are no rows of a user of this database.
CREATE TABLE IF NOT EXISTS neurigraph.residents (
    resident_id uuid PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    database text NOT NULL REFERENCES neurigraph.databases,
    moving_to text REFERENCES neurigraph.databases CHECK (moving_to <> database),
    CHECK (database <> 'main' OR moving_to IS NOT NULL)
);
CREATE INDEX IF NOT EXISTS residents_database ON neurigraph.residents (database);
CREATE INDEX IF NOT EXISTS residents_moving_to ON neurigraph.residents (moving_to) WHERE moving_to IS NOT NULL;

-- Keys of residents that may be older than keys that name their user.
CREATE TABLE IF NOT EXISTS neurigraph.resident_keys (
    key_hash bytea PRIMARY KEY,
    resident_id uuid NOT NULL REFERENCES neurigraph.residents ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS resident_keys_resident ON neurigraph.resident_keys (resident_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.databases, neurigraph.residents, neurigraph.resident_keys
TO neurigraph_pipeline;
