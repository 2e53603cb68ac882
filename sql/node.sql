-- The schema of a node. Runs as neurigraph_owner. {schema} is an identifier; {node_id} and {user_id} are literals.
--
-- Triggers of one event run in the order of their names. Postgres reads the definition of a table again after each
-- change of it, so tables come first, then privileges, indexes and triggers, and last the policies, which take longest.

CREATE SCHEMA {schema};
GRANT USAGE ON SCHEMA {schema} TO neurigraph_pipeline, neurigraph_agent;

-- The memories of the node, which search finds and reads, without raw content.
CREATE TABLE {schema}.metadata_records (
    record_id uuid PRIMARY KEY,
    title text,
    summary text,
    -- All zeros while the embedding is pending: the column is never null, and nothing compares it while it is pending.
    embedding vector(1536),
    embedding_pending boolean DEFAULT false,
    embedding_model text,
    kw_entities text [],
    kw_topics text [],
    kw_dates text [],
    kw_relationships text [],
    content_type neurigraph.content_type,
    trigger_type neurigraph.trigger_type,
    source_kind neurigraph.source_kind,
    source_id uuid,
    first_message integer,
    last_message integer,
    content_hash bytea,
    language regconfig DEFAULT 'pg_catalog.english',
    -- Full-text index of title, summary and keywords.
    tsv tsvector GENERATED ALWAYS AS (
        neurigraph.record_tsv(
            language, title, summary, VARIADIC kw_entities || kw_topics || kw_dates || kw_relationships
        )
    ) STORED,
    -- The object key of the file by which the record is opened.
    file_pointer text,
    occurred_at timestamptz,
    -- The records of one transaction differ, in the order in which they were stored.
    created_at timestamptz DEFAULT clock_timestamp(),
    last_accessed_at timestamptz DEFAULT now(),
    -- The vector of another model beside the one in use, while the user moves from one model to the other.
    embedding_next vector(1536),
    embedding_next_model text,
    -- The record that supersedes this one; null while it is current.
    superseded_by uuid,
    -- The times at which the record was superseded, for searches of a past moment.
    superseded tstzmultirange DEFAULT '{{}}',
    -- The persona that handed in the record or a part of it; null is the owner.
    persona_id uuid,
    -- The key and the door of all messages of the record; null if there are several, or none.
    key_id uuid,
    received_through neurigraph.received_through,
    -- When the last message of the record arrived.
    received_at timestamptz,
    -- Hidden from every retrieval. Written by set_quarantined() only, which keeps the statistics right.
    quarantined boolean DEFAULT false,
    -- The importance that the record's writer states; null if the writer states none. Only notes have one.
    importance real,
    -- One constraint in place of many: each costs a node rows in four catalogs.
    CONSTRAINT is_complete CHECK (num_nulls(
        title, summary, embedding, embedding_pending, content_type, trigger_type, source_kind, source_id,
        first_message, last_message, content_hash, language, occurred_at, created_at, last_accessed_at,
        superseded, quarantined
    ) = 0),
    CONSTRAINT is_valid CHECK (
        last_message >= first_message
        AND octet_length(content_hash) = 32
        AND (importance IS NULL OR importance BETWEEN 0 AND 1)
        AND (embedding_pending OR embedding_model IS NOT NULL)
        AND (embedding_next IS NULL) = (embedding_next_model IS NULL)
        AND (superseded_by IS NULL OR superseded_by <> record_id)
        AND (superseded_by IS NOT NULL) = upper_inf(superseded)
    )
);

-- The files of the node's records: the way to the raw bytes in object storage.
CREATE TABLE {schema}.file_manifest (
    file_id uuid PRIMARY KEY,
    record_id uuid REFERENCES {schema}.metadata_records ON DELETE CASCADE,
    file_name text,
    file_type neurigraph.file_type,
    -- The object key.
    storage_path text,
    compression_state neurigraph.compression_state,
    compression_format neurigraph.compression_format,
    -- Size of the uncompressed content.
    size_bytes bigint,
    stored_bytes bigint,
    stored_sha256 bytea,
    -- The start of each gzip member, in the object and in the text: a reader of a passage fetches only the passage's
    -- members.
    member_offsets bigint [] DEFAULT '{{}}',
    member_text_offsets bigint [] DEFAULT '{{}}',
    last_accessed_at timestamptz DEFAULT now(),
    -- The time at which a rehydrated file is due to be compressed again.
    recompress_after timestamptz,
    -- SHA-256 of the uncompressed content, against which working copies are checked. Null for files that were stored
    -- without a checksum, until the first rehydration sets it.
    content_sha256 bytea,
    -- The lease of the worker that rehydrates the file. It is a range because a clock that is set back may lie before
    -- its start.
    lease tstzrange,
    lease_holder uuid,
    -- The error of the last attempt to read or rehydrate the file; null after a success.
    last_failure text,
    CONSTRAINT is_complete CHECK (num_nulls(
        record_id, file_name, file_type, storage_path, compression_state, compression_format, size_bytes,
        stored_bytes, stored_sha256, member_offsets, member_text_offsets, last_accessed_at
    ) = 0),
    CONSTRAINT is_valid CHECK (
        size_bytes >= 0 AND stored_bytes >= 0
        AND octet_length(stored_sha256) = 32
        AND (content_sha256 IS NULL OR octet_length(content_sha256) = 32)
        AND cardinality(member_offsets) = cardinality(member_text_offsets)
        AND (compression_state = 'rehydrating') = (lease IS NOT NULL)
        AND (lease IS NULL) = (lease_holder IS NULL)
        AND (compression_state = 'active' OR recompress_after IS NULL)
    )
);

