-- Enumerations of the shared tables and of the tables of nodes.

CREATE TYPE neurigraph.node_type AS ENUM ('concept', 'persona');
CREATE TYPE neurigraph.concept_kind AS ENUM (
    'user', 'topic', 'person', 'project', 'organization', 'place', 'thing'
);
CREATE TYPE neurigraph.compression_state AS ENUM ('active', 'dormant', 'rehydrating');
CREATE TYPE neurigraph.content_type AS ENUM ('conversation', 'event', 'file_upload', 'other');
CREATE TYPE neurigraph.trigger_type AS ENUM ('conversation_end', 'chunk_threshold', 'event_boundary');
CREATE TYPE neurigraph.file_type AS ENUM ('pdf', 'transcript', 'image', 'video', 'audio', 'code', 'export');
CREATE TYPE neurigraph.compression_format AS ENUM ('gzip', 'native');
-- The last value is the transition from dormant to rehydrating; the other transitions are named by their results.
CREATE TYPE neurigraph.compression_event AS ENUM (
    'compressed', 'decompressed', 'recompressed', 'failed', 'rehydrating'
);
CREATE TYPE neurigraph.compression_cause AS ENUM ('scheduler', 'retrieval', 'ttl_expiry', 'manual');
CREATE TYPE neurigraph.subject_type AS ENUM ('persona', 'third_party');
CREATE TYPE neurigraph.grant_type AS ENUM ('read', 'read_write');
CREATE TYPE neurigraph.source_kind AS ENUM ('conversation', 'event', 'upload');
CREATE TYPE neurigraph.event_kind AS ENUM ('meeting', 'call', 'work_session', 'milestone');
CREATE TYPE neurigraph.message_role AS ENUM ('user', 'assistant', 'system', 'tool');
CREATE TYPE neurigraph.trigger_state AS ENUM ('pending', 'claimed', 'stored', 'failed');
CREATE TYPE neurigraph.upload_state AS ENUM ('received', 'extracted', 'failed');
CREATE TYPE neurigraph.privacy AS ENUM ('shared', 'private');
CREATE TYPE neurigraph.erasure_subject AS ENUM ('record', 'node', 'user');
