-- No change of a memory without its delta (routines/history.sql), and memories that newer ones take the place of.

ALTER TABLE {schema}.metadata_records
-- The record that takes its place; null while it stands for itself.
ADD COLUMN superseded_by uuid CHECK (superseded_by <> record_id),
-- When it did not stand for itself: what a search of a past moment goes by.
ADD COLUMN superseded tstzmultirange NOT NULL DEFAULT '{{}}',
ADD CHECK ((superseded_by IS NOT NULL) = upper_inf(superseded));

CREATE TRIGGER log_change BEFORE UPDATE OF
title, summary, kw_entities, kw_topics, kw_dates, kw_relationships, embedding_model, superseded_by
ON {schema}.metadata_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.log_record_change();

CREATE TRIGGER note_supersession AFTER UPDATE OF superseded_by ON {schema}.metadata_records
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.note_node_change({user_id});
