-- What search needs of a node: passages with the role of who speaks and the length of their window, counted in the
-- statistics of their user's corpus; and word of every change that an answer may depend on.

-- With two vectors on it a row is longer than what is usually compressed or put out of line; in line, its lexemes are
-- compared in a third of the time.
ALTER TABLE {schema}.passages SET (toast_tuple_target = 8160);

ALTER TABLE {schema}.passages
ADD COLUMN role neurigraph.message_role,
-- Lexemes of the passage and of those around it, each times how much it counts in the window.
ADD COLUMN window_length real CHECK (window_length >= 0);

UPDATE {schema}.passages AS p SET role = m.role, window_length = w.length
FROM {schema}.metadata_records AS r
INNER JOIN neurigraph.messages AS m ON r.source_id = m.source_id
INNER JOIN (
    SELECT
        q.record_id,
        q.seq,
        q.lexeme_count
        + 0.3 * coalesce(lag(q.lexeme_count, 3) OVER o, 0) + 0.5 * coalesce(lag(q.lexeme_count, 2) OVER o, 0)
        + 0.7 * coalesce(lag(q.lexeme_count, 1) OVER o, 0) + 0.5 * coalesce(lead(q.lexeme_count, 1) OVER o, 0)
        + 0.25 * coalesce(lead(q.lexeme_count, 2) OVER o, 0) AS length
    FROM {schema}.passages AS q
    WINDOW o AS (PARTITION BY q.record_id ORDER BY q.seq)
) AS w ON r.record_id = w.record_id
WHERE p.record_id = r.record_id AND p.first_message = m.seq AND p.seq = w.seq;

SELECT neurigraph_private.recount_node({node_id}) WHERE EXISTS (SELECT FROM {schema}.passages);

CREATE TRIGGER count_added AFTER INSERT ON {schema}.passages
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.count_passages({node_id}, {user_id});
CREATE TRIGGER count_removed AFTER DELETE ON {schema}.passages
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.count_passages({node_id}, {user_id});
CREATE TRIGGER refuse_recount BEFORE UPDATE OF record_id, author, lexemes, lexeme_count ON {schema}.passages
FOR EACH ROW EXECUTE FUNCTION neurigraph.refuse_recount();

-- A question must not read through what waits to be sorted into the index.
ALTER INDEX {schema}.passages_lexemes_idx SET (fastupdate = false);
ALTER INDEX {schema}.metadata_records_tsv_idx SET (fastupdate = false);

CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF
title, summary, embedding, embedding_pending, embedding_model, embedding_next, embedding_next_model, kw_entities,
kw_topics, kw_dates, kw_relationships, content_type, source_kind, source_id, file_pointer, occurred_at, created_at
ON {schema}.metadata_records
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.note_node_change({user_id});
CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON {schema}.passages
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.note_node_change({user_id});
CREATE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF record_id, storage_path, compression_state
ON {schema}.file_manifest
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.note_node_change({user_id});
