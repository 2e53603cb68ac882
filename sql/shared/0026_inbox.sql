-- The inbox: text that has arrived and is not stored yet, the queue of segments, and failures of the pipeline.

-- Conversations, events and uploads, in one table because the pipeline treats them alike.
CREATE TABLE neurigraph.sources (
    source_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    kind neurigraph.source_kind NOT NULL,
    event_kind neurigraph.event_kind,
    -- The sender's id of the source. The owner and each persona have ids of their own, so that no caller finds out
    -- another caller's ids by trying.
    external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 300),
    title text CHECK (char_length(title) <= 500),
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    -- The number of the newest message.
    last_message integer NOT NULL DEFAULT 0 CHECK (last_message >= 0),
    -- The number of the newest message that is stored.
    stored_through integer NOT NULL DEFAULT 0 CHECK (stored_through >= 0),
    -- The number of the newest message that a trigger covers, in whatever state the trigger is.
    triggered_through integer NOT NULL DEFAULT 0 CHECK (triggered_through >= 0),
    untriggered_tokens bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Whether messages arrived since segmentation last looked for a break: an unchanged tail is not read again.
    tail_changed boolean NOT NULL DEFAULT true,
    -- A private source is visible to the owner only, even where its nodes are granted. It applies to all records of the
    -- source from the next statement on.
    privacy neurigraph.privacy NOT NULL DEFAULT 'shared',
    -- The persona that sent the source; null is the owner. There is no foreign key: the sources of a deleted persona
    -- must not become the owner's.
    persona_id uuid,
    CHECK ((kind = 'event') = (event_kind IS NOT NULL)),
    CHECK (stored_through <= triggered_through AND triggered_through <= last_message),
    UNIQUE (source_id, user_id),
    CONSTRAINT sources_external_id UNIQUE NULLS NOT DISTINCT (user_id, kind, external_id, persona_id)
);
-- The sensors look for sources that ended and have messages without a trigger. The kind is in the predicates: behind
-- row-level security, equality of enums gives an index no order.
CREATE INDEX sources_ended_untriggered ON neurigraph.sources (kind, ended_at)
WHERE ended_at IS NOT NULL AND triggered_through < last_message;
CREATE INDEX sources_open_changed ON neurigraph.sources (untriggered_tokens)
WHERE kind = 'conversation' AND ended_at IS NULL AND tail_changed;
CREATE INDEX sources_ended_tokens ON neurigraph.sources (untriggered_tokens)
WHERE kind = 'conversation' AND ended_at IS NOT NULL AND triggered_through < last_message;
CREATE INDEX sources_private ON neurigraph.sources (user_id) WHERE privacy = 'private';
CREATE INDEX sources_persona_id ON neurigraph.sources (persona_id) WHERE persona_id IS NOT NULL;

-- The messages of sources, numbered from 1.
CREATE TABLE neurigraph.messages (
    source_id uuid NOT NULL,
    seq integer NOT NULL CHECK (seq > 0),
    user_id uuid NOT NULL,
    role neurigraph.message_role NOT NULL,
    author text CHECK (char_length(author) <= 300),
    -- Content and tool calls become null when the segment is stored and its object verified; the other columns stay.
    content text,
    tool_calls jsonb,
    token_count integer NOT NULL CHECK (token_count >= 0),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    occurred_at timestamptz NOT NULL,
    external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 300),
    -- False while a response is streaming in.
    complete boolean NOT NULL DEFAULT true,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, seq),
    UNIQUE (source_id, external_id),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE
);