GRANT SELECT, INSERT, UPDATE ON {schema}.metadata_records, {schema}.file_manifest TO neurigraph_pipeline;
GRANT SELECT ON {schema}.metadata_records, {schema}.file_manifest TO neurigraph_agent;

-- Two vectors of 6 kB do not fit on one page, so the vector that is rarely read is stored out of line.
ALTER TABLE {schema}.metadata_records
ALTER COLUMN embedding SET STORAGE PLAIN, ALTER COLUMN embedding_next SET STORAGE EXTERNAL;

-- The indexes of a node are made when it is large: sql/queries/node_indexes.sql.

-- A write sets off the registries and deltas of the record, the states of the node's files, and new versions of cached
-- nodes. Triggers of one event run in the order of their names.
CREATE TRIGGER register_record AFTER INSERT OR DELETE OR UPDATE OF
content_type, occurred_at, superseded_by, kw_entities, kw_topics
ON {schema}.metadata_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.register_record({node_id}, {user_id});

-- File states follow the files. Inserts do not sum up the state of the node: the commit that adds a file holds the
-- node's row and sets it to active.
CREATE TRIGGER state_guarded BEFORE INSERT OR UPDATE OF compression_state ON {schema}.file_manifest
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_file_state();
CREATE TRIGGER followed AFTER INSERT OR DELETE OR UPDATE OF compression_state, last_failure ON {schema}.file_manifest
FOR EACH ROW EXECUTE FUNCTION neurigraph.follow_file({node_id}, {user_id});
CREATE TRIGGER states_summed AFTER UPDATE OF compression_state OR DELETE ON {schema}.file_manifest
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.follow_file({node_id}, {user_id});

-- History: a delta for each change of a record.
CREATE TRIGGER log_change BEFORE UPDATE OF
title, summary, kw_entities, kw_topics, kw_dates, kw_relationships, embedding_model, superseded_by
ON {schema}.metadata_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.log_record_change();

-- Versions for caches: every change on which an answer may depend, for the node and for each record.
CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF
title, summary, embedding, embedding_pending, embedding_model, embedding_next, embedding_next_model, kw_entities,
kw_topics, kw_dates, kw_relationships, content_type, source_kind, source_id, file_pointer, occurred_at, created_at,
superseded_by, quarantined
ON {schema}.metadata_records
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.note_node_change({node_id}, {user_id});
CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF record_id, storage_path, compression_state
ON {schema}.file_manifest
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.note_node_change({node_id}, {user_id});
CREATE TRIGGER note_record AFTER INSERT OR UPDATE OF
title, summary, embedding, embedding_pending, embedding_model, embedding_next, embedding_next_model, kw_entities,
kw_topics, kw_dates, kw_relationships, content_type, source_kind, source_id, file_pointer, occurred_at, created_at,
superseded_by, quarantined
ON {schema}.metadata_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_node_change({node_id}, {user_id});
CREATE TRIGGER note_record AFTER INSERT OR UPDATE OF record_id, storage_path, compression_state
ON {schema}.file_manifest
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_node_change({node_id}, {user_id});

-- Changes of the node are listed by record from here on.
INSERT INTO neurigraph.record_changes (node_id, user_id, change)
VALUES ({node_id}, {user_id}, pg_current_xact_id());

-- Callers other than the owner do not see records of private sources, and no caller sees records in quarantine.
-- Files follow the policy of their record, unless all records are visible.
CREATE POLICY pipeline_all ON {schema}.metadata_records TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY pipeline_all ON {schema}.file_manifest TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY agent_node ON {schema}.metadata_records TO neurigraph_agent USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND NOT quarantined
    AND source_id <> ALL((SELECT neurigraph.hidden_sources())::uuid [])
);
CREATE POLICY agent_node ON {schema}.file_manifest TO neurigraph_agent USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND (
        (SELECT neurigraph.sees_all_records())
        OR record_id IN (SELECT r.record_id FROM {schema}.metadata_records AS r)
    )
);
ALTER TABLE {schema}.metadata_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.file_manifest ENABLE ROW LEVEL SECURITY;
