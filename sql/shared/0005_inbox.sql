-- The inbox: what has come in and is not yet, or no longer, raw text of this database; and the queue of segments.

-- A conversation, an event or an upload. One table, because everything behind it treats them alike.
CREATE TABLE neurigraph.sources (
    source_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    kind neurigraph.source_kind NOT NULL,
    event_kind neurigraph.event_kind,
    external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 300),
    title text CHECK (char_length(title) <= 500),
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    -- Numbers of the newest message and of the newest that is stored; the tail between them is unstored.
    last_message integer NOT NULL DEFAULT 0 CHECK (last_message >= 0),
    stored_through integer NOT NULL DEFAULT 0 CHECK (stored_through >= 0),
    -- Number of the newest message that a trigger covers, whatever became of it.
    triggered_through integer NOT NULL DEFAULT 0 CHECK (triggered_through >= 0),
    untriggered_tokens bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK ((kind = 'event') = (event_kind IS NOT NULL)),
    CHECK (stored_through <= triggered_through AND triggered_through <= last_message),
    UNIQUE (source_id, user_id),
    UNIQUE (user_id, kind, external_id)
);
-- What the sensors look for: ended, and something has no trigger yet.
CREATE INDEX sources_ended_untriggered ON neurigraph.sources (kind, ended_at)
WHERE ended_at IS NOT NULL AND triggered_through < last_message;
CREATE INDEX sources_open_tokens ON neurigraph.sources (kind, untriggered_tokens) WHERE ended_at IS NULL;

CREATE TABLE neurigraph.messages (
    source_id uuid NOT NULL,
    seq integer NOT NULL CHECK (seq > 0),
    user_id uuid NOT NULL,
    role neurigraph.message_role NOT NULL,
    author text CHECK (char_length(author) <= 300),
    -- Both null once the segment is stored and its object verified; number, hash and count stay.
    content text,
    tool_calls jsonb,
    token_count integer NOT NULL CHECK (token_count >= 0),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    occurred_at timestamptz NOT NULL,
    external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 300),
    -- False while a response is still streaming in.
    complete boolean NOT NULL DEFAULT true,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, seq),
    UNIQUE (source_id, external_id),
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE
);

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
    -- The batch that holds it while it is claimed, for whom, and until when without a sign of life.
    batch_id uuid,
    claimed_by text,
    claimed_until timestamptz,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    stored_at timestamptz,
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
CREATE INDEX storage_triggers_stored ON neurigraph.storage_triggers (stored_at) WHERE stored_at IS NOT NULL;

-- What needs a person: a segment whose last attempt failed.
CREATE TABLE neurigraph.pipeline_failures (
    failure_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    trigger_id uuid NOT NULL REFERENCES neurigraph.storage_triggers ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    step text NOT NULL,
    error text NOT NULL,
    attempts integer NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    replayed_at timestamptz
);
CREATE INDEX pipeline_failures_open ON neurigraph.pipeline_failures (occurred_at) WHERE replayed_at IS NULL;
