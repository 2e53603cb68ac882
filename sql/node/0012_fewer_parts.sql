-- Fewer parts of a node: an index that no query uses goes, and one trigger notes what three did. Runs as
-- neurigraph_owner. {schema} is an identifier; {node_id} and {user_id} are literals.

DROP INDEX IF EXISTS {schema}.metadata_records_record_id_idx;

CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF
title, summary, embedding, embedding_pending, embedding_model, embedding_next, embedding_next_model, kw_entities,
kw_topics, kw_dates, kw_relationships, content_type, source_kind, source_id, file_pointer, occurred_at, created_at,
superseded_by, quarantined
ON {schema}.metadata_records
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.note_node_change({user_id});
DROP TRIGGER IF EXISTS note_supersession ON {schema}.metadata_records;
DROP TRIGGER IF EXISTS note_quarantine ON {schema}.metadata_records;
