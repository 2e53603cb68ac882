-- Totals of the pipeline since the installation began, and figures of its last storage report: counts for metrics,
-- about no user. The tables of records, failures and files have the present state. Totals count events, and never
-- shrink when a user is forgotten.
CREATE TABLE neurigraph.pipeline_totals (
    -- The name of the total, such as stored_passages.
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- One of a closed set: a kind of source, a step or a state.
    label text NOT NULL CHECK (char_length(label) BETWEEN 1 AND 100),
    total double precision NOT NULL,
    PRIMARY KEY (name, label)
);

GRANT SELECT, INSERT, UPDATE ON neurigraph.pipeline_totals TO neurigraph_pipeline;
