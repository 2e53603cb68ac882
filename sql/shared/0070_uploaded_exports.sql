-- Exports of conversations that were uploaded: what was read of the file, and which conversations it holds.

ALTER TABLE neurigraph.uploads
-- Stored as the file that it is, also if it is an export of conversations.
ADD COLUMN IF NOT EXISTS is_document boolean NOT NULL DEFAULT false,
-- Of an export whose conversations were added: its format, counts, and what was rejected with the reasons. Null for a
-- document.
ADD COLUMN IF NOT EXISTS imported jsonb CHECK (jsonb_typeof(imported) = 'object');

DROP INDEX IF EXISTS neurigraph.uploads_to_clear;
CREATE INDEX uploads_to_clear ON neurigraph.uploads (source_id)
WHERE (file_id IS NOT NULL OR imported IS NOT NULL) AND staging_key IS NOT NULL;

ALTER TABLE neurigraph.sources
-- The newest uploaded export that holds this conversation. Only the pipeline sets it.
ADD COLUMN IF NOT EXISTS upload_id uuid CHECK (upload_id <> source_id);

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'sources_upload_id') THEN
        ALTER TABLE neurigraph.sources ADD CONSTRAINT sources_upload_id
        FOREIGN KEY (upload_id, user_id) REFERENCES neurigraph.sources (source_id, user_id)
        ON DELETE SET NULL (upload_id);
    END IF;
END
$$;
CREATE INDEX IF NOT EXISTS sources_of_uploads ON neurigraph.sources (upload_id) WHERE upload_id IS NOT NULL;
