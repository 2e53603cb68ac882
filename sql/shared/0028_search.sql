-- Search: statistics of a user's corpus, and the versions by which caches are known to be current. The statistics
-- reveal words and speakers, so interfaces read them through the search functions only.

-- Totals of a user. Writers of one user's statistics lock this row first, before the row of any lexeme.
CREATE TABLE neurigraph.user_statistics (
    user_id uuid PRIMARY KEY REFERENCES neurigraph.users ON DELETE CASCADE,
    records bigint NOT NULL CHECK (records >= 0),
    passages bigint NOT NULL CHECK (passages >= 0),
    lexemes bigint NOT NULL CHECK (lexemes >= 0)
);

-- Totals of a node.
CREATE TABLE neurigraph.node_statistics (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    passages bigint NOT NULL DEFAULT 0 CHECK (passages >= 0),
    lexemes bigint NOT NULL DEFAULT 0 CHECK (lexemes >= 0),
    -- The method of the vector index that maintenance built; null means that vectors are compared one by one.
    vector_index text CHECK (vector_index IN ('hnsw', 'ivfflat')),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX node_statistics_user_id ON neurigraph.node_statistics (user_id);

-- The number of a user's passages in which a lexeme occurs. A speaker counts as one: `@` and the name in lower case,
-- which no lexeme of a text can be.
CREATE TABLE neurigraph.user_lexemes (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    lexeme text COLLATE "C" NOT NULL,
    passages bigint NOT NULL CHECK (passages >= 0),
    PRIMARY KEY (user_id, lexeme)
);

-- The same for each node. A foreign key would cost too much for each row; the rows are deleted with those of
-- node_statistics.
CREATE TABLE neurigraph.node_lexemes (
    user_id uuid NOT NULL,
    lexeme text COLLATE "C" NOT NULL,
    node_id uuid NOT NULL,
    passages integer NOT NULL CHECK (passages >= 0),
    PRIMARY KEY (user_id, lexeme, node_id)
);
CREATE INDEX node_lexemes_node_id ON neurigraph.node_lexemes (node_id);

-- One row for each transaction that changed something of a user. Writers insert their own rows and never wait; the
-- visible rows are the version. Old rows are deleted as new ones come, so no version recurs.
CREATE TABLE neurigraph.user_changes (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    change xid8 NOT NULL,
    PRIMARY KEY (user_id, change)
);

-- The same for each node, so that a write to one node leaves cached copies of other nodes current.
CREATE TABLE neurigraph.node_changes (
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    change xid8 NOT NULL,
    PRIMARY KEY (node_id, change),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);

ALTER TABLE neurigraph.user_statistics ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.node_statistics ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.user_lexemes ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.node_lexemes ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.user_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.node_changes ENABLE ROW LEVEL SECURITY;

GRANT SELECT ON
neurigraph.user_statistics, neurigraph.node_statistics, neurigraph.user_lexemes, neurigraph.node_lexemes
TO neurigraph_pipeline;
