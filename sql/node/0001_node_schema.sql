-- One node: its metadata layer, its file manifest and its passages (specification, tables 2 and 3; DESIGN section 5).
-- Runs as neurigraph_owner. {schema} is an identifier; {node_id} and {user_id} are literals.

CREATE SCHEMA {schema};
GRANT USAGE ON SCHEMA {schema} TO neurigraph_pipeline, neurigraph_agent;

CREATE TABLE {schema}.metadata_records (
    record_id uuid PRIMARY KEY,
    title text NOT NULL,
    summary text NOT NULL,
    -- All zeros while pending: the column is never null, and nothing compares with it until it is filled.
    embedding vector(1536) NOT NULL,
    embedding_pending boolean NOT NULL DEFAULT false,
    embedding_model text,
    kw_entities text [],
    kw_topics text [],
    kw_dates text [],
    kw_relationships text [],
    content_type neurigraph.content_type NOT NULL,
    trigger_type neurigraph.trigger_type NOT NULL,
    source_kind neurigraph.source_kind NOT NULL,
    source_id uuid NOT NULL,
    first_message integer NOT NULL,
    last_message integer NOT NULL CHECK (last_message >= first_message),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    language regconfig NOT NULL DEFAULT 'pg_catalog.english',
    tsv tsvector GENERATED ALWAYS AS (
        neurigraph.record_tsv(
            language, title, summary, VARIADIC kw_entities || kw_topics || kw_dates || kw_relationships
        )
    ) STORED,
    file_pointer text,
    occurred_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_accessed_at timestamptz NOT NULL DEFAULT now(),
    CHECK (embedding_pending OR embedding_model IS NOT NULL)
);
ALTER TABLE {schema}.metadata_records ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX ON {schema}.metadata_records USING gin (kw_entities, kw_topics, kw_dates, kw_relationships);
CREATE INDEX ON {schema}.metadata_records USING gin (tsv);
CREATE INDEX ON {schema}.metadata_records (created_at);
CREATE INDEX ON {schema}.metadata_records (content_type);
CREATE INDEX ON {schema}.metadata_records (occurred_at);
CREATE INDEX ON {schema}.metadata_records (record_id) WHERE embedding_pending;

CREATE TABLE {schema}.file_manifest (
    file_id uuid PRIMARY KEY,
    record_id uuid NOT NULL REFERENCES {schema}.metadata_records ON DELETE CASCADE,
    file_name text NOT NULL,
    file_type neurigraph.file_type NOT NULL,
    storage_path text NOT NULL,
    compression_state neurigraph.compression_state NOT NULL,
    compression_format neurigraph.compression_format NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
    stored_bytes bigint NOT NULL CHECK (stored_bytes >= 0),
    stored_sha256 bytea NOT NULL CHECK (octet_length(stored_sha256) = 32),
    -- Where each gzip member begins, in the object and in the text: what one passage's bytes need.
    member_offsets bigint [] NOT NULL DEFAULT '{{}}',
    member_text_offsets bigint [] NOT NULL DEFAULT '{{}}',
    last_accessed_at timestamptz NOT NULL DEFAULT now(),
    recompress_after timestamptz,
    CHECK (cardinality(member_offsets) = cardinality(member_text_offsets))
);
CREATE INDEX ON {schema}.file_manifest (record_id);
CREATE INDEX ON {schema}.file_manifest (compression_state);
CREATE INDEX ON {schema}.file_manifest (last_accessed_at);
CREATE INDEX ON {schema}.file_manifest (recompress_after);

CREATE TABLE {schema}.passages (
    record_id uuid NOT NULL REFERENCES {schema}.metadata_records ON DELETE CASCADE,
    seq integer NOT NULL CHECK (seq > 0),
    first_message integer NOT NULL,
    last_message integer NOT NULL CHECK (last_message >= first_message),
    author text,
    byte_offset bigint NOT NULL CHECK (byte_offset >= 0),
    byte_length integer NOT NULL CHECK (byte_length >= 0),
    -- Null while the record's embedding is pending.
    embedding halfvec(512),
    window_embedding halfvec(512),
    -- Distinct stems with how often each occurs: no order, so the text cannot be read back.
    lexemes text [] NOT NULL,
    frequencies smallint [] NOT NULL,
    lexeme_count integer NOT NULL CHECK (lexeme_count >= 0),
    PRIMARY KEY (record_id, seq),
    CHECK (cardinality(lexemes) = cardinality(frequencies))
);
ALTER TABLE {schema}.passages
ALTER COLUMN embedding SET STORAGE PLAIN, ALTER COLUMN window_embedding SET STORAGE PLAIN;
CREATE INDEX ON {schema}.passages USING gin (lexemes);

CREATE TRIGGER register_record AFTER INSERT OR DELETE ON {schema}.metadata_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.register_record({node_id}, {user_id});
CREATE TRIGGER register_file AFTER INSERT OR DELETE ON {schema}.file_manifest
FOR EACH ROW EXECUTE FUNCTION neurigraph.register_file({node_id}, {user_id});

ALTER TABLE {schema}.metadata_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.file_manifest ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.passages ENABLE ROW LEVEL SECURITY;
CREATE POLICY pipeline_all ON {schema}.metadata_records TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY pipeline_all ON {schema}.file_manifest TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY pipeline_all ON {schema}.passages TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY agent_node ON {schema}.metadata_records TO neurigraph_agent
USING ((SELECT neurigraph.may_read_node({node_id})));
CREATE POLICY agent_node ON {schema}.file_manifest TO neurigraph_agent
USING ((SELECT neurigraph.may_read_node({node_id})));
CREATE POLICY agent_node ON {schema}.passages TO neurigraph_agent
USING ((SELECT neurigraph.may_read_node({node_id})));

GRANT SELECT, INSERT, UPDATE ON
{schema}.metadata_records, {schema}.file_manifest, {schema}.passages TO neurigraph_pipeline;
GRANT SELECT ON {schema}.metadata_records, {schema}.file_manifest, {schema}.passages TO neurigraph_agent;
GRANT UPDATE (last_accessed_at) ON {schema}.metadata_records, {schema}.file_manifest TO neurigraph_agent;
