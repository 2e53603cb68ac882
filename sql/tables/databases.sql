-- Databases, each of one installation. `main` is this database, and has no home folder here.
CREATE TABLE neurigraph.databases (
    name text PRIMARY KEY CHECK (name ~ '^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$'),
    home text UNIQUE,
    CHECK ((name = 'main') = (home IS NULL))
);

INSERT INTO neurigraph.databases (name) VALUES ('main');

GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.databases TO neurigraph_pipeline;
