-- The schema of a node. Runs as neurigraph_owner. {schema} is an identifier; {node_id} and {user_id} are literals.
--
-- Triggers of one event run in the order of their names. Postgres reads the definition of a table again after each
-- change of it, so tables come first, then privileges, indexes and triggers, and last the policies, which take longest.

CREATE SCHEMA {schema};
GRANT USAGE ON SCHEMA {schema} TO neurigraph_pipeline, neurigraph_agent;

-- The memories of the node, which search finds and reads, without raw content.
CREATE TABLE {schema}.metadata_records (
    record_id uuid PRIMARY KEY,
    title text NOT NULL,
    summary text NOT NULL,
    -- All zeros while the embedding is pending: the column is never null, and nothing compares it while it is pending.
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
    -- Full-text index of title, summary and keywords.
    tsv tsvector GENERATED ALWAYS AS (
        neurigraph.record_tsv(
            language, title, summary, VARIADIC kw_entities || kw_topics || kw_dates || kw_relationships
        )
    ) STORED,
    -- The object key of the file by which the record is opened.
    file_pointer text,
    occurred_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_accessed_at timestamptz NOT NULL DEFAULT now(),
    -- The vector of another model beside the one in use, while the user moves from one model to the other.
    embedding_next vector(1536),
    embedding_next_model text,
    -- The record that supersedes this one; null while it is current.
    superseded_by uuid,
    -- The times at which the record was superseded, for searches of a past moment.
    superseded tstzmultirange NOT NULL DEFAULT '{{}}',
    -- The persona that handed in the record or a part of it; null is the owner.
    persona_id uuid,
    -- The key and the door of all messages of the record; null if there are several, or none.
    key_id uuid,
    received_through neurigraph.received_through,
    -- When the last message of the record arrived.
    received_at timestamptz,
    -- Hidden from every retrieval. Written by set_quarantined() only, which keeps the statistics right.
    quarantined boolean NOT NULL DEFAULT false,
    -- The importance that the record's writer states; null if the writer states none. Only notes have one.
    importance real CHECK (importance BETWEEN 0 AND 1),
    CHECK (embedding_pending OR embedding_model IS NOT NULL),
    CHECK ((embedding_next IS NULL) = (embedding_next_model IS NULL)),
    CHECK (superseded_by <> record_id),
    CHECK ((superseded_by IS NOT NULL) = upper_inf(superseded))
);

-- The files of the node's records: the way to the raw bytes in object storage.
CREATE TABLE {schema}.file_manifest (
    file_id uuid PRIMARY KEY,
    record_id uuid NOT NULL REFERENCES {schema}.metadata_records ON DELETE CASCADE,
    file_name text NOT NULL,
    file_type neurigraph.file_type NOT NULL,
    -- The object key.
    storage_path text NOT NULL,
    compression_state neurigraph.compression_state NOT NULL,
    compression_format neurigraph.compression_format NOT NULL,
    -- Size of the uncompressed content.
    size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
    stored_bytes bigint NOT NULL CHECK (stored_bytes >= 0),
    stored_sha256 bytea NOT NULL CHECK (octet_length(stored_sha256) = 32),
    -- The start of each gzip member, in the object and in the text: a reader of a passage fetches only the passage's
    -- members.
    member_offsets bigint [] NOT NULL DEFAULT '{{}}',
    member_text_offsets bigint [] NOT NULL DEFAULT '{{}}',
    last_accessed_at timestamptz NOT NULL DEFAULT now(),
    -- The time at which a rehydrated file is due to be compressed again.
    recompress_after timestamptz,
    -- SHA-256 of the uncompressed content, against which working copies are checked. Null for files that were stored
    -- without a checksum, until the first rehydration sets it.
    content_sha256 bytea CHECK (octet_length(content_sha256) = 32),
    -- The lease of the worker that rehydrates the file. It is a range because a clock that is set back may lie before
    -- its start.
    lease tstzrange,
    lease_holder uuid,
    -- The error of the last attempt to read or rehydrate the file; null after a success.
    last_failure text,
    CHECK (cardinality(member_offsets) = cardinality(member_text_offsets)),
    CHECK ((compression_state = 'rehydrating') = (lease IS NOT NULL)),
    CHECK ((lease IS NULL) = (lease_holder IS NULL)),
    CHECK (compression_state = 'active' OR recompress_after IS NULL)
);

