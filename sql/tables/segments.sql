-- The search segments of records: the data of their messages for searches, in the form of text/search_segments.py, made
-- once by the step that embeds. A segment goes with its record, and moves with it from node to node.
CREATE TABLE neurigraph.segments (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    node_id uuid NOT NULL,
    -- How many messages, or parts of long ones, the segment has.
    passages integer NOT NULL CHECK (passages > 0),
    -- How many keys of words are at the beginning of the content, eight bytes each after a header of 16 bytes.
    words integer NOT NULL CHECK (words >= 0),
    -- The names of the speakers in lower case, and the stemmers of other languages than the installation's, each once.
    speakers text [] NOT NULL DEFAULT '{}',
    languages text [] NOT NULL DEFAULT '{}',
    -- All but the vectors.
    content bytea NOT NULL,
    -- The vectors of the passages, all of the same size, and their embedding model; null while they are pending.
    vectors bytea,
    model text,
    -- The vectors of the model that the user is moving to.
    next_vectors bytea,
    next_model text,
    -- Whether statistics count the segment: not in quarantine.
    is_counted boolean NOT NULL DEFAULT true,
    CHECK ((vectors IS NULL) = (model IS NULL)),
    CHECK ((next_vectors IS NULL) = (next_model IS NULL)),
    FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX segments_node_id ON neurigraph.segments (node_id);
CREATE INDEX segments_user_id ON neurigraph.segments (user_id);
-- Compression would take time and hardly make the numbers smaller, and queries read parts of a value.
ALTER TABLE neurigraph.segments
ALTER COLUMN content SET STORAGE EXTERNAL, ALTER COLUMN vectors SET STORAGE EXTERNAL,
ALTER COLUMN next_vectors SET STORAGE EXTERNAL;

ALTER TABLE neurigraph.segments ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.segments TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.segments TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the statistics of the node, and new versions of cached nodes and answers.

-- Trigger on segments, once a statement: statistics of nodes follow segments, and caches read the record of a changed
-- segment again. A new record is listed for caches by its node's table.
CREATE OR REPLACE FUNCTION neurigraph.follow_segments() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place record;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO neurigraph.node_statistics AS s (node_id, user_id, passages, speakers, languages)
        SELECT
            n.node_id, n.user_id, sum(n.passages),
            ARRAY(
                SELECT DISTINCT w.word FROM added_rows AS a CROSS JOIN unnest(a.speakers) AS w (word)
                WHERE a.node_id = n.node_id AND a.is_counted
            ),
            ARRAY(
                SELECT DISTINCT w.word FROM added_rows AS a CROSS JOIN unnest(a.languages) AS w (word)
                WHERE a.node_id = n.node_id AND a.is_counted
            )
        FROM added_rows AS n
        WHERE n.is_counted
        GROUP BY n.node_id, n.user_id
        ORDER BY n.node_id
        ON CONFLICT (node_id) DO UPDATE SET
            passages = s.passages + excluded.passages,
            speakers = CASE WHEN s.speakers @> excluded.speakers THEN s.speakers
                ELSE ARRAY(SELECT unnest(s.speakers) UNION SELECT unnest(excluded.speakers)) END,
            languages = CASE WHEN s.languages @> excluded.languages THEN s.languages
                ELSE ARRAY(SELECT unnest(s.languages) UNION SELECT unnest(excluded.languages)) END;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM neurigraph_private.count_segments(ARRAY(SELECT DISTINCT o.node_id FROM removed_rows AS o));
    ELSE
        PERFORM neurigraph_private.count_segments(ARRAY(
            SELECT c.node_id FROM (
                SELECT o.record_id, o.node_id, o.passages, o.speakers, o.languages FROM removed_rows AS o WHERE o.is_counted
                EXCEPT
                SELECT n.record_id, n.node_id, n.passages, n.speakers, n.languages FROM added_rows AS n WHERE n.is_counted
            ) AS c
            UNION
            SELECT c.node_id FROM (
                SELECT n.record_id, n.node_id, n.passages, n.speakers, n.languages FROM added_rows AS n WHERE n.is_counted
                EXCEPT
                SELECT o.record_id, o.node_id, o.passages, o.speakers, o.languages FROM removed_rows AS o WHERE o.is_counted
            ) AS c
        ));
        FOR place IN
            SELECT n.node_id, n.user_id, array_agg(n.record_id) AS records FROM added_rows AS n
            GROUP BY n.node_id, n.user_id
        LOOP
            PERFORM neurigraph_private.note_record_changes(place.node_id, place.user_id, place.records);
            PERFORM neurigraph_private.note_node_change(place.node_id, place.user_id, false);
        END LOOP;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER followed_added AFTER INSERT ON neurigraph.segments
REFERENCING NEW TABLE AS added_rows FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.follow_segments();

CREATE OR REPLACE TRIGGER followed_removed AFTER DELETE ON neurigraph.segments
REFERENCING OLD TABLE AS removed_rows FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.follow_segments();

CREATE OR REPLACE TRIGGER followed_changed AFTER UPDATE ON neurigraph.segments
REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.follow_segments();

REVOKE ALL ON FUNCTION neurigraph.follow_segments() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.segments TO neurigraph_pipeline USING (true) WITH CHECK (true);
-- A segment is seen with its record.
CREATE POLICY of_record ON neurigraph.segments FOR SELECT TO neurigraph_agent
USING (record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r));
