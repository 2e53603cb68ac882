-- Totals of a node.
CREATE TABLE neurigraph.node_statistics (
    node_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    passages bigint NOT NULL DEFAULT 0 CHECK (passages >= 0),
    lexemes bigint NOT NULL DEFAULT 0 CHECK (lexemes >= 0),
    -- The method of the node's vector index, which maintenance builds; null means that vectors are compared one by one.
    vector_index text CHECK (vector_index IN ('hnsw', 'ivfflat')),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX node_statistics_user_id ON neurigraph.node_statistics (user_id);

ALTER TABLE neurigraph.node_statistics ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.node_statistics TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new version of cached answers, and, when a row is deleted, lower counts of the user.

CREATE OR REPLACE TRIGGER note_change AFTER UPDATE OF vector_index ON neurigraph.node_statistics
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

-- Trigger on node_statistics: subtract the counts of a deleted row from the user's counts, whether its node, its user
-- or a recount deleted it.
CREATE OR REPLACE FUNCTION neurigraph_private.forget_statistics() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone record;
    words text [];
    counts bigint [];
BEGIN
    FOR gone IN SELECT d.user_id, sum(d.passages) AS passages, sum(d.lexemes) AS lexemes, array_agg(d.node_id) AS nodes
        FROM dropped AS d GROUP BY d.user_id
    LOOP
        UPDATE neurigraph.user_statistics AS s SET
            passages = s.passages - gone.passages, lexemes = s.lexemes - gone.lexemes
        WHERE s.user_id = gone.user_id;
        WITH taken AS (
            DELETE FROM neurigraph.node_lexemes AS n WHERE n.node_id = ANY(gone.nodes)
            RETURNING n.lexeme, n.passages
        )

        SELECT array_agg(t.lexeme), array_agg(t.passages) INTO words, counts
        FROM (SELECT n.lexeme, -sum(n.passages) AS passages FROM taken AS n GROUP BY n.lexeme) AS t;
        PERFORM neurigraph_private.take_from_lexemes(gone.user_id, words, counts);
    END LOOP;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER forget_statistics AFTER DELETE ON neurigraph.node_statistics
REFERENCING OLD TABLE AS dropped FOR EACH STATEMENT EXECUTE FUNCTION neurigraph_private.forget_statistics();

CREATE POLICY pipeline_all ON neurigraph.node_statistics TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.node_statistics TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
