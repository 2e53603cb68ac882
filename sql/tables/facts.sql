-- Facts of all nodes, in one table: a fact is deleted, hidden and moved with its record.
CREATE TABLE neurigraph.facts (
    -- Derived from the record and the statement, so that a statement keeps its id when the record is read again.
    fact_id uuid PRIMARY KEY,
    record_id uuid NOT NULL REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    -- The order of facts within the record.
    seq integer NOT NULL CHECK (seq > 0),
    first_message integer NOT NULL CHECK (first_message > 0),
    last_message integer NOT NULL,
    -- The speaker of the statement.
    author text,
    statement text NOT NULL CHECK (char_length(statement) BETWEEN 1 AND 1000),
    kind neurigraph.fact_kind NOT NULL,
    stated_as neurigraph.fact_stated_as NOT NULL,
    -- The people that the fact is about; then the place, the reason and the manner.
    who text [] NOT NULL DEFAULT '{}' CHECK (cardinality(who) <= 20),
    where_context text,
    why text,
    how text,
    -- The statement as subject, predicate and object, if it has that form.
    subject text,
    predicate text,
    object text,
    -- When the event of the fact happened or will happen. The length of the range is its precision.
    occurred tstzrange CHECK (NOT isempty(occurred)),
    expires_at timestamptz,
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    importance real NOT NULL CHECK (importance BETWEEN 0 AND 1),
    impact neurigraph.fact_impact NOT NULL,
    -- The language model that read the record.
    extractor text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    -- The first version of the chain. The next version that stands supersedes the version before; the supersession is
    -- not stored separately.
    root_id uuid NOT NULL,
    version integer NOT NULL DEFAULT 1 CHECK (version > 0),
    -- The decisions of people and of later verdicts about the fact. A retracted fact is archived.
    status neurigraph.fact_status NOT NULL DEFAULT 'active',
    confirmed_at timestamptz,
    -- When the fact stopped being true, if somebody said so.
    valid_until timestamptz,
    pinned boolean NOT NULL DEFAULT false,
    tags text [] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 32),
    metadata jsonb NOT NULL DEFAULT '{}',
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- The fact is hidden from this time on, and erased 30 days later. The sweep stores when and why it hid the fact.
    forget_after timestamptz,
    forgotten_at timestamptz,
    forget_reason text,
    -- Facts with the same key say the same. text/statement_key.py computes the key, as it does for messages.
    statement_key bigint NOT NULL,
    CHECK (last_message >= first_message),
    CHECK ((subject IS NULL) = (predicate IS NULL) AND (predicate IS NULL) = (object IS NULL)),
    CONSTRAINT facts_first_is_root CHECK ((version = 1) = (root_id = fact_id)),
    -- Deferred, because the versions after a deleted version move up together.
    CONSTRAINT facts_one_of_a_version UNIQUE (root_id, version)
        DEFERRABLE INITIALLY DEFERRED,
    UNIQUE (record_id, seq)
        DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT facts_forgotten_for_a_reason
        CHECK ((forgotten_at IS NULL) = (forget_reason IS NULL) AND forget_reason <> ''),
    -- Metadata has no nested values, and at most 16 KiB.
    CONSTRAINT facts_flat_metadata CHECK (
        jsonb_typeof(metadata) = 'object' AND octet_length(metadata::text) <= 16384
        AND NOT jsonb_path_exists(metadata, 'strict $.* ? (@.type() == "object" || @.type() == "array")')
    )
);
CREATE INDEX facts_recorded_at ON neurigraph.facts (user_id, recorded_at, fact_id);
CREATE INDEX facts_who ON neurigraph.facts USING gin (who);
CREATE INDEX facts_tags ON neurigraph.facts USING gin (tags);
CREATE INDEX facts_to_forget ON neurigraph.facts (forget_after) WHERE forget_after IS NOT NULL;
-- Facts by the first word of their subject, which also finds facts of other people with the same first name.
CREATE INDEX facts_subject ON neurigraph.facts (user_id, neurigraph.first_word(subject))
WHERE subject IS NOT NULL;
CREATE INDEX facts_by_statement_key ON neurigraph.facts (user_id, statement_key);
CREATE INDEX facts_with_versions ON neurigraph.facts (root_id) WHERE version > 1;

ALTER TABLE neurigraph.facts ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.facts TO neurigraph_agent;
GRANT SELECT, INSERT, UPDATE, DELETE ON neurigraph.facts TO neurigraph_pipeline;
GRANT SELECT (
    fact_id, record_id, user_id, kind, stated_as, confidence, importance, impact, recorded_at, root_id, version,
    status
) ON neurigraph.facts TO neurigraph_analyst;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off the root and gapless versions of its chain, the log of its changes, the rejection of impossible
-- causes, waiting for verdicts, a new version of cached answers, and webhooks.

