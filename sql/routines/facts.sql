-- Facts: their versions and the log of their changes.

-- Trigger on facts: a fact that follows no other is the first of its own chain.
CREATE OR REPLACE FUNCTION neurigraph.root_fact() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.root_id := coalesce(NEW.root_id, NEW.fact_id);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER rooted BEFORE INSERT ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.root_fact();

-- Trigger on facts, at the end of the transaction: no version without the one before it, of the same user.
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

-- Facts of records in quarantine are hidden from the owner, too: their versions, restatements and counts are over facts
-- alone.
DROP POLICY IF EXISTS not_hidden ON neurigraph.facts;
CREATE POLICY not_hidden ON neurigraph.facts AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = facts.record_id)
);

-- Trigger on facts: a version that waits to be stored follows the one before, or else the one after, the version that
-- goes.
CREATE OR REPLACE FUNCTION neurigraph.follow_what_is_left() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
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

CREATE OR REPLACE TRIGGER followed BEFORE DELETE ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.follow_what_is_left();

-- Trigger on facts: when versions go, those after them move up, and the first that is left is the root.
CREATE OR REPLACE FUNCTION neurigraph.close_ranks() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE neurigraph.facts AS f SET root_id = n.first_id, version = n.number
    FROM (
        SELECT
            r.fact_id,
            first_value(r.fact_id) OVER chain AS first_id,
            row_number() OVER chain AS number
        FROM neurigraph.facts AS r
        WHERE r.root_id IN (SELECT g.root_id FROM gone AS g)
        WINDOW chain AS (PARTITION BY r.root_id ORDER BY r.version)
    ) AS n
    WHERE f.fact_id = n.fact_id AND (f.root_id, f.version) IS DISTINCT FROM (n.first_id, n.number);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER closed_ranks AFTER DELETE ON neurigraph.facts
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION neurigraph.close_ranks();

-- What can change of a fact after it was read or stated.
CREATE OR REPLACE FUNCTION neurigraph_private.evolving(fact neurigraph.facts) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object(
        'status', fact.status, 'confirmed_at', fact.confirmed_at, 'valid_until', fact.valid_until,
        'pinned', fact.pinned, 'tags', fact.tags, 'metadata', fact.metadata, 'forget_after', fact.forget_after,
        'forgotten_at', fact.forgotten_at, 'forget_reason', fact.forget_reason
    )
$$;

-- Trigger on facts: write a delta with the values that change. As for records, the author is a parameter of the
-- transaction, and no change is possible without it.
CREATE OR REPLACE FUNCTION neurigraph.log_fact_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before jsonb;
    after jsonb;
BEGIN
    SELECT jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value) INTO before, after
    FROM jsonb_each(neurigraph_private.evolving(OLD)) AS o
    INNER JOIN jsonb_each(neurigraph_private.evolving(NEW)) AS n ON o.key = n.key AND o.value <> n.value;
    IF before IS NULL THEN
        RETURN NEW;
    END IF;
    INSERT INTO neurigraph.fact_deltas (
        fact_id, w_coordinate, user_id, operation, old_values, new_values, authored_by, key_id
    )
    SELECT
        NEW.fact_id,
        greatest(clock_timestamp(), max(d.w_coordinate) + interval '1 microsecond'),
        NEW.user_id,
        CASE
            WHEN NEW.forgotten_at IS DISTINCT FROM OLD.forgotten_at
                THEN CASE WHEN NEW.forgotten_at IS NULL THEN 'restore' ELSE 'forget' END
            WHEN NEW.status <> OLD.status AND NEW.status = 'archived' THEN 'retract'
            WHEN NEW.confirmed_at IS DISTINCT FROM OLD.confirmed_at THEN 'confirm'
            WHEN NEW.status <> OLD.status THEN 'restore'
            ELSE 'change'
        END,
        before,
        after,
        nullif(current_setting('neurigraph.author', true), ''),
        nullif(current_setting('neurigraph.author_key', true), '')::uuid
    FROM neurigraph.fact_deltas AS d WHERE d.fact_id = NEW.fact_id;
    NEW.updated_at := now();
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER logged BEFORE UPDATE ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.log_fact_change();

REVOKE ALL ON FUNCTION neurigraph.root_fact(), neurigraph.require_version_before(), neurigraph.close_ranks(),
neurigraph.follow_what_is_left(), neurigraph.log_fact_change(),
neurigraph_private.evolving(neurigraph.facts) FROM PUBLIC;
