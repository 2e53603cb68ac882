-- Indexes of lists that are read page by page, newest first. Each is read backwards from the position of a cursor.

-- One index a kind of source: behind row-level security, a condition on an enum cannot be one of an index.
CREATE INDEX IF NOT EXISTS sources_conversations ON neurigraph.sources (user_id, created_at, source_id)
WHERE kind = 'conversation';
CREATE INDEX IF NOT EXISTS sources_events ON neurigraph.sources (user_id, created_at, source_id)
WHERE kind = 'event';
CREATE INDEX IF NOT EXISTS sources_uploads ON neurigraph.sources (user_id, created_at, source_id)
WHERE kind = 'upload';
CREATE INDEX IF NOT EXISTS sources_notes ON neurigraph.sources (user_id, created_at, source_id)
WHERE kind = 'note';

CREATE INDEX IF NOT EXISTS storage_triggers_failed ON neurigraph.storage_triggers (source_id) WHERE state = 'failed';

CREATE INDEX IF NOT EXISTS record_index_newest ON neurigraph.record_index (user_id, created_at, record_id);

-- Parents come before their children.
CREATE INDEX IF NOT EXISTS graph_index_by_depth ON neurigraph.graph_index (user_id, layer_depth, node_id);
