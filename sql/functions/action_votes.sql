-- Votes on actions, and requests of personas. Both take effect by functions alone, which check the claims.

-- Erase messages in the inbox that wait for an approval: the messages that are in no segment yet.
CREATE OR REPLACE FUNCTION neurigraph_private.drop_held(held_source uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM neurigraph.messages AS m USING neurigraph.sources AS s
    WHERE s.source_id = held_source AND s.held AND m.source_id = s.source_id AND m.seq > s.triggered_through;
    UPDATE neurigraph.sources AS s SET
        held = false, last_message = s.triggered_through, untriggered_tokens = 0,
        title = CASE WHEN s.triggered_through > 0 THEN s.title END,
        url = CASE WHEN s.triggered_through > 0 THEN s.url END,
        author = CASE WHEN s.triggered_through > 0 THEN s.author END,
        metadata = CASE WHEN s.triggered_through > 0 THEN s.metadata END
    WHERE s.source_id = held_source AND s.held
$$;

-- Reject a link that a rule wrote and that an action asks about. Other links between the two ends do not change.
CREATE OR REPLACE FUNCTION neurigraph_private.reject_inferred(asked neurigraph.actions, voting text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    UPDATE neurigraph.links AS l SET verdict = 'rejected', verdict_by = voting, verdict_at = clock_timestamp()
    WHERE asked.kind = 'link' AND asked.origin = 'doubt' AND l.user_id = asked.user_id
        AND l.from_id = coalesce(asked.fact_id, asked.record_id)
        AND l.to_id = coalesce(asked.other_fact_id, asked.other_record_id, asked.other_node_id)
        AND l.relation = asked.details ->> 'relation'
        AND l.detected_by = 'rule' AND l.verdict = 'unverified' AND l.ended_at IS NULL
$$;

-- Vote on an action that the caller sees. The signed claims name the voter, and a model with its user's key may not
-- vote for the user. The owner decides alone; for personas the standard in force names one persona or a number of them.
-- Returns the outcome: a state, or absent, mine (the caller asked for the action), model, or voted (the caller voted
-- the other way before). The second of two proposals takes the place of the first.
CREATE OR REPLACE FUNCTION neurigraph.cast_vote(wanted uuid, approves boolean, takes_second boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    persona uuid := neurigraph_private.persona_of(asking);
    voting text := coalesce('persona:' || persona, 'user:' || (asking ->> 'user_id'));
    asked neurigraph.actions;
    approver text;
    needed bigint;
    agreeing bigint;
BEGIN
    SELECT a.* INTO asked FROM neurigraph.actions AS a
    WHERE a.action_id = wanted AND a.user_id = (asking ->> 'user_id')::uuid
    FOR UPDATE;
    IF NOT FOUND OR coalesce(asking ->> 'role', '') NOT IN ('user', 'persona') THEN
        RETURN 'absent';
    ELSIF asked.persona_id = persona THEN
        RETURN 'mine';
    ELSIF asking ->> 'role' = 'persona' AND NOT neurigraph_private.persona_may_decide(asked, persona) THEN
        RETURN 'absent';
    ELSIF coalesce(asking ->> 'received_through', '') NOT IN ('api', 'cli') THEN
        RETURN 'model';
    ELSIF asked.state = 'open' AND asked.expires_at <= clock_timestamp() THEN
        RETURN 'expired';
    ELSIF EXISTS (
        SELECT FROM neurigraph.action_votes AS v
        WHERE v.action_id = wanted AND v.persona_id IS NOT DISTINCT FROM persona AND v.approves <> cast_vote.approves
    ) THEN
        RETURN 'voted';
    ELSIF asked.state <> 'open' THEN
        RETURN asked.state;
    END IF;
    INSERT INTO neurigraph.action_votes (action_id, user_id, persona_id, approves, key_id, received_through)
    VALUES (
        wanted, asked.user_id, persona, cast_vote.approves, (asking ->> 'key_id')::uuid,
        (asking ->> 'received_through')::neurigraph.received_through
    )
    ON CONFLICT DO NOTHING;
    SELECT s.value INTO approver FROM neurigraph_private.standard_of(asked.node_id) AS s WHERE s.field = 'approver';
    needed := coalesce(substring(approver FROM '^consensus:(.*)$')::bigint, 1);
    -- Votes of callers who may no longer decide do not count.
    SELECT count(*) INTO agreeing FROM neurigraph.action_votes AS v
    WHERE v.action_id = wanted AND v.approves = cast_vote.approves
        AND neurigraph_private.persona_may_decide(asked, v.persona_id);
    IF asking ->> 'role' = 'persona' AND agreeing < needed THEN
        RETURN 'open';
    END IF;
    UPDATE neurigraph.actions AS a SET
        state = CASE WHEN cast_vote.approves THEN 'approved' ELSE 'rejected' END,
        decided_at = clock_timestamp(),
        finished_at = CASE WHEN NOT cast_vote.approves THEN clock_timestamp() END,
        details = CASE
            WHEN takes_second AND a.kind = 'move' THEN jsonb_build_object(
                'first', a.details -> 'second', 'second', a.details -> 'first'
            )
            ELSE a.details
        END
    WHERE a.action_id = wanted;
    IF NOT cast_vote.approves THEN
        PERFORM neurigraph_private.drop_held(asked.source_id);
        PERFORM neurigraph_private.reject_inferred(asked, voting);
    END IF;
    RETURN CASE WHEN cast_vote.approves THEN 'approved' ELSE 'rejected' END;
END
$$;

-- Request an action on a record, as a persona that may write to the record's node. If the standard asks for no
-- approval, the action is approved at once. Returns the action, or the obstacle: absent, read only (the persona may not
-- write to the node), or forbidden (only the owner may act).
CREATE OR REPLACE FUNCTION neurigraph.request_action(of_kind text, wanted uuid)
RETURNS TABLE (action_id uuid, state text, created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    persona uuid := neurigraph_private.persona_of(asking);
    place uuid;
    rule text;
BEGIN
    SELECT i.node_id INTO place FROM neurigraph.record_index AS i
    WHERE i.record_id = wanted AND i.user_id = (asking ->> 'user_id')::uuid AND NOT i.quarantined
        AND i.source_id <> ALL(neurigraph_private.hidden_sources(asking))
        AND i.node_id IN (SELECT r.node_id FROM neurigraph_private.reach(asking, 'read') AS r (node_id));
    IF persona IS NULL OR place IS NULL OR of_kind NOT IN ('delete', 'promote', 'archive', 'digest') THEN
        RETURN QUERY SELECT NULL::uuid, 'absent', false;
        RETURN;
    END IF;
    SELECT s.value INTO rule FROM neurigraph_private.standard_of(place) AS s
    WHERE s.field = CASE of_kind WHEN 'promote' THEN 'promote' WHEN 'digest' THEN 'write' ELSE 'delete' END;
    IF place NOT IN (SELECT w.node_id FROM neurigraph.writable_nodes(persona) AS w (node_id)) THEN
        RETURN QUERY SELECT NULL::uuid, 'read only', false;
        RETURN;
    ELSIF rule = 'owner' THEN
        RETURN QUERY SELECT NULL::uuid, 'forbidden', false;
        RETURN;
    END IF;
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT p.action_id, p.state, p.created
        FROM neurigraph.propose_action(jsonb_build_object(
            'user_id', asking ->> 'user_id', 'kind', of_kind, 'origin', 'policy', 'reason', 'standard',
            'record_id', wanted, 'persona_id', persona
        )) AS p
    )
    SELECT a.action_id, a.state, a.created FROM asked AS a;
    UPDATE neurigraph.actions AS a SET state = 'approved', decided_at = clock_timestamp()
    WHERE rule <> 'approve' AND a.record_id = wanted AND a.kind = of_kind AND a.state = 'open'
        AND a.persona_id = persona;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.cast_vote(uuid, boolean, boolean), neurigraph.request_action(text, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.cast_vote(uuid, boolean, boolean), neurigraph.request_action(text, uuid)
TO neurigraph_agent;
