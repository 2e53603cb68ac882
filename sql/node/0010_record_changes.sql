-- Changes of the node are noted by record, so that a process that has the node in memory reads only those. The columns
-- are those that change the version of the node. Runs as neurigraph_owner. {schema} is an identifier; {node_id} and
-- {user_id} are literals.

CREATE OR REPLACE TRIGGER note_record AFTER INSERT OR UPDATE OF
title, summary, embedding, embedding_pending, embedding_model, embedding_next, embedding_next_model, kw_entities,
kw_topics, kw_dates, kw_relationships, content_type, source_kind, source_id, file_pointer, occurred_at, created_at,
superseded_by, quarantined
ON {schema}.metadata_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_record_change({node_id}, {user_id});
CREATE OR REPLACE TRIGGER note_record AFTER INSERT OR UPDATE OF record_id, storage_path, compression_state
ON {schema}.file_manifest
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_record_change({node_id}, {user_id});
CREATE OR REPLACE TRIGGER note_records_added AFTER INSERT ON {schema}.passages
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.note_passage_changes({node_id}, {user_id});
CREATE OR REPLACE TRIGGER note_records_changed AFTER UPDATE ON {schema}.passages
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.note_passage_changes({node_id}, {user_id});

-- What changed before is not listed.
INSERT INTO neurigraph.record_changes (node_id, user_id, change)
VALUES ({node_id}, {user_id}, pg_current_xact_id());
