-- Which model's vectors a user's searches compare, and which records wait for vectors.

ALTER TABLE neurigraph.users
-- What searches compare, and what the centroids are means of; null until something is embedded.
ADD COLUMN embedding_model text,
-- Where the user is moving to. Equal to embedding_model once searches use it and only tidying up is left.
ADD COLUMN embedding_next_model text;
CREATE INDEX users_moving ON neurigraph.users (user_id) WHERE embedding_next_model IS NOT NULL;

-- Records without any vectors, so that healing them scans no node schema. Fed by the commit.
CREATE TABLE neurigraph.pending_embeddings (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    node_id uuid NOT NULL,
    user_id uuid NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Moved on by whoever takes the record up, so that it is also their lease.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text,
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX pending_embeddings_due ON neurigraph.pending_embeddings (next_attempt_at);
CREATE INDEX pending_embeddings_node_id ON neurigraph.pending_embeddings (node_id);
CREATE INDEX pending_embeddings_user_id ON neurigraph.pending_embeddings (user_id);

ALTER TABLE neurigraph.pending_embeddings ENABLE ROW LEVEL SECURITY;
CREATE POLICY pipeline_all ON neurigraph.pending_embeddings TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.pending_embeddings TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()));

GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.pending_embeddings TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.pending_embeddings TO neurigraph_agent;
GRANT UPDATE (embedding_model, embedding_next_model) ON neurigraph.users TO neurigraph_pipeline;

-- What a backfill by days walks over.
CREATE INDEX record_index_created_at ON neurigraph.record_index (created_at, record_id);

-- What was stored before this: pending records lie in nodes with more records than vectors, and a user's model is the
-- one of most of their records.
DO $$
DECLARE
    node record;
    found record;
    models jsonb := '{}';
    counted bigint;
BEGIN
    FOR node IN SELECT g.node_id, g.user_id, g.schema_name, g.record_count, g.embedded_count
        FROM neurigraph.graph_index AS g WHERE g.record_count > 0
    LOOP
        IF node.record_count > node.embedded_count THEN
            EXECUTE format(
                'INSERT INTO neurigraph.pending_embeddings (record_id, node_id, user_id, since) '
                'SELECT r.record_id, $1, $2, r.created_at FROM %I.metadata_records AS r WHERE r.embedding_pending',
                node.schema_name
            ) USING node.node_id, node.user_id;
        END IF;
        FOR found IN EXECUTE format(
            'SELECT r.embedding_model AS model, count(*) AS records FROM %I.metadata_records AS r '
            'WHERE NOT r.embedding_pending GROUP BY r.embedding_model', node.schema_name
        ) LOOP
            counted := coalesce((models -> node.user_id::text ->> found.model)::bigint, 0) + found.records;
            models := models || jsonb_build_object(
                node.user_id::text,
                coalesce(models -> node.user_id::text, '{}') || jsonb_build_object(found.model, counted)
            );
        END LOOP;
    END LOOP;
    UPDATE neurigraph.users AS u SET embedding_model = (
        SELECT m.key FROM jsonb_each_text(models -> u.user_id::text) AS m ORDER BY m.value::bigint DESC, m.key LIMIT 1
    )
    WHERE models ? u.user_id::text;
END
$$;