-- Passages, the smallest parts that search can point at: one message, or a part of a long message, as vectors and
-- lexemes, never as text.
CREATE TABLE {schema}.passages (
    record_id uuid NOT NULL REFERENCES {schema}.metadata_records ON DELETE CASCADE,
    seq integer NOT NULL CHECK (seq > 0),
    first_message integer NOT NULL,
    last_message integer NOT NULL CHECK (last_message >= first_message),
    author text,
    -- The place of the passage's content in the transcript.
    byte_offset bigint NOT NULL CHECK (byte_offset >= 0),
    byte_length integer NOT NULL CHECK (byte_length >= 0),
    -- The vector of the passage. Both vectors are null while the record's embedding is pending.
    embedding halfvec(512),
    -- The vector of the passage together with its neighbours.
    window_embedding halfvec(512),
    -- Distinct stems, and the frequency of each. Their order is not stored, so nobody can read back the text.
    lexemes text [] NOT NULL,
    frequencies smallint [] NOT NULL,
    lexeme_count integer NOT NULL CHECK (lexeme_count >= 0),
    -- Vectors of the model that the user is moving to, as in metadata_records.
    embedding_next halfvec(512),
    window_embedding_next halfvec(512),
    -- The role of the speaker.
    role neurigraph.message_role,
    -- The weighted number of lexemes of the passage and its neighbours.
    window_length real CHECK (window_length >= 0),
    -- The speaker; null for passages from before voices were recorded, whose role states the speaker.
    voice neurigraph.voice,
    -- Passages with the same key say the same; text/statement_key.py computes the key. Null if a defect prevented the
    -- key.
    statement_key bigint,
    -- The headings or the page above the passage in its document; null for passages of other texts.
    section text CHECK (char_length(section) BETWEEN 1 AND 300),
    PRIMARY KEY (record_id, seq),
    CHECK (cardinality(lexemes) = cardinality(frequencies))
-- With two vectors a row is longer than the size at which Postgres compresses or moves values out of line. Lexemes stay
-- in line, because comparing them is then three times as fast.
) WITH (toast_tuple_target = 8160);

GRANT SELECT, INSERT, UPDATE ON
{schema}.metadata_records, {schema}.file_manifest, {schema}.passages TO neurigraph_pipeline;
GRANT SELECT ON {schema}.metadata_records, {schema}.file_manifest, {schema}.passages TO neurigraph_agent;

-- Two vectors of 6 kB do not fit on one page, so the vector that is rarely read is stored out of line.
ALTER TABLE {schema}.metadata_records
ALTER COLUMN embedding SET STORAGE PLAIN, ALTER COLUMN embedding_next SET STORAGE EXTERNAL;
ALTER TABLE {schema}.passages
ALTER COLUMN embedding SET STORAGE PLAIN, ALTER COLUMN window_embedding SET STORAGE PLAIN,
ALTER COLUMN embedding_next SET STORAGE EXTERNAL, ALTER COLUMN window_embedding_next SET STORAGE EXTERNAL;

-- The indexes of a node are made when it is large: sql/queries/node_indexes.sql.

-- Registries follow the tables of the node. Triggers of one event run in the order of their names.
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

-- Statistics, and the list of records whose passages change.
CREATE TRIGGER count_added AFTER INSERT ON {schema}.passages
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.follow_passages({node_id}, {user_id});
CREATE TRIGGER count_removed AFTER DELETE ON {schema}.passages
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.follow_passages({node_id}, {user_id});
CREATE TRIGGER note_records AFTER UPDATE ON {schema}.passages
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.follow_passages({node_id}, {user_id});
CREATE TRIGGER refuse_recount BEFORE UPDATE OF record_id, author, lexemes, lexeme_count ON {schema}.passages
FOR EACH ROW EXECUTE FUNCTION neurigraph.refuse_change(
    'the lexemes of a passage cannot be changed: delete the passage and insert another'
);

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
CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON {schema}.passages
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
-- Passages and files follow the policy of their record, unless all records are visible.
CREATE POLICY pipeline_all ON {schema}.metadata_records TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY pipeline_all ON {schema}.file_manifest TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY pipeline_all ON {schema}.passages TO neurigraph_pipeline USING (true) WITH CHECK (true);
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
CREATE POLICY agent_node ON {schema}.passages TO neurigraph_agent USING (
    (SELECT neurigraph.may_read_node({node_id}))
    AND (
        (SELECT neurigraph.sees_all_records())
        OR record_id IN (SELECT r.record_id FROM {schema}.metadata_records AS r)
    )
);
ALTER TABLE {schema}.metadata_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.file_manifest ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.passages ENABLE ROW LEVEL SECURITY;
