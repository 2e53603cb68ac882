-- Links between memories: each leads from a fact or a record to exactly one fact, record, node or source.
CREATE TABLE neurigraph.links (
    link_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The facts and records at both ends. A trigger sets the record of a fact, so a link is hidden with the records of
    -- its facts.
    from_fact_id uuid REFERENCES neurigraph.facts ON DELETE CASCADE,
    from_record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    to_fact_id uuid REFERENCES neurigraph.facts ON DELETE CASCADE,
    to_record_id uuid REFERENCES neurigraph.record_index ON DELETE CASCADE,
    to_node_id uuid,
    to_source_id uuid REFERENCES neurigraph.sources ON DELETE CASCADE,
    from_id uuid NOT NULL GENERATED ALWAYS AS (coalesce(from_fact_id, from_record_id)) STORED,
    to_id uuid NOT NULL GENERATED ALWAYS AS (coalesce(to_fact_id, to_record_id, to_node_id, to_source_id)) STORED,
    -- A name of `relation_types`, or a relation of the user's own, which has no properties.
    relation text NOT NULL CHECK (relation ~ '^[a-z][a-z0-9_]{0,59}$'),
    strength real NOT NULL CHECK (strength BETWEEN 0 AND 1),
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    -- Whether the link reads the same from both ends; a trigger sets the column for symmetric relations.
    bidirectional boolean NOT NULL DEFAULT false,
    -- When the relation holds in the world; an end that nobody stated is unbounded.
    valid tstzrange NOT NULL DEFAULT '(,)' CHECK (NOT isempty(valid)),
    -- The author of the link: user:ID, persona:ID, peer:NAME, or the rule or model that inferred it. Authors are text,
    -- because signatures cover the bytes, and a link outlives the personas and models that it names.
    observed_by text NOT NULL CHECK (observed_by ~ '^[^[:cntrl:]]{1,200}$'),
    detected_by neurigraph.detector NOT NULL,
    reason text CHECK (char_length(reason) BETWEEN 1 AND 500),
    -- The first messages of the from end's record that show the link, by number.
    messages integer [] NOT NULL DEFAULT '{}' CHECK (cardinality(messages) <= 32),
    verdict neurigraph.link_verdict NOT NULL DEFAULT 'unverified',
    verdict_by text,
    verdict_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Ending a link is an assertion with an author of its own, and sets the end of `valid`.
    ended_by text,
    ended_at timestamptz,
    key_id uuid REFERENCES neurigraph.signing_keys,
    signature bytea CHECK (octet_length(signature) = 64),
    end_key_id uuid REFERENCES neurigraph.signing_keys,
    end_signature bytea CHECK (octet_length(end_signature) = 64),
    CHECK (num_nonnulls(to_record_id, to_node_id, to_source_id) = 1),
    CHECK (to_fact_id IS NULL OR to_record_id IS NOT NULL),
    CHECK (from_id <> to_id),
    -- Versions of facts are the supersession, and led_to is caused_by from the other end: neither relation is stored.
    CHECK (relation NOT IN ('supersedes', 'led_to')),
    CHECK ((verdict = 'unverified') = (verdict_by IS NULL) AND (verdict_by IS NULL) = (verdict_at IS NULL)),
    CHECK ((ended_by IS NULL) = (ended_at IS NULL)),
    CHECK (ended_by IS NULL OR NOT upper_inf(valid)),
    CHECK ((key_id IS NULL) = (signature IS NULL)),
    CHECK ((end_key_id IS NULL) = (end_signature IS NULL)),
    CHECK (end_signature IS NULL OR ended_by IS NOT NULL),
    FOREIGN KEY (to_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
-- One observer has at most one link of a relation between two ends that is not ended.
CREATE UNIQUE INDEX links_said_once ON neurigraph.links (
    user_id, relation, observed_by,
    (CASE WHEN bidirectional THEN least(from_id, to_id) ELSE from_id END),
    (CASE WHEN bidirectional THEN greatest(from_id, to_id) ELSE to_id END)
)
WHERE ended_at IS NULL;
-- A walk reads the strongest links of an end.
CREATE INDEX links_from_id ON neurigraph.links (from_id, strength DESC);
CREATE INDEX links_to_id ON neurigraph.links (to_id, strength DESC);
CREATE INDEX links_from_record_id ON neurigraph.links (from_record_id);
CREATE INDEX links_to_record_id ON neurigraph.links (to_record_id) WHERE to_record_id IS NOT NULL;
CREATE INDEX links_key_id ON neurigraph.links (key_id) WHERE key_id IS NOT NULL;
CREATE INDEX links_end_key_id ON neurigraph.links (end_key_id) WHERE end_key_id IS NOT NULL;
-- Links that lead from or to a memory itself, and facts with a version before: a walk looks for these few rows at each
-- fact.
CREATE INDEX links_from_records ON neurigraph.links (from_record_id) WHERE from_fact_id IS NULL;
CREATE INDEX links_to_records ON neurigraph.links (to_record_id)
WHERE to_fact_id IS NULL AND to_record_id IS NOT NULL;

ALTER TABLE neurigraph.links ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.links TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.links TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the records of the link's ends, and the refusal of cycles and of causes after their effects.

-- Trigger on links: set the records of facts, check that both ends are in one graph, and apply the rules of the
-- relation.
CREATE OR REPLACE FUNCTION neurigraph.place_link() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kind neurigraph.relation_types;
BEGIN
    SELECT t.* INTO kind FROM neurigraph.relation_types AS t WHERE t.name = NEW.relation AND t.scope <> 'edge';
    NEW.bidirectional := NEW.bidirectional OR coalesce(kind.is_symmetric, false);
    IF NEW.from_fact_id IS NOT NULL THEN
        SELECT f.record_id INTO NEW.from_record_id FROM neurigraph.facts AS f WHERE f.fact_id = NEW.from_fact_id;
    END IF;
    IF NEW.to_fact_id IS NOT NULL THEN
        SELECT f.record_id INTO NEW.to_record_id FROM neurigraph.facts AS f WHERE f.fact_id = NEW.to_fact_id;
    END IF;
    IF NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r WHERE r.record_id = NEW.from_record_id AND r.user_id = NEW.user_id
    ) OR NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r WHERE r.record_id = NEW.to_record_id AND r.user_id = NEW.user_id
        UNION ALL
        SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = NEW.to_node_id AND g.user_id = NEW.user_id
        UNION ALL
        SELECT FROM neurigraph.sources AS s WHERE s.source_id = NEW.to_source_id AND s.user_id = NEW.user_id
    ) THEN
        RAISE foreign_key_violation USING MESSAGE = 'an end of the link is not there';
    END IF;
    IF NEW.verdict = 'rejected' OR NEW.ended_at IS NOT NULL THEN
        RETURN NEW;
    END IF;
    IF NEW.relation = 'caused_by' AND neurigraph_private.begins_after(NEW.to_fact_id, NEW.from_fact_id) THEN
        RAISE check_violation USING MESSAGE = 'a cause does not begin after its effect';
    END IF;
    IF kind.is_acyclic THEN
        -- Two concurrent links could close a cycle that neither of them sees.
        PERFORM pg_advisory_xact_lock(hashtextextended('neurigraph.links:' || NEW.user_id, 0));
        IF neurigraph_private.leads_back(
            NEW.user_id, NEW.relation,
            coalesce(NEW.to_fact_id, NEW.to_record_id, NEW.to_node_id, NEW.to_source_id),
            coalesce(NEW.from_fact_id, NEW.from_record_id)
        ) THEN
            RAISE check_violation USING MESSAGE = format('the link would close a cycle of %s', NEW.relation);
        END IF;
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER placed BEFORE INSERT OR UPDATE ON neurigraph.links
FOR EACH ROW EXECUTE FUNCTION neurigraph.place_link();

REVOKE ALL ON FUNCTION neurigraph.place_link() FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.links TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.links TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

-- A link is visible with both its ends: facts that are not forgotten, records, nodes and sources. A key is visible with
-- the links that it signed. The owner also sees links to facts that are about to be forgotten.
CREATE POLICY granted ON neurigraph.links FOR SELECT TO neurigraph_agent
USING (
    EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = links.from_record_id)
    AND (from_fact_id IS NULL OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = links.from_fact_id))
    AND (to_fact_id IS NULL OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = links.to_fact_id))
    AND (to_node_id IS NULL OR to_node_id IN (SELECT neurigraph.readable_nodes()))
    AND (to_source_id IS NULL OR EXISTS (SELECT FROM neurigraph.sources AS s WHERE s.source_id = links.to_source_id))
    AND (
        to_record_id IS NULL
        OR EXISTS (SELECT FROM neurigraph.record_index AS o WHERE o.record_id = links.to_record_id)
    )
);

CREATE POLICY not_hidden ON neurigraph.links AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (
        (SELECT neurigraph.sees_all_records())
        OR (
            from_record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
            AND (to_record_id IS NULL OR to_record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r))
        )
    )
    AND (to_node_id IS NULL OR EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = links.to_node_id))
);
