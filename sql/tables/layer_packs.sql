-- Packed layers: the records and passages of a node in the form in which a search process holds them in memory. A pack
-- is a cache of the node's tables, used only while the node still has the pack's version. The pipeline writes packs,
-- and only neurigraph.layers() and neurigraph.node_words() read them. A caller gets nothing from a pack that the
-- caller may not read in the tables.
CREATE TABLE neurigraph.layer_packs (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    version text NOT NULL,
    model text,
    -- The number of the pack's format; a process reads only packs of its own format.
    format integer NOT NULL,
    -- All transactions below this one had ended when the node was read.
    horizon bigint,
    -- The layer. The vectors of its passages are in the segments of its records.
    layer bytea NOT NULL,
    -- The words of its passages, as keys, and in how many passages each occurs.
    words bytea NOT NULL,
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX layer_packs_user_id ON neurigraph.layer_packs (user_id);
-- Decompressing a column would take longer than reading it uncompressed.
ALTER TABLE neurigraph.layer_packs ALTER COLUMN layer SET STORAGE EXTERNAL, ALTER COLUMN words SET STORAGE EXTERNAL;

ALTER TABLE neurigraph.layer_packs ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.layer_packs TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.layer_packs TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.layer_packs TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
