-- The registry of embedding models; about no user. Its rows follow from the models that users have in use and move to
-- (sql/tables/users.sql). A process that has a model adds the model's properties.
CREATE TABLE neurigraph.embedding_models (
    model text PRIMARY KEY CHECK (model <> ''),
    -- The service that computes the model. Provider and dimensions are null until a process that has the model states
    -- them.
    provider text,
    dimensions integer CHECK (dimensions > 0),
    -- The form in which vectors of passages are stored, by which messages are ranked.
    stored_as text NOT NULL DEFAULT 'half' CHECK (stored_as IN ('float32', 'half', 'int8', 'binary')),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When the last user moved away from the model.
    last_used_at timestamptz,
    -- When the model was last compared as a canary, and the figures: counts and shares, without text.
    compared_at timestamptz,
    comparison jsonb,
    CHECK ((compared_at IS NULL) = (comparison IS NULL))
);

GRANT SELECT, INSERT, UPDATE ON neurigraph.embedding_models TO neurigraph_pipeline;
