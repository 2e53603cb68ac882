-- Enumerations of the shared tables and of the tables of nodes, and the function of their generated columns.

CREATE TYPE neurigraph.node_type AS ENUM ('concept', 'persona');
CREATE TYPE neurigraph.concept_kind AS ENUM (
    'user', 'topic', 'person', 'project', 'organization', 'place', 'thing'
);
CREATE TYPE neurigraph.compression_state AS ENUM ('active', 'dormant', 'rehydrating');
CREATE TYPE neurigraph.content_type AS ENUM ('conversation', 'event', 'file_upload', 'other', 'note');
CREATE TYPE neurigraph.trigger_type AS ENUM ('conversation_end', 'chunk_threshold', 'event_boundary');
CREATE TYPE neurigraph.file_type AS ENUM ('pdf', 'transcript', 'image', 'video', 'audio', 'code', 'export');
CREATE TYPE neurigraph.compression_format AS ENUM ('gzip', 'native');

-- The last value is the transition from dormant to rehydrating. Other transitions have the name of their result.
CREATE TYPE neurigraph.compression_event AS ENUM (
    'compressed', 'decompressed', 'recompressed', 'failed', 'rehydrating'
);
CREATE TYPE neurigraph.compression_cause AS ENUM ('scheduler', 'retrieval', 'ttl_expiry', 'manual');
CREATE TYPE neurigraph.subject_type AS ENUM ('persona', 'third_party');
CREATE TYPE neurigraph.grant_type AS ENUM ('read', 'read_write');
CREATE TYPE neurigraph.source_kind AS ENUM ('conversation', 'event', 'upload', 'note');
CREATE TYPE neurigraph.event_kind AS ENUM ('meeting', 'call', 'work_session', 'milestone');
CREATE TYPE neurigraph.message_role AS ENUM ('user', 'assistant', 'system', 'tool');
CREATE TYPE neurigraph.trigger_state AS ENUM ('pending', 'claimed', 'stored', 'failed');
CREATE TYPE neurigraph.upload_state AS ENUM ('received', 'extracted', 'failed');
CREATE TYPE neurigraph.privacy AS ENUM ('shared', 'private');
CREATE TYPE neurigraph.erasure_subject AS ENUM ('record', 'node', 'user', 'fact');

-- The door by which a text came in: a program over HTTP, the command line, an import of another program's files, the
-- drop folder, the protocol for models' tools, a fetched page, another installation, or a digest of memories.
CREATE TYPE neurigraph.received_through AS ENUM ('api', 'cli', 'import', 'drop', 'mcp', 'web', 'peer', 'digest');

-- The voice of a text, as the server knows it: the owner of the graph, the assistant, instructions of the system, the
-- result of a tool, a persona with a key of its own, another person in a conversation that the owner handed in, a
-- document of the owner, or a text that was fetched.
CREATE TYPE neurigraph.voice AS ENUM (
    'owner', 'assistant', 'system', 'tool', 'persona', 'other_person', 'document', 'fetched'
);
-- The trust in the way in which a fact was stated, lowest first.
CREATE TYPE neurigraph.authority AS ENUM (
    'observation', 'inference', 'assistant', 'document', 'statement', 'by_hand'
);
CREATE TYPE neurigraph.mention_role AS ENUM (
    'mention', 'subject', 'author', 'owner', 'assignee', 'component'
);
CREATE TYPE neurigraph.detector AS ENUM ('rule', 'model', 'person');
CREATE TYPE neurigraph.stance AS ENUM ('asserts', 'ends', 'denies');
CREATE TYPE neurigraph.alias_type AS ENUM (
    'name', 'former_name', 'email', 'handle', 'phone', 'url', 'external'
);
CREATE TYPE neurigraph.fact_kind AS ENUM (
    'event', 'state', 'preference', 'plan', 'decision', 'commitment', 'relation', 'quantity', 'other'
);
CREATE TYPE neurigraph.fact_stated_as AS ENUM ('statement', 'inference', 'observation');
CREATE TYPE neurigraph.fact_impact AS ENUM ('high', 'medium', 'low');
CREATE TYPE neurigraph.fact_status AS ENUM ('active', 'disputed', 'archived');
CREATE TYPE neurigraph.document_type AS ENUM (
    'text', 'pdf', 'tweet', 'google_doc', 'google_slide', 'google_sheet', 'image', 'video', 'notion_doc',
    'webpage', 'onedrive', 'repository', 'document', 'table', 'audio', 'code', 'file', 'conversation', 'event',
    'note'
);
CREATE TYPE neurigraph.channel AS ENUM ('dm', 'private', 'public');
CREATE TYPE neurigraph.retention_tier AS ENUM ('short', 'mid', 'long');
CREATE TYPE neurigraph.link_verdict AS ENUM ('unverified', 'confirmed', 'rejected');

-- The text by which full-text search finds a record or a node. The function is declared immutable because
-- array_to_string is only stable for element types that these arrays do not have. Generated columns store its results,
-- so it is not replaced like the functions of sql/functions: a migration that changes it computes these columns again.
CREATE FUNCTION neurigraph.record_tsv(
    language regconfig, title text, summary text, VARIADIC keywords text []
) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT to_tsvector(language, title || ' ' || summary || ' ' || coalesce(array_to_string(keywords, ' '), ''))
$$;
GRANT EXECUTE ON FUNCTION neurigraph.record_tsv(regconfig, text, text, text [])
TO neurigraph_agent, neurigraph_pipeline;

-- The first word of a name in lower case, by which an index finds facts of people with one first name. The function has
-- no settings of its own, so that Postgres inlines it.
CREATE FUNCTION neurigraph.first_word(name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(lower(name), ' ', 1)
$$;

-- The kind of an author, such as user, persona, pipeline or quarantine. Authors in logs are names for readers, such as
-- user:ID or pipeline:MODEL: a log outlives the personas and models that it names, and links sign the name as bytes.
CREATE FUNCTION neurigraph.kind_of_author(author text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(author, ':', 1)
$$;
