-- Webhooks: the outbox. Triggers write an event and its deliveries in the transaction of the change, for webhooks that
-- want it, and only about what is neither private nor in quarantine.

-- Whether a source (kind:uuid) is there and not private.
CREATE OR REPLACE FUNCTION neurigraph_private.is_shared(source text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = split_part(source, ':', 2)::uuid AND s.privacy = 'shared'
    )
$$;

-- Whether a record or a node may not be named to a receiver, who is a third party to the graph: it is private or in
-- quarantine. What does not exist is not withheld.
CREATE OR REPLACE FUNCTION neurigraph.is_withheld(record uuid, node uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.record_index AS i
        WHERE i.record_id = record AND (i.quarantined OR NOT neurigraph_private.is_shared(i.source))
    ) OR EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = node AND g.quarantined)
$$;

-- The records and nodes in quarantine of the graph whose owner asks; their events are hidden with them.
CREATE OR REPLACE FUNCTION neurigraph.quarantined_ids() RETURNS uuid []
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(
        SELECT i.record_id FROM neurigraph.record_index AS i
        WHERE i.user_id = c.asking AND i.quarantined
        UNION ALL
        SELECT g.node_id FROM neurigraph.graph_index AS g
        WHERE g.user_id = c.asking AND g.quarantined
    )
    FROM (SELECT neurigraph.asking_user_id() AS asking OFFSET 0) AS c
$$;

