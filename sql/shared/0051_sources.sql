-- Where sources come from and what they replace: what their writers state besides the text, and versions of one source.

DO $$
BEGIN
    IF to_regtype('neurigraph.document_type') IS NULL THEN
        CREATE TYPE neurigraph.document_type AS ENUM (
            'text', 'pdf', 'tweet', 'google_doc', 'google_slide', 'google_sheet', 'image', 'video', 'notion_doc',
            'webpage', 'onedrive', 'repository', 'document', 'table', 'audio', 'code', 'file', 'conversation', 'event',
            'note'
        );
        CREATE TYPE neurigraph.channel AS ENUM ('dm', 'private', 'public');
    END IF;
END
$$;

ALTER TABLE neurigraph.sources
-- The program or site, such as slack.
ADD COLUMN IF NOT EXISTS origin text CHECK (char_length(origin) BETWEEN 1 AND 100),
-- Null is what the kind of the source says.
ADD COLUMN IF NOT EXISTS document_type neurigraph.document_type,
-- A page to read it at; without a password, because everybody who sees its memories sees it.
ADD COLUMN IF NOT EXISTS url text CHECK (
    char_length(url) <= 2000 AND url ~ '^https?://[^/?#]' AND url !~ '^https?://[^/?#]*@'
),
ADD COLUMN IF NOT EXISTS channel neurigraph.channel,
ADD COLUMN IF NOT EXISTS author text CHECK (char_length(author) BETWEEN 1 AND 300),
-- Texts, numbers and booleans by name.
ADD COLUMN IF NOT EXISTS metadata jsonb CHECK (
    jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 32768
),
-- When it last changed where it comes from.
ADD COLUMN IF NOT EXISTS updated_at timestamptz,
-- A source that changed where it comes from is a new source with the same external id and the next version.
ADD COLUMN IF NOT EXISTS version integer NOT NULL DEFAULT 1 CHECK (version > 0),
-- The version before; null if that is forgotten.
ADD COLUMN IF NOT EXISTS replaces uuid REFERENCES neurigraph.sources ON DELETE SET NULL CHECK (replaces <> source_id);

ALTER TABLE neurigraph.sources DROP CONSTRAINT IF EXISTS sources_external_id;
ALTER TABLE neurigraph.sources ADD CONSTRAINT sources_external_id
UNIQUE NULLS NOT DISTINCT (user_id, kind, external_id, persona_id, version);
CREATE UNIQUE INDEX IF NOT EXISTS sources_replaces ON neurigraph.sources (replaces) WHERE replaces IS NOT NULL;

-- The same bytes may come back: as the version after another one.
ALTER TABLE neurigraph.uploads DROP CONSTRAINT IF EXISTS uploads_user_id_sha256_key;
CREATE INDEX IF NOT EXISTS uploads_content ON neurigraph.uploads (user_id, sha256);

-- The part of a document that a message is of: its headings, or its page.
ALTER TABLE neurigraph.messages
ADD COLUMN IF NOT EXISTS section text CHECK (char_length(section) BETWEEN 1 AND 300);
