-- Packed layers: what the process of a search keeps of a node's records and passages, as it keeps it. They are a cache
-- of the node's tables, used only while the node still has the version of which they were made. The pipeline writes
-- them, and only neurigraph.layers() and neurigraph.packed_vectors() read them: what a caller may not read in the
-- tables is not there either.
CREATE TABLE neurigraph.layer_packs (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    version text NOT NULL,
    model text,
    -- The form of what is packed; a process reads only its own.
    format integer NOT NULL,
    -- Transactions below it had ended when the node was read.
    horizon bigint,
    -- All but the vectors of passages.
    layer bytea NOT NULL,
    -- Those vectors, in the order of the passages.
    vectors bytea NOT NULL,
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX layer_packs_user_id ON neurigraph.layer_packs (user_id);
-- Parts of the vectors are read by themselves, and unpacking either would take longer than reading it.
ALTER TABLE neurigraph.layer_packs ALTER COLUMN layer SET STORAGE EXTERNAL, ALTER COLUMN vectors SET STORAGE EXTERNAL;

ALTER TABLE neurigraph.layer_packs ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.layer_packs TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.layer_packs TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.layer_packs TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
