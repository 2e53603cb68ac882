-- The fields of a note's message besides its text: one row for each version of the note.
CREATE TABLE neurigraph.notes (
    source_id uuid NOT NULL,
    message integer NOT NULL,
    user_id uuid NOT NULL,
    -- Whether the writer chose the node. If the node is removed before the note is stored, the note has no node, waits
    -- for a person, and is filed nowhere else.
    pinned boolean NOT NULL,
    node_id uuid REFERENCES neurigraph.graph_index ON DELETE SET NULL,
    importance real CHECK (importance BETWEEN 0 AND 1),
    tags text [] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 32),
    -- The earlier note whose memory this note supersedes once it is stored. A version supersedes the version before.
    replaces uuid REFERENCES neurigraph.sources ON DELETE SET NULL,
    -- A digest of text, title, node and privacy, which recognises a repeated note.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    -- The fields besides its words of the fact that the note states; null for notes that state no fact.
    fact jsonb CHECK (jsonb_typeof(fact) = 'object'),
    -- The fact whose next version the note states.
    follows uuid REFERENCES neurigraph.facts ON DELETE SET NULL,
    PRIMARY KEY (source_id, message),
    FOREIGN KEY (source_id, message) REFERENCES neurigraph.messages (source_id, seq) ON DELETE CASCADE,
    FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources (source_id, user_id) ON DELETE CASCADE,
    CHECK (pinned OR node_id IS NULL),
    CHECK (replaces <> source_id)
);
CREATE INDEX notes_digest ON neurigraph.notes (user_id, digest);
CREATE INDEX notes_node_id ON neurigraph.notes (node_id) WHERE node_id IS NOT NULL;
CREATE INDEX notes_replaces ON neurigraph.notes (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX notes_follows ON neurigraph.notes (follows) WHERE follows IS NOT NULL;

ALTER TABLE neurigraph.notes ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON neurigraph.notes TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE ON neurigraph.notes TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the hold of a note that waits for an approval, and copies the spaces of the note or fact that the
-- new note follows.

-- Hold the note of a persona where writing needs an approval, and propose its action in the same statement; refuse the
-- note where only the owner writes. No statement of a caller gets around this trigger.
CREATE OR REPLACE FUNCTION neurigraph_private.hold_note(made neurigraph.notes) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    rule text;
BEGIN
    IF asking IS NULL OR asking ->> 'role' IN ('user', 'bound') THEN
        RETURN;
    END IF;
    SELECT s.value INTO rule FROM neurigraph_private.standard_of(
        coalesce(made.node_id, neurigraph_private.persona_of(asking))
    ) AS s
    WHERE s.field = 'write';
    IF rule = 'owner' THEN
        RAISE insufficient_privilege USING MESSAGE = 'only the owner writes to this node';
    ELSIF rule = 'approve' AND made.node_id IS NOT NULL THEN
        UPDATE neurigraph.sources AS s SET held = true WHERE s.source_id = made.source_id;
        PERFORM neurigraph.propose_action(jsonb_build_object(
            'user_id', made.user_id, 'kind', 'store', 'origin', 'policy', 'reason', 'standard', 'node_id', made.node_id,
            'source_id', made.source_id, 'message', made.message,
            'persona_id', neurigraph_private.persona_of(asking)
        ));
    END IF;
END
$$;

-- Trigger on notes: hold a note that waits for an approval. A note that replaces another note, or states the next
-- version of a fact, also gets the spaces of that note or fact.
CREATE OR REPLACE FUNCTION neurigraph.follow_note() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.hold_note(NEW);
    INSERT INTO neurigraph.source_spaces (source_id, space_id, user_id)
    SELECT NEW.source_id, b.space_id, NEW.user_id
    FROM neurigraph.source_spaces AS b
    WHERE b.user_id = NEW.user_id AND (
        b.source_id = NEW.replaces OR b.source_id = (
            SELECT i.source_id
            FROM neurigraph.facts AS f
            INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
            WHERE f.fact_id = NEW.follows
        )
    )
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER followed AFTER INSERT ON neurigraph.notes
FOR EACH ROW EXECUTE FUNCTION neurigraph.follow_note();

REVOKE ALL ON FUNCTION neurigraph.follow_note() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.notes TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.notes TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY by_member ON neurigraph.notes TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.sources_of_member()));

-- A note can only be pinned to a node that its writer may write to; for the writer no other node exists.
CREATE POLICY handed_in ON neurigraph.notes TO neurigraph_agent
USING (
    EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = notes.source_id AND s.persona_id = (SELECT neurigraph.writing_persona())
    )
);

CREATE POLICY pinned_where_writable ON neurigraph.notes AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (node_id IS NULL OR neurigraph.may_hand_in(node_id));

-- A note that states the next version of a fact needs the right to write to the fact's node.
CREATE POLICY follows_where_writable ON neurigraph.notes AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (
    follows IS NULL OR EXISTS (
        SELECT FROM neurigraph.facts AS f INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
        WHERE f.fact_id = notes.follows AND neurigraph.may_write_node(r.node_id)
    )
);

CREATE POLICY bound ON neurigraph.notes TO neurigraph_agent
USING (
    user_id = (SELECT neurigraph.bound_user_id())
    AND source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
);
