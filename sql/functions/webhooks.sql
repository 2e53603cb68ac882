-- Webhooks: the outbox. Triggers write an event and its deliveries in the transaction of the change, if a webhook wants
-- the event and the event names nothing private and nothing in quarantine.

-- Whether a source exists and is not private.
CREATE OR REPLACE FUNCTION neurigraph_private.is_shared(source uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = source AND s.privacy = 'shared'
    )
$$;

-- Whether a record or a node may not be named to a receiver, who is a third party to the graph: it is private or in
-- quarantine. A row that does not exist is not withheld.
CREATE OR REPLACE FUNCTION neurigraph.is_withheld(record uuid, node uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.record_index AS i
        WHERE i.record_id = record AND (i.quarantined OR NOT neurigraph_private.is_shared(i.source_id))
    ) OR EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = node AND g.quarantined)
$$;

-- The records and nodes in quarantine of the graph whose owner asks. Their events are hidden, too.
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

-- Whether a pattern with * matches the path of a node, from the root down, or the path of a node above it. The pattern
-- may leave the root out and ignores case.
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

-- The author of a change. Words after the author, such as the name of a model, are cut off.
CREATE OR REPLACE FUNCTION neurigraph_private.plain_author(author text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN author ~ '^(user|persona|quarantine):[0-9a-f-]{36}$' THEN author
        WHEN author ~ '^(user|persona|quarantine|pipeline|job)(:|$)' THEN neurigraph.kind_of_author(author)
    END
$$;

-- Write an event and its deliveries, if a webhook of the event's user wants the event.
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
    names := (SELECT n.names FROM neurigraph.path_of(happened.node_id) AS n);
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

-- The sender of a record's source.
CREATE OR REPLACE FUNCTION neurigraph_private.sender_of(record uuid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce('persona:' || s.persona_id, 'user:' || s.user_id)
    FROM neurigraph.record_index AS i
    INNER JOIN neurigraph.sources AS s ON s.source_id = i.source_id
    WHERE i.record_id = record
$$;

-- Write an event about a fact, unless the record of the fact is gone: the end of the record is an event itself.
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

-- Trigger on the tables whose changes are events. The file of each table has a function that chooses the event for a
-- change.
CREATE OR REPLACE FUNCTION neurigraph.raise_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    CASE TG_TABLE_NAME
        WHEN 'actions' THEN PERFORM neurigraph_private.raise_action(TG_OP, OLD, NEW);
        WHEN 'delta_log' THEN PERFORM neurigraph_private.raise_record_change(NEW);
        WHEN 'erasures' THEN PERFORM neurigraph_private.raise_erasure(NEW);
        WHEN 'fact_deltas' THEN PERFORM neurigraph_private.raise_fact_change(NEW);
        WHEN 'fact_verdicts' THEN PERFORM neurigraph_private.raise_verdict(NEW);
        WHEN 'facts' THEN PERFORM neurigraph_private.raise_fact(TG_OP, OLD, NEW);
        WHEN 'graph_index' THEN PERFORM neurigraph_private.raise_node_change(TG_OP, OLD, NEW);
        WHEN 'record_index' THEN PERFORM neurigraph_private.raise_record_gone(OLD);
    END CASE;
    RETURN coalesce(NEW, OLD);
END
$$;

-- Write a test event for one webhook of the caller, even if the webhook subscribes to other events; null if the caller
-- has no such webhook.
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

-- Let deliveries of a webhook of the caller wait again: one finished delivery, or all dead ones. Returns their number.
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

REVOKE ALL ON FUNCTION neurigraph.is_withheld(uuid, uuid), neurigraph.quarantined_ids(), neurigraph.test_webhook(uuid),
neurigraph.replay_deliveries(uuid, uuid), neurigraph.raise_event() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.is_withheld(uuid, uuid) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.quarantined_ids(), neurigraph.test_webhook(uuid),
neurigraph.replay_deliveries(uuid, uuid) TO neurigraph_agent;
