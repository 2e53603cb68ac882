-- The times at which each sensor last ran, and at which an interface last checked that the database takes writes. About
-- no user.
CREATE TABLE neurigraph.heartbeats (
    name text PRIMARY KEY CHECK (char_length(name) BETWEEN 1 AND 100),
    beat_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT, UPDATE ON neurigraph.heartbeats TO neurigraph_pipeline;
