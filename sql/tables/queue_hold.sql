-- The reason for which no segment is leased while a model provider refuses the account. About no user.
CREATE TABLE neurigraph.queue_hold (
    the_only boolean PRIMARY KEY DEFAULT true CHECK (the_only),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 1000),
    held_since timestamptz NOT NULL DEFAULT now(),
    next_try_at timestamptz NOT NULL,
    tries integer NOT NULL DEFAULT 1 CHECK (tries > 0)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.queue_hold TO neurigraph_pipeline;
