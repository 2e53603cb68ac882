-- The fields of a source of kind upload besides its messages.
CREATE TABLE neurigraph.uploads (
    source_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    file_name text NOT NULL CHECK (char_length(file_name) BETWEEN 1 AND 255),
    media_type text NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
    state neurigraph.upload_state NOT NULL DEFAULT 'received',
    -- The object that has the bytes until a record has them; null once the object is removed.
    staging_key text UNIQUE,
    -- The file of a record that is the original.
    file_id uuid REFERENCES neurigraph.file_index ON DELETE SET NULL,
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the upload moves this time on by its lease, so an upload whose worker died is due again by
    -- itself.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    error text,
    received_at timestamptz NOT NULL DEFAULT now(),
    -- Whether the file is stored as it is, even if it is an export of conversations.
    is_document boolean NOT NULL DEFAULT false,
    -- Whether it is a text that was posted, which needs no description of a file.
    is_posted boolean NOT NULL DEFAULT false,
    -- For an export whose conversations were added: its format, counts, and the rejected parts with reasons. Null for a
    -- document.
    imported jsonb CHECK (jsonb_typeof(imported) = 'object'),
    CHECK (state <> 'failed' OR error IS NOT NULL),
    CHECK (staging_key IS NOT NULL OR file_id IS NOT NULL OR state = 'extracted'),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE
);
CREATE INDEX uploads_due ON neurigraph.uploads (next_attempt_at) WHERE state = 'received';
CREATE INDEX uploads_file_id ON neurigraph.uploads (file_id);
-- The index is not unique: the same bytes may come back as a version after another one.
CREATE INDEX uploads_content ON neurigraph.uploads (user_id, sha256);
CREATE INDEX uploads_to_clear ON neurigraph.uploads (source_id)
WHERE (file_id IS NOT NULL OR imported IS NOT NULL) AND staging_key IS NOT NULL;

ALTER TABLE neurigraph.uploads ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.uploads TO neurigraph_pipeline;
GRANT SELECT, INSERT ON neurigraph.uploads TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.uploads TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.uploads TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY by_member ON neurigraph.uploads TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.sources_of_member()));

CREATE POLICY bound ON neurigraph.uploads FOR SELECT TO neurigraph_agent
USING (
    user_id = (SELECT neurigraph.bound_user_id())
    AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
);
