-- What lists of records filter by, copied to record_index so that a list reads no node schema. The trigger
-- register_record writes it; the node's own migration fills in what was stored before.

ALTER TABLE neurigraph.record_index
ADD COLUMN IF NOT EXISTS content_type neurigraph.content_type,
ADD COLUMN IF NOT EXISTS occurred_at timestamptz,
ADD COLUMN IF NOT EXISTS superseded boolean,
-- The entities and topics in lower case, each once.
ADD COLUMN IF NOT EXISTS entity_keys text [] NOT NULL DEFAULT '{}',
ADD COLUMN IF NOT EXISTS topic_keys text [] NOT NULL DEFAULT '{}';

-- Work that is not done, of one user: the states of its sources follow from it.
CREATE INDEX IF NOT EXISTS storage_triggers_unstored ON neurigraph.storage_triggers (user_id, source_id)
WHERE state <> 'stored';
CREATE INDEX IF NOT EXISTS sources_open ON neurigraph.sources (user_id, created_at, source_id)
WHERE ended_at IS NULL;
