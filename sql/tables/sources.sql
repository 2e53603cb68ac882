-- Conversations, events and uploads, in one table because the pipeline treats them alike.
CREATE TABLE neurigraph.sources (
    source_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    kind neurigraph.source_kind NOT NULL,
    event_kind neurigraph.event_kind,
    -- The sender's id of the source. The owner and each persona have ids of their own, so that no caller can test which
    -- ids another caller uses.
    external_id text NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 300),
    title text CHECK (char_length(title) <= 256),
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    -- The number of the newest message.
    last_message integer NOT NULL DEFAULT 0 CHECK (last_message >= 0),
    -- The number of the newest message that is stored.
    stored_through integer NOT NULL DEFAULT 0 CHECK (stored_through >= 0),
    -- The number of the newest message that a trigger covers, in any state.
    triggered_through integer NOT NULL DEFAULT 0 CHECK (triggered_through >= 0),
    untriggered_tokens bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Whether messages arrived since segmentation last looked for a break: segmentation does not read an unchanged tail
    -- again.
    tail_changed boolean NOT NULL DEFAULT true,
    -- A private source is visible to the owner only, even where its nodes are granted. A change of privacy applies to
    -- all records of the source from the next statement on.
    privacy neurigraph.privacy NOT NULL DEFAULT 'shared',
    -- The persona that sent the source; null is the owner. There is no foreign key, because sources of a deleted
    -- persona must not become the owner's.
    persona_id uuid,
    -- The key and the door of the caller who handed in the source, from the signed claims and never from the caller's
    -- own statements. Keys have no foreign key, because sources of a deleted key must not become the owner's.
    key_id uuid,
    received_through neurigraph.received_through,
    -- When a message last arrived: search finds unstored messages of the sources with the latest arrivals.
    last_received_at timestamptz NOT NULL DEFAULT now(),
    -- The program or site, such as slack.
    origin text CHECK (char_length(origin) BETWEEN 1 AND 100),
    -- The type of the document; null means that the kind of the source decides.
    document_type neurigraph.document_type,
    -- The address of a page with the source. It contains no password, because everybody who sees the source's memories
    -- sees it.
    url text CHECK (
        char_length(url) <= 2000 AND url ~ '^https?://[^/?#]' AND url !~ '^https?://[^/?#]*@'
    ),
    channel neurigraph.channel,
    author text CHECK (char_length(author) BETWEEN 1 AND 300),
    -- Texts, numbers, booleans and lists of them by name.
    metadata jsonb CHECK (
        jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 32768
    ),
    -- When the source last changed at its origin.
    updated_at timestamptz,
    -- A source that changed at its origin is a new source with the same external id and the next version.
    version integer NOT NULL DEFAULT 1 CHECK (version > 0),
    -- The source of the version before; null if that version is forgotten.
    replaces uuid REFERENCES neurigraph.sources ON DELETE SET NULL CHECK (replaces <> source_id),
    -- Whether messages wait for an approval in the inbox: they are in no segment, and no search finds them.
    held boolean NOT NULL DEFAULT false,
    -- The tier that the writer of the source asked for; null is long. Its records get the tier when they are stored.
    tier neurigraph.retention_tier,
    -- The key of the caller's limit to spaces. Callers with the same limit share external ids, and no other caller can
    -- test which ids they use.
    binding uuid,
    -- The member of an organization that handed in the source; null elsewhere. There is no foreign key, because a
    -- member's sources must not become somebody else's.
    member_id uuid,
    -- The newest uploaded export that has this conversation. Only the pipeline sets it.
    upload_id uuid CHECK (upload_id <> source_id),
    CHECK ((kind = 'event') = (event_kind IS NOT NULL)),
    CHECK (stored_through <= triggered_through AND triggered_through <= last_message),
    UNIQUE (source_id, user_id),
    CONSTRAINT sources_external_id
        UNIQUE NULLS NOT DISTINCT (user_id, kind, external_id, persona_id, version, binding, member_id),
    CONSTRAINT sources_upload_id FOREIGN KEY (upload_id, user_id) REFERENCES neurigraph.sources (source_id, user_id)
        ON DELETE SET NULL (upload_id)
);
-- Sensors look for sources that ended and have messages without a trigger. The kind is in the predicates, because
-- behind row-level security a comparison of enums cannot give an index order.
CREATE INDEX sources_ended_untriggered ON neurigraph.sources (kind, ended_at)
WHERE ended_at IS NOT NULL AND triggered_through < last_message;
CREATE INDEX sources_open_changed ON neurigraph.sources (untriggered_tokens)
WHERE kind = 'conversation' AND ended_at IS NULL AND tail_changed;
CREATE INDEX sources_ended_tokens ON neurigraph.sources (untriggered_tokens)
WHERE kind = 'conversation' AND ended_at IS NOT NULL AND triggered_through < last_message;
CREATE INDEX sources_private ON neurigraph.sources (user_id) WHERE privacy = 'private';
CREATE INDEX sources_persona_id ON neurigraph.sources (persona_id) WHERE persona_id IS NOT NULL;
-- Lists are read page by page, newest first, backwards from a cursor. Each kind of source has an index, because behind
-- row-level security a condition on an enum cannot use an index column.
CREATE INDEX sources_conversations ON neurigraph.sources (user_id, created_at, source_id)
WHERE kind = 'conversation';
CREATE INDEX sources_events ON neurigraph.sources (user_id, created_at, source_id)
WHERE kind = 'event';
CREATE INDEX sources_uploads ON neurigraph.sources (user_id, created_at, source_id)
WHERE kind = 'upload';
CREATE INDEX sources_notes ON neurigraph.sources (user_id, created_at, source_id)
WHERE kind = 'note';
CREATE INDEX sources_open ON neurigraph.sources (user_id, created_at, source_id)
WHERE ended_at IS NULL;
CREATE INDEX sources_unstored ON neurigraph.sources (user_id, last_received_at, source_id)
WHERE stored_through < last_message;
CREATE UNIQUE INDEX sources_replaces ON neurigraph.sources (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX sources_held ON neurigraph.sources (user_id) WHERE held;
CREATE INDEX sources_member_id ON neurigraph.sources (user_id, member_id) WHERE member_id IS NOT NULL;
CREATE INDEX sources_of_uploads ON neurigraph.sources (upload_id) WHERE upload_id IS NOT NULL;

ALTER TABLE neurigraph.sources ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.sources TO neurigraph_pipeline;
GRANT SELECT, INSERT ON neurigraph.sources TO neurigraph_agent;
GRANT UPDATE (title, started_at, ended_at, last_message, untriggered_tokens, tail_changed)
ON neurigraph.sources TO neurigraph_agent;
GRANT UPDATE (last_received_at) ON neurigraph.sources TO neurigraph_agent;
GRANT SELECT (
    source_id, user_id, kind, event_kind, started_at, ended_at, last_message, stored_through, created_at, privacy,
    received_through, document_type, version, held
) ON neurigraph.sources TO neurigraph_analyst;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the refusal of a source of a graph that is being forgotten, the spaces of the source, the values
-- that follow from its records after a change of privacy (evidence, digests, profiles, cached answers), and records
-- that no longer name a forgotten version.

CREATE OR REPLACE TRIGGER note_change AFTER UPDATE OF privacy, member_id ON neurigraph.sources
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

-- A member sends conversations, events, notes and files, and sees how far the storing of these sources is and why it
-- failed.
ALTER TABLE neurigraph.sources ALTER COLUMN member_id SET DEFAULT neurigraph.asking_member();

-- A persona with a grant to write sends conversations and events. It no longer sees them when its last such grant ends.
ALTER TABLE neurigraph.sources ALTER COLUMN persona_id SET DEFAULT neurigraph.writing_persona();

-- The claims state the origin of a text: a caller can state no other key, persona or door.
ALTER TABLE neurigraph.sources
ALTER COLUMN key_id SET DEFAULT neurigraph.asking_key(),
ALTER COLUMN received_through SET DEFAULT neurigraph.asking_door();

-- A change of a source's privacy changes the readers of its records: digests and profiles of the records are made
-- again, and names and candidates are counted again.
CREATE OR REPLACE FUNCTION neurigraph_private.follow_privacy(changed neurigraph.sources) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    nodes uuid [];
    records uuid [];
BEGIN
    SELECT coalesce(array_agg(DISTINCT i.node_id), '{}'), coalesce(array_agg(i.record_id), '{}') INTO nodes, records
    FROM neurigraph.record_index AS i
    WHERE i.user_id = changed.user_id AND i.source_id = changed.source_id;
    DELETE FROM neurigraph.digest_records AS r WHERE r.record_id = ANY(records);
    DELETE FROM neurigraph.profiles AS p
    WHERE p.node_id = ANY(nodes) AND p.covers = 'shared' AND changed.privacy = 'private';
    UPDATE neurigraph.profiles AS p SET is_stale = true WHERE p.node_id = ANY(nodes) AND NOT p.is_stale;
    PERFORM neurigraph_private.sum_records(records);
END
$$;

-- When a version of a source is forgotten, records of the next version, and cached layers, no longer name it. Writing
-- the records again makes caches read them again.
CREATE OR REPLACE FUNCTION neurigraph_private.note_forgotten_version(changed neurigraph.sources) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node record;
BEGIN
    FOR node IN
        SELECT DISTINCT g.node_id, g.schema_name
        FROM neurigraph.record_index AS i INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id
        WHERE i.user_id = changed.user_id AND i.source_id = changed.source_id
    LOOP
        EXECUTE format(
            'UPDATE %I.metadata_records SET source_id = source_id WHERE source_id = $1', node.schema_name
        ) USING changed.source_id;
        DELETE FROM neurigraph.layer_packs AS p WHERE p.node_id = node.node_id;
    END LOOP;
END
$$;

-- A source is in the spaces that its sender names (neurigraph.container_tags), else in all spaces that the sender is
-- limited to. A new version is also in the spaces of the version before. The owner's first use of a tag makes the
-- space.
CREATE OR REPLACE FUNCTION neurigraph_private.file_in_spaces(made neurigraph.sources) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named text [] := string_to_array(nullif(current_setting('neurigraph.container_tags', true), ''), ',');
    allowed text [] := neurigraph.asking_tags();
    is_owner boolean NOT NULL := coalesce(made.user_id = neurigraph.asking_user_id(), false);
BEGIN
    IF named IS NULL AND allowed IS NULL AND made.replaces IS NULL THEN
        RETURN;
    END IF;
    IF is_owner THEN
        INSERT INTO neurigraph.spaces (user_id, name, container_tag)
        SELECT made.user_id, t.tag, t.tag FROM unnest(named) AS t (tag)
        ON CONFLICT (user_id, container_tag) DO NOTHING;
    ELSIF NOT named <@ coalesce(allowed, '{}') THEN
        RAISE insufficient_privilege USING MESSAGE = 'the caller may not name these spaces';
    END IF;
    INSERT INTO neurigraph.source_spaces (source_id, space_id, user_id)
    SELECT made.source_id, p.space_id, made.user_id
    FROM neurigraph.spaces AS p
    WHERE p.user_id = made.user_id AND (
        p.container_tag = ANY(coalesce(named, allowed))
        OR p.space_id IN (SELECT b.space_id FROM neurigraph.source_spaces AS b WHERE b.source_id = made.replaces)
    )
    ON CONFLICT DO NOTHING;
    IF coalesce(named, allowed) IS NOT NULL AND NOT EXISTS (
        SELECT FROM neurigraph.source_spaces AS m
        INNER JOIN neurigraph.spaces AS p ON m.space_id = p.space_id
        WHERE m.source_id = made.source_id AND p.container_tag = ANY(coalesce(named, allowed))
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'the spaces of this key were removed';
    END IF;
END
$$;

-- Trigger on sources: refuse, file and follow a source with the functions above.
CREATE OR REPLACE FUNCTION neurigraph.follow_source() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM neurigraph_private.file_in_spaces(NEW);
        PERFORM neurigraph_private.refuse_while_forgotten(NEW.user_id);
        RETURN NULL;
    END IF;
    IF NEW.last_message <> OLD.last_message THEN
        PERFORM neurigraph_private.refuse_while_forgotten(NEW.user_id);
    END IF;
    IF NEW.privacy <> OLD.privacy THEN
        PERFORM neurigraph_private.follow_privacy(NEW);
    END IF;
    IF NEW.replaces IS DISTINCT FROM OLD.replaces THEN
        PERFORM neurigraph_private.note_forgotten_version(NEW);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER followed AFTER INSERT OR UPDATE OF last_message, privacy, replaces ON neurigraph.sources
FOR EACH ROW EXECUTE FUNCTION neurigraph.follow_source();

-- Callers limited to spaces read and write the sources of these spaces, except files. A trigger puts their new sources
-- into these spaces at once.
ALTER TABLE neurigraph.sources ALTER COLUMN binding SET DEFAULT neurigraph.asking_binding();

REVOKE ALL ON FUNCTION neurigraph.follow_source() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.sources TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY analyst_read ON neurigraph.sources FOR SELECT TO neurigraph_analyst USING (true);
CREATE POLICY own_rows ON neurigraph.sources TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY by_member ON neurigraph.sources TO neurigraph_agent
USING (member_id = (SELECT neurigraph.asking_member()))
WITH CHECK (
    member_id = (SELECT neurigraph.asking_member())
    AND user_id = (SELECT (neurigraph.claims() ->> 'user_id')::uuid)
);

CREATE POLICY true_member ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (member_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_member()));

-- The owner of a graph may hand in private sources, and a member of an organization private sources of the member's
-- own. Sources of other callers start as shared.
CREATE POLICY owner_decides ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (
    privacy = 'shared'
    OR user_id IN ((SELECT neurigraph.asking_user_id()), (SELECT neurigraph.bound_user_id()))
    OR member_id = (SELECT neurigraph.asking_member())
);

-- Callers see the sources of records that they see, but never the messages of these sources.
CREATE POLICY granted ON neurigraph.sources FOR SELECT TO neurigraph_agent
USING (
    EXISTS (
        SELECT FROM neurigraph.record_index AS r
        WHERE r.user_id = sources.user_id AND r.source_id = sources.source_id
    )
);

CREATE POLICY handed_in ON neurigraph.sources TO neurigraph_agent
USING (persona_id = (SELECT neurigraph.writing_persona()))
WITH CHECK (
    persona_id = (SELECT neurigraph.writing_persona()) AND kind <> 'upload'
    AND EXISTS (
        SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = sources.persona_id AND g.user_id = sources.user_id
    )
);

-- Private sources are hidden from every caller but the owner, whatever nodes are granted. The logs of records and files
-- are hidden with them, because their policies query the registries.
CREATE POLICY not_hidden ON neurigraph.sources AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_sources())
    OR source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
);

CREATE POLICY true_origin ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (
    key_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_key())
    AND persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND received_through IS NOT DISTINCT FROM (SELECT neurigraph.asking_door())
);

CREATE POLICY replaces_own ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (replaces IS NULL OR neurigraph.may_replace(replaces));

-- Only the pipeline names the export of a conversation, after it has read the export.
CREATE POLICY no_export ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (upload_id IS NULL);

CREATE POLICY bound ON neurigraph.sources TO neurigraph_agent
USING (
    user_id = (SELECT neurigraph.bound_user_id())
    AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
)
WITH CHECK (user_id = (SELECT neurigraph.bound_user_id()) AND kind <> 'upload');

CREATE POLICY true_binding ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (binding IS NOT DISTINCT FROM (SELECT neurigraph.asking_binding()));