-- Facts change answers but not the layers of nodes, so this trigger changes the user's version and no node's version.
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

-- Trigger on facts, at the end of the transaction: refuse a version without the version before it, of the same user.
CREATE OR REPLACE FUNCTION neurigraph.require_version_before() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM neurigraph.facts AS f
        WHERE f.fact_id = NEW.fact_id AND f.version > 1 AND NOT EXISTS (
            SELECT FROM neurigraph.facts AS b
            WHERE b.root_id = f.root_id AND b.version = f.version - 1 AND b.user_id = f.user_id
        )
    ) THEN
        RAISE check_violation USING MESSAGE = format('the fact %s follows no version before it', NEW.fact_id);
    END IF;
    RETURN NULL;
END
$$;

DROP TRIGGER IF EXISTS gapless ON neurigraph.facts;

CREATE CONSTRAINT TRIGGER gapless AFTER INSERT OR UPDATE OF root_id, version ON neurigraph.facts
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.version > 1)
EXECUTE FUNCTION neurigraph.require_version_before();

-- Write a delta with the changed values of a fact; return false if no value changes. As for records, the author is a
-- parameter of the transaction, and no change is possible without it.
CREATE OR REPLACE FUNCTION neurigraph_private.log_fact_change(
    old_row neurigraph.facts, new_row neurigraph.facts
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before jsonb;
    after jsonb;
BEGIN
    SELECT jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value) INTO before, after
    FROM jsonb_each(neurigraph_private.changeable_fields(old_row)) AS o
    INNER JOIN jsonb_each(neurigraph_private.changeable_fields(new_row)) AS n ON o.key = n.key AND o.value <> n.value;
    IF before IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO neurigraph.fact_deltas (
        fact_id, w_coordinate, user_id, operation, old_values, new_values, authored_by, key_id
    )
    SELECT
        new_row.fact_id,
        greatest(clock_timestamp(), max(d.w_coordinate) + interval '1 microsecond'),
        new_row.user_id,
        CASE
            WHEN new_row.forgotten_at IS DISTINCT FROM old_row.forgotten_at
                THEN CASE WHEN new_row.forgotten_at IS NULL THEN 'restore' ELSE 'forget' END
            WHEN new_row.status <> old_row.status AND new_row.status = 'archived' THEN 'retract'
            WHEN new_row.confirmed_at IS DISTINCT FROM old_row.confirmed_at THEN 'confirm'
            WHEN new_row.status <> old_row.status THEN 'restore'
            ELSE 'change'
        END,
        before,
        after,
        nullif(current_setting('neurigraph.author', true), ''),
        nullif(current_setting('neurigraph.author_key', true), '')::uuid
    FROM neurigraph.fact_deltas AS d WHERE d.fact_id = new_row.fact_id;
    RETURN true;
END
$$;

-- Trigger on facts, before a change: log the change, and place the fact in its chain. A fact that follows no other fact
-- begins a chain. A note that states the next version of a deleted fact follows the nearest version before that fact,
-- or else after it.
CREATE OR REPLACE FUNCTION neurigraph.guard_fact() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.root_id := coalesce(NEW.root_id, NEW.fact_id);
        RETURN NEW;
    ELSIF TG_OP = 'UPDATE' THEN
        IF neurigraph_private.log_fact_change(OLD, NEW) THEN
            NEW.updated_at := now();
        END IF;
        RETURN NEW;
    END IF;
    UPDATE neurigraph.notes AS n SET follows = (
        SELECT f.fact_id FROM neurigraph.facts AS f
        WHERE f.root_id = OLD.root_id AND f.fact_id <> OLD.fact_id
        ORDER BY f.version > OLD.version, abs(f.version - OLD.version)
        LIMIT 1
    )
    WHERE n.follows = OLD.fact_id;
    RETURN OLD;
END
$$;

CREATE OR REPLACE TRIGGER rooted BEFORE INSERT ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_fact();

CREATE OR REPLACE TRIGGER logged BEFORE UPDATE ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_fact();

CREATE OR REPLACE TRIGGER followed BEFORE DELETE ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.guard_fact();

-- Let records with facts wait until these are compared with the known ones.
CREATE OR REPLACE FUNCTION neurigraph_private.wait_for_verdicts(records uuid []) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO neurigraph.pending_verdicts (record_id, user_id)
    SELECT i.record_id, i.user_id FROM neurigraph.record_index AS i WHERE i.record_id = ANY(records)
    ORDER BY i.record_id
    ON CONFLICT (record_id) DO UPDATE SET next_attempt_at = now(), attempts = 0;