-- The queue: one row a segment, a run of messages that is stored as one record or more.
CREATE TABLE neurigraph.storage_triggers (
    trigger_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    source_id uuid NOT NULL,
    trigger_type neurigraph.trigger_type NOT NULL,
    first_message integer NOT NULL CHECK (first_message > 0),
    last_message integer NOT NULL,
    token_count bigint NOT NULL CHECK (token_count >= 0),
    state neurigraph.trigger_state NOT NULL DEFAULT 'pending',
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    -- The batch that has leased the segment.
    batch_id uuid,
    -- The run that has leased it.
    claimed_by text,
    -- The end of the lease, unless it is renewed.
    claimed_until timestamptz,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    stored_at timestamptz,
    -- The number of runs in a row that died with the segment without an error. From the first on, the segment is run
    -- alone, so that another death identifies it.
    deaths integer NOT NULL DEFAULT 0 CHECK (deaths >= 0),
    -- Whether the messages may still have their content.
    bodies_kept boolean NOT NULL DEFAULT true,
    CHECK (last_message >= first_message),
    CHECK ((state = 'claimed') = (batch_id IS NOT NULL)),
    CHECK ((state = 'claimed') = (claimed_until IS NOT NULL)),
    CHECK ((state = 'claimed') = (claimed_by IS NOT NULL)),
    CHECK ((state = 'stored') = (stored_at IS NOT NULL)),
    UNIQUE (source_id, first_message),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE
);
CREATE INDEX storage_triggers_pending ON neurigraph.storage_triggers (next_attempt_at, created_at)
WHERE state = 'pending';
CREATE INDEX storage_triggers_claimed ON neurigraph.storage_triggers (claimed_until) WHERE state = 'claimed';
CREATE INDEX storage_triggers_batch ON neurigraph.storage_triggers (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX storage_triggers_bodies_kept ON neurigraph.storage_triggers (stored_at)
WHERE stored_at IS NOT NULL AND bodies_kept;

-- What a source of kind upload has besides its messages.
CREATE TABLE neurigraph.uploads (
    source_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    file_name text NOT NULL CHECK (char_length(file_name) BETWEEN 1 AND 255),
    media_type text NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
    state neurigraph.upload_state NOT NULL DEFAULT 'received',
    -- The object that has the bytes until a record does; null once that object is removed.
    staging_key text UNIQUE,
    -- The file, of a record, that is the original.
    file_id uuid REFERENCES neurigraph.file_index ON DELETE SET NULL,
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- A worker that takes the upload moves this on by its lease, so an upload whose worker died is due again by itself.
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

-- Versions of files in a drop folder that were read: each became a source or has an error. The files stay there.
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

-- Work that needs a person: a segment or an upload whose last attempt failed.
CREATE TABLE neurigraph.pipeline_failures (
    failure_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    trigger_id uuid REFERENCES neurigraph.storage_triggers ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The pipeline step that failed.
    step text NOT NULL,
    error text NOT NULL,
    attempts integer NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    replayed_at timestamptz,
    upload_id uuid REFERENCES neurigraph.uploads ON DELETE CASCADE,
    CHECK (num_nonnulls(trigger_id, upload_id) = 1)
);
CREATE INDEX pipeline_failures_open ON neurigraph.pipeline_failures (occurred_at) WHERE replayed_at IS NULL;
CREATE INDEX pipeline_failures_trigger_id ON neurigraph.pipeline_failures (trigger_id);
CREATE INDEX pipeline_failures_user_id ON neurigraph.pipeline_failures (user_id, occurred_at);
CREATE INDEX pipeline_failures_upload_id ON neurigraph.pipeline_failures (upload_id) WHERE upload_id IS NOT NULL;

ALTER TABLE neurigraph.sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.storage_triggers ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.uploads ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.dropped_files ENABLE ROW LEVEL SECURITY;
ALTER TABLE neurigraph.pipeline_failures ENABLE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE ON
neurigraph.sources, neurigraph.messages, neurigraph.storage_triggers, neurigraph.uploads, neurigraph.pipeline_failures
TO neurigraph_pipeline;
GRANT SELECT, INSERT ON neurigraph.dropped_files TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.storage_triggers, neurigraph.dropped_files, neurigraph.pipeline_failures
TO neurigraph_agent;
GRANT SELECT, INSERT ON neurigraph.sources, neurigraph.messages, neurigraph.uploads TO neurigraph_agent;
GRANT UPDATE (title, started_at, ended_at, last_message, untriggered_tokens, tail_changed) ON neurigraph.sources
TO neurigraph_agent;
GRANT UPDATE (role, author, content, tool_calls, token_count, content_hash, occurred_at, complete)
ON neurigraph.messages TO neurigraph_agent;
