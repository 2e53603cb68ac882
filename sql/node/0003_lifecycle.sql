-- The life of a file (shared migration 0015 has the functions).

ALTER TABLE {schema}.file_manifest
-- Of the uncompressed content: what a working copy is checked against. Null where it was not kept; then the first
-- rehydration finds it out.
ADD COLUMN content_sha256 bytea CHECK (octet_length(content_sha256) = 32),
-- Who rehydrates it, and for how long nobody else does. A range: a clock that was set back lies before it.
ADD COLUMN lease tstzrange,
ADD COLUMN lease_holder uuid,
-- Why it could not be read or rehydrated; gone once it could.
ADD COLUMN last_failure text,
ADD CHECK ((compression_state = 'rehydrating') = (lease IS NOT NULL)),
ADD CHECK ((lease IS NULL) = (lease_holder IS NULL)),
ADD CHECK (compression_state = 'active' OR recompress_after IS NULL);

UPDATE {schema}.file_manifest AS f SET content_sha256 = CASE
    WHEN f.compression_format = 'native' THEN f.stored_sha256
    WHEN f.file_type = 'transcript' THEN r.content_hash
    ELSE (SELECT u.sha256 FROM neurigraph.uploads AS u WHERE u.file_id = f.file_id)
END
FROM {schema}.metadata_records AS r
WHERE f.record_id = r.record_id;

-- One message of a long transcript is found among its passages as fast as among few.
CREATE INDEX ON {schema}.passages (record_id, first_message);

CREATE TRIGGER state_guarded BEFORE INSERT OR UPDATE OF compression_state ON {schema}.file_manifest
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_file_state();
-- Its name sorts after register_file: the entry points at the registered file.
CREATE TRIGGER state_logged AFTER INSERT OR UPDATE OF compression_state, last_failure ON {schema}.file_manifest
FOR EACH ROW EXECUTE FUNCTION neurigraph.log_file_state({node_id}, {user_id});
-- Not for inserts: the commit that adds a file to a node holds its shell, and says there that it is active.
CREATE TRIGGER states_summed AFTER UPDATE OF compression_state OR DELETE ON {schema}.file_manifest
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.sum_changed_file_states({node_id});
