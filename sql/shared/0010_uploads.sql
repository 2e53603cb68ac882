-- Uploaded files: what a source of kind upload is besides its messages, and what a drop place has already given.

CREATE TYPE neurigraph.upload_state AS ENUM ('received', 'extracted', 'failed');

CREATE TABLE neurigraph.uploads (
    source_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    file_name text NOT NULL CHECK (char_length(file_name) BETWEEN 1 AND 255),
    media_type text NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
    state neurigraph.upload_state NOT NULL DEFAULT 'received',
    -- Where the bytes wait until a record holds them; null once they are removed from there.
    staging_key text UNIQUE,
    -- The file of the record that holds the original.
    file_id uuid REFERENCES neurigraph.file_index ON DELETE SET NULL,
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Claiming an upload moves this on by the lease, so one whose worker died is due again by itself.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    error text,
    received_at timestamptz NOT NULL DEFAULT now(),
    CHECK (state <> 'failed' OR error IS NOT NULL),
    CHECK (staging_key IS NOT NULL OR file_id IS NOT NULL OR state = 'extracted'),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE,
    UNIQUE (user_id, sha256)
);
CREATE INDEX uploads_due ON neurigraph.uploads (next_attempt_at) WHERE state = 'received';
CREATE INDEX uploads_to_clear ON neurigraph.uploads (source_id) WHERE file_id IS NOT NULL AND staging_key IS NOT NULL;
CREATE INDEX uploads_file_id ON neurigraph.uploads (file_id);

-- A file of a drop place stays where it is: what was taken of it, or why it was not, is kept here.
CREATE TABLE neurigraph.dropped_files (
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    file_name text NOT NULL,
    version text NOT NULL,
    source_id uuid REFERENCES neurigraph.uploads ON DELETE CASCADE,
    error text,
    seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, file_name, version),
    CHECK ((source_id IS NULL) = (error IS NOT NULL))
);
CREATE INDEX dropped_files_source_id ON neurigraph.dropped_files (source_id);

ALTER TABLE neurigraph.uploads ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.dropped_files ENABLE ROW LEVEL SECURITY;
CREATE POLICY pipeline_all ON neurigraph.uploads TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY pipeline_all ON neurigraph.dropped_files TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.uploads TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
CREATE POLICY own_rows ON neurigraph.dropped_files TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()));

GRANT SELECT, INSERT, UPDATE ON neurigraph.uploads TO neurigraph_pipeline;
GRANT SELECT, INSERT ON neurigraph.dropped_files TO neurigraph_pipeline;
GRANT SELECT, INSERT ON neurigraph.uploads TO neurigraph_agent;
GRANT SELECT ON neurigraph.dropped_files TO neurigraph_agent;
-- What failed is tried again when it is sent again.
GRANT UPDATE (state, staging_key, attempts, next_attempt_at, error) ON neurigraph.uploads TO neurigraph_agent;
