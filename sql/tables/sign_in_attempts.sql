-- The number of wrong passwords in the current quarter of an hour, by SHA-256 of the given name, known or not. No role
-- may read the table.
CREATE TABLE neurigraph.sign_in_attempts (
    name_hash bytea PRIMARY KEY CHECK (octet_length(name_hash) = 32),
    since timestamptz NOT NULL,
    attempts integer NOT NULL CHECK (attempts > 0)
);
CREATE INDEX sign_in_attempts_since ON neurigraph.sign_in_attempts (since);