-- Whether the path of a node, from the root down, matches a pattern with *, or lies below one that does. The pattern
-- may leave the root out; case does not count.
CREATE OR REPLACE FUNCTION neurigraph_private.path_matches(names text [], glob text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(bool_or(
        lower(t.path) LIKE p.pattern OR lower(t.path) LIKE p.pattern || '/%'
    ), false)
    FROM (
        SELECT replace(
            replace(replace(replace(lower(glob), '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'
        ) AS pattern
    ) AS p
    CROSS JOIN (VALUES (array_to_string(names, '/')), (array_to_string(names[2:], '/'))) AS t (path)
$$;

-- Who did something, without the words that may follow, such as the name of a model.
CREATE OR REPLACE FUNCTION neurigraph_private.plain_author(author text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN author ~ '^(user|persona|quarantine):[0-9a-f-]{36}$' THEN author
        WHEN author ~ '^(user|persona|quarantine|pipeline|job)(:|$)' THEN split_part(author, ':', 1)
    END
$$;

-- Write an event and its deliveries, if a webhook of its user wants it.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_event(happened neurigraph.webhook_events) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names text [];
    wanted uuid [];
BEGIN
    IF NOT EXISTS (
        SELECT FROM neurigraph.webhooks AS w WHERE w.user_id = happened.user_id AND w.state = 'active'
    ) OR neurigraph.is_withheld(happened.record_id, happened.node_id) THEN
        RETURN;
    END IF;
    happened.author := neurigraph_private.plain_author(happened.author);
    names := (
        SELECT array_agg(a.node_name ORDER BY a.layer_depth)
        FROM neurigraph.graph_index AS g INNER JOIN neurigraph.graph_index AS a ON a.node_id = ANY(g.path)
        WHERE g.node_id = happened.node_id
    );
    wanted := ARRAY(
        SELECT w.webhook_id FROM neurigraph.webhooks AS w
        WHERE w.user_id = happened.user_id AND w.state = 'active'
            AND EXISTS (SELECT FROM unnest(w.events) AS e (name) WHERE happened.event LIKE replace(e.name, '*', '%'))
            AND (w.author IS NULL OR w.author = happened.author)
            AND (w.path_glob IS NULL OR neurigraph_private.path_matches(names, w.path_glob))
    );
    IF wanted = '{}' THEN
        RETURN;
    END IF;
    happened.event_id := gen_random_uuid();
    happened.occurred_at := clock_timestamp();
    INSERT INTO neurigraph.webhook_events SELECT happened.*;
    INSERT INTO neurigraph.webhook_deliveries (event_id, webhook_id, user_id)
    SELECT happened.event_id, w.webhook_id, happened.user_id FROM unnest(wanted) AS w (webhook_id);
END
$$;

-- The author of the changes of this transaction, if one is known.
CREATE OR REPLACE FUNCTION neurigraph_private.current_author() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT nullif(current_setting('neurigraph.author', true), '')
$$;

-- Who sent the source of a record.
CREATE OR REPLACE FUNCTION neurigraph_private.sender_of(record uuid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce('persona:' || s.persona_id, 'user:' || s.user_id)
    FROM neurigraph.record_index AS i
    INNER JOIN neurigraph.sources AS s ON s.source_id = split_part(i.source, ':', 2)::uuid
    WHERE i.record_id = record
$$;

-- Trigger on the log of records. Vectors, tiers and the archive are the installation's own business.
CREATE OR REPLACE FUNCTION neurigraph.raise_record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    happened.event := 'record.' || CASE NEW.delta_payload ->> 'operation'
        WHEN 'create' THEN 'stored' WHEN 'revise' THEN 'revised' WHEN 'supersede' THEN 'superseded'
        WHEN 'restore' THEN 'restored' WHEN 'move' THEN 'moved'
    END;
    IF happened.event IS NULL THEN
        RETURN NULL;
    END IF;
    happened.user_id := NEW.user_id;
    happened.record_id := NEW.record_id;
    happened.node_id := (SELECT i.node_id FROM neurigraph.record_index AS i WHERE i.record_id = NEW.record_id);
    happened.author := NEW.authored_by;
    IF happened.event = 'record.stored' THEN
        happened.author := neurigraph_private.sender_of(NEW.record_id);
    ELSIF happened.event = 'record.superseded' THEN
        happened.other_id := (
            SELECT i.record_id FROM neurigraph.record_index AS i
            WHERE i.record_id::text = NEW.delta_payload -> 'after' ->> 'superseded_by'
                AND NOT neurigraph.is_withheld(i.record_id, i.node_id)
        );
    END IF;
    PERFORM neurigraph_private.raise_event(happened);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT ON neurigraph.delta_log
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_record_change();

-- Trigger on the registry of records: one is gone. The records of a node that goes are named with the node, because
-- its path is not known any more here.
CREATE OR REPLACE FUNCTION neurigraph.raise_record_gone() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    IF OLD.quarantined OR NOT neurigraph_private.is_shared(OLD.source)
        OR NOT EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = OLD.node_id)
    THEN
        RETURN NULL;
    END IF;
    happened.event := 'record.forgotten';
    happened.user_id := OLD.user_id;
    happened.record_id := OLD.record_id;
    happened.node_id := OLD.node_id;
    happened.author := neurigraph_private.current_author();
    PERFORM neurigraph_private.raise_event(happened);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER DELETE ON neurigraph.record_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_record_gone();

-- Trigger on nodes.
CREATE OR REPLACE FUNCTION neurigraph.raise_node_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
    lost uuid;
BEGIN
    happened.user_id := CASE TG_OP WHEN 'DELETE' THEN OLD.user_id ELSE NEW.user_id END;
    happened.node_id := CASE TG_OP WHEN 'DELETE' THEN OLD.node_id ELSE NEW.node_id END;
    happened.author := neurigraph_private.current_author();
    IF TG_OP = 'DELETE' THEN
        FOR lost IN
            SELECT i.record_id FROM neurigraph.record_index AS i WHERE i.node_id = OLD.node_id
        LOOP
            happened.event := 'record.forgotten';
            happened.record_id := lost;
            PERFORM neurigraph_private.raise_event(happened);
        END LOOP;
        happened.event := 'node.removed';
        happened.record_id := NULL;
        PERFORM neurigraph_private.raise_event(happened);
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' THEN
        happened.event := 'node.created';
        PERFORM neurigraph_private.raise_event(happened);
        RETURN NEW;
    END IF;
    IF NEW.node_name <> OLD.node_name THEN
        happened.event := 'node.renamed';
        PERFORM neurigraph_private.raise_event(happened);
    END IF;
    IF NEW.parent_node_id IS DISTINCT FROM OLD.parent_node_id THEN
        happened.event := 'node.moved';
        PERFORM neurigraph_private.raise_event(happened);
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT OR UPDATE OF node_name, parent_node_id ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_node_change();
CREATE OR REPLACE TRIGGER raised_before BEFORE DELETE ON neurigraph.graph_index
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_node_change();

-- Write an event about a fact, unless its record is gone: then that is the event.
CREATE OR REPLACE FUNCTION neurigraph_private.raise_fact_event(
    name text, fact uuid, record uuid, author text, other uuid DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    SELECT i.user_id, i.node_id, i.record_id INTO happened.user_id, happened.node_id, happened.record_id
    FROM neurigraph.record_index AS i WHERE i.record_id = record;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    happened.event := 'fact.' || name;
    happened.fact_id := fact;
    happened.other_id := other;
    happened.author := author;
    PERFORM neurigraph_private.raise_event(happened);
END
$$;

-- Trigger on facts: one is stated, or gone.
CREATE OR REPLACE FUNCTION neurigraph.raise_fact() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before neurigraph.facts;
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM neurigraph_private.raise_fact_event(
            'removed', OLD.fact_id, OLD.record_id, neurigraph_private.current_author()
        );
        RETURN NULL;
    END IF;
    PERFORM neurigraph_private.raise_fact_event(
        'stated', NEW.fact_id, NEW.record_id, neurigraph_private.sender_of(NEW.record_id)
    );
    IF NEW.version > 1 THEN
        SELECT f.* INTO before FROM neurigraph.facts AS f
        WHERE f.root_id = NEW.root_id AND f.version = NEW.version - 1;
        IF NOT neurigraph.is_withheld(NEW.record_id, NULL) THEN
            PERFORM neurigraph_private.raise_fact_event(
                'superseded', before.fact_id, before.record_id, neurigraph_private.sender_of(NEW.record_id), NEW.fact_id
            );
        END IF;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT OR DELETE ON neurigraph.facts
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_fact();

-- Trigger on the log of facts.
CREATE OR REPLACE FUNCTION neurigraph.raise_fact_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.raise_fact_event(
        CASE NEW.operation
            WHEN 'change' THEN 'changed' WHEN 'confirm' THEN 'confirmed' WHEN 'retract' THEN 'retracted'
            WHEN 'restore' THEN 'restored' ELSE 'forgotten'
        END,
        f.fact_id, f.record_id, NEW.authored_by
    )
    FROM neurigraph.facts AS f WHERE f.fact_id = NEW.fact_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT ON neurigraph.fact_deltas
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_fact_change();

-- Trigger on verdicts: a fact is superseded or disputed by another one, if both may be named.
CREATE OR REPLACE FUNCTION neurigraph.raise_verdict() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM neurigraph_private.raise_fact_event(
        CASE NEW.effect WHEN 'supersedes' THEN 'superseded' ELSE 'disputed' END,
        e.fact_id, e.record_id, 'pipeline', l.fact_id
    )
    FROM neurigraph.facts AS e, neurigraph.facts AS l
    WHERE e.fact_id = NEW.earlier_id AND l.fact_id = NEW.later_id AND NOT neurigraph.is_withheld(l.record_id, NULL);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT OR UPDATE OF effect ON neurigraph.fact_verdicts
FOR EACH ROW WHEN (new.effect IN ('supersedes', 'disputes')) EXECUTE FUNCTION neurigraph.raise_verdict();

-- Trigger on actions: one is opened, or decided, carried out, failed or expired. What it is about must not be withheld.
CREATE OR REPLACE FUNCTION neurigraph.raise_action() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    IF (TG_OP = 'UPDATE' AND NEW.state = OLD.state) OR neurigraph.is_withheld(NEW.other_record_id, NEW.other_node_id)
        OR (NEW.source_id IS NOT NULL AND NOT neurigraph_private.is_shared('note:' || NEW.source_id))
    THEN
        RETURN NULL;
    END IF;
    happened.event := 'action.' || CASE TG_OP WHEN 'INSERT' THEN 'opened' ELSE NEW.state END;
    happened.user_id := NEW.user_id;
    happened.action_id := NEW.action_id;
    happened.node_id := NEW.node_id;
    happened.record_id := NEW.record_id;
    happened.fact_id := NEW.fact_id;
    happened.author := NEW.requested_by;
    PERFORM neurigraph_private.raise_event(happened);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER INSERT OR UPDATE OF state ON neurigraph.actions
FOR EACH ROW EXECUTE FUNCTION neurigraph.raise_action();

-- Trigger on receipts: an erasure is complete. The receipt says of what.
CREATE OR REPLACE FUNCTION neurigraph.raise_erasure() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    happened neurigraph.webhook_events;
BEGIN
    happened.event := 'erasure.finished';
    happened.user_id := NEW.user_id;
    happened.erasure_id := NEW.erasure_id;
    PERFORM neurigraph_private.raise_event(happened);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER raised AFTER UPDATE OF finished_at ON neurigraph.erasures
FOR EACH ROW WHEN (old.finished_at IS NULL AND new.finished_at IS NOT NULL) EXECUTE FUNCTION neurigraph.raise_erasure();

-- A test event for one webhook of the caller, whatever it wants otherwise; null if the caller has no such webhook.
CREATE OR REPLACE FUNCTION neurigraph.test_webhook(wanted uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking uuid := neurigraph.asking_user_id();
    made uuid;
BEGIN
    IF NOT EXISTS (SELECT FROM neurigraph.webhooks AS w WHERE w.webhook_id = wanted AND w.user_id = asking) THEN
        RETURN NULL;
    END IF;
    INSERT INTO neurigraph.webhook_events (user_id, event, author) VALUES (asking, 'webhook.test', 'user:' || asking)
    RETURNING event_id INTO made;
    INSERT INTO neurigraph.webhook_deliveries (event_id, webhook_id, user_id) VALUES (made, wanted, asking)
    RETURNING delivery_id INTO made;
    RETURN made;
END
$$;

-- Let deliveries of a webhook of the caller wait again: a finished one, or all that are dead. Returns their number.
CREATE OR REPLACE FUNCTION neurigraph.replay_deliveries(wanted uuid, one uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    replayed integer;
BEGIN
    UPDATE neurigraph.webhook_deliveries AS d
    SET state = 'waiting', attempts = 0, next_attempt_at = now(), finished_at = NULL
    WHERE d.webhook_id = wanted AND d.user_id = neurigraph.asking_user_id()
        AND (
            (one IS NULL AND d.state = 'dead') OR (d.delivery_id = one AND d.state IN ('dead', 'delivered'))
        );
    GET DIAGNOSTICS replayed = ROW_COUNT;
    RETURN replayed;
END
$$;

-- Events about what is in quarantine are hidden from the owner, too, and their deliveries with them.
DROP POLICY IF EXISTS not_hidden ON neurigraph.webhook_events;
CREATE POLICY not_hidden ON neurigraph.webhook_events AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    coalesce(record_id <> ALL((SELECT neurigraph.quarantined_ids())::uuid []), true)
    AND coalesce(node_id <> ALL((SELECT neurigraph.quarantined_ids())::uuid []), true)
);
DROP POLICY IF EXISTS not_hidden ON neurigraph.webhook_deliveries;
CREATE POLICY not_hidden ON neurigraph.webhook_deliveries AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.webhook_events AS e WHERE e.event_id = webhook_deliveries.event_id));

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA neurigraph_private FROM PUBLIC;
REVOKE ALL ON FUNCTION neurigraph.is_withheld(uuid, uuid), neurigraph.quarantined_ids(),
neurigraph.raise_record_change(), neurigraph.raise_record_gone(), neurigraph.raise_node_change(),
neurigraph.raise_fact(), neurigraph.raise_fact_change(), neurigraph.raise_verdict(), neurigraph.raise_action(),
neurigraph.raise_erasure(), neurigraph.test_webhook(uuid), neurigraph.replay_deliveries(uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.is_withheld(uuid, uuid) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.quarantined_ids(), neurigraph.test_webhook(uuid),
neurigraph.replay_deliveries(uuid, uuid) TO neurigraph_agent;
