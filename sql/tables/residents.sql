-- Users who live in another database than this one, and users who are moving. All other users live here. The column is
-- not called user_id, because a resident is no user of this database.
CREATE TABLE neurigraph.residents (
    resident_id uuid PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    database text NOT NULL REFERENCES neurigraph.databases,
    moving_to text REFERENCES neurigraph.databases CHECK (moving_to <> database),
    CHECK (database <> 'main' OR moving_to IS NOT NULL)
);
CREATE INDEX residents_database ON neurigraph.residents (database);
CREATE INDEX residents_moving_to ON neurigraph.residents (moving_to) WHERE moving_to IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.residents TO neurigraph_pipeline;
