-- The registry of embedding models; about no user. Its rows follow from the models that users have in use and move to
-- (sql/tables/users.sql); a process that has a model adds what it knows of it.
CREATE TABLE neurigraph.embedding_models (
    model text PRIMARY KEY CHECK (model <> ''),
    -- The service that computes it; null as long as no process that has it has said so, as are the dimensions.
    provider text,
    dimensions integer CHECK (dimensions > 0),
    -- The form in which its vectors of passages are stored, by which messages are ranked.
    stored_as text NOT NULL DEFAULT 'half' CHECK (stored_as IN ('float32', 'half', 'int8', 'binary')),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When the last user left it.
    last_used_at timestamptz,
    -- When it was last compared as a canary, and the figures: counts and shares, without text.
    compared_at timestamptz,
    comparison jsonb,
    CHECK ((compared_at IS NULL) = (comparison IS NULL))
);

GRANT SELECT, INSERT, UPDATE ON neurigraph.embedding_models TO neurigraph_pipeline;