END
$$;

-- Trigger on facts, after a change. New facts, and facts that stand again, wait for verdicts. Links of cause and effect
-- no longer stand if new times contradict them. When versions are deleted, later versions move up, and the first
-- remaining version is the root.
CREATE OR REPLACE FUNCTION neurigraph.follow_fact() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM neurigraph_private.wait_for_verdicts(ARRAY(SELECT n.record_id FROM added_rows AS n));
    ELSIF TG_OP = 'DELETE' THEN
        UPDATE neurigraph.facts AS f SET root_id = n.first_id, version = n.number
        FROM (
            SELECT
                r.fact_id,
                first_value(r.fact_id) OVER chain AS first_id,
                row_number() OVER chain AS number
            FROM neurigraph.facts AS r
            WHERE r.root_id IN (SELECT g.root_id FROM removed_rows AS g)
            WINDOW chain AS (PARTITION BY r.root_id ORDER BY r.version)
        ) AS n
        WHERE f.fact_id = n.fact_id AND (f.root_id, f.version) IS DISTINCT FROM (n.first_id, n.number);
    ELSIF NEW.occurred IS DISTINCT FROM OLD.occurred THEN
        UPDATE neurigraph.links AS l SET verdict = 'rejected', verdict_by = 'pipeline:times', verdict_at = now()
        WHERE NEW.fact_id IN (l.from_id, l.to_id) AND l.relation = 'caused_by' AND l.verdict <> 'rejected'
            AND l.ended_at IS NULL AND neurigraph_private.begins_after(l.to_fact_id, l.from_fact_id);
    END IF;
    IF TG_OP = 'UPDATE' AND (
        (OLD.status = 'archived' AND NEW.status <> 'archived')
        OR (OLD.forgotten_at IS NOT NULL AND NEW.forgotten_at IS NULL)
    ) THEN
        PERFORM neurigraph_private.wait_for_verdicts(ARRAY[NEW.record_id]);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER followed_new AFTER INSERT ON neurigraph.facts
REFERENCING NEW TABLE AS added_rows FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.follow_fact();

CREATE OR REPLACE TRIGGER followed_changed AFTER UPDATE OF occurred, status, forgotten_at ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.follow_fact();

CREATE OR REPLACE TRIGGER followed_gone AFTER DELETE ON neurigraph.facts
REFERENCING OLD TABLE AS removed_rows FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.follow_fact();

-- Raise the event of a fact that is stated or deleted.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_fact(
    operation text, old_row neurigraph.facts, new_row neurigraph.facts
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before neurigraph.facts;
BEGIN
    IF operation = 'DELETE' THEN
        PERFORM neurigraph_private.raise_fact_event(
            'removed', old_row.fact_id, old_row.record_id, neurigraph_private.current_author()
        );
        RETURN;
    END IF;
    PERFORM neurigraph_private.raise_fact_event(
        'stated', new_row.fact_id, new_row.record_id, neurigraph_private.sender_of(new_row.record_id)
    );
    IF new_row.version > 1 THEN
        SELECT f.* INTO before FROM neurigraph.facts AS f
        WHERE f.root_id = new_row.root_id AND f.version = new_row.version - 1;
        IF NOT neurigraph.is_withheld(new_row.record_id, NULL) THEN
            PERFORM neurigraph_private.raise_fact_event(
                'superseded', before.fact_id, before.record_id, neurigraph_private.sender_of(new_row.record_id), new_row.fact_id
            );
        END IF;
    END IF;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT OR DELETE ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_event();

REVOKE ALL ON FUNCTION neurigraph.guard_fact(), neurigraph.require_version_before(), neurigraph.follow_fact()
FROM PUBLIC;

CREATE POLICY pipeline_all ON neurigraph.facts TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY analyst_read ON neurigraph.facts FOR SELECT TO neurigraph_analyst USING (true);

-- Where something is hidden from the owner, such as records in quarantine, their facts are, too, because queries of
-- versions, restatements and counts read facts alone. A second policy for it makes each plan that reads facts longer.
CREATE POLICY own_rows ON neurigraph.facts TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()) AND (SELECT neurigraph.sees_all_records()));

-- Facts are visible with their records until their time to be forgotten has come. From then on only the owner sees
-- them, and can keep them until they are erased.
CREATE POLICY granted ON neurigraph.facts FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = facts.record_id));

CREATE POLICY not_forgotten ON neurigraph.facts AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (forgotten_at IS NULL AND (forget_after IS NULL OR forget_after > now()))
    OR user_id = (SELECT neurigraph.asking_user_id())
);
