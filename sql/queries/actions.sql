-- Actions: changes that wait for a decision.

-- name: propose
SELECT
    p.action_id,
    p.state,
    p.created
FROM neurigraph.propose_action(%(proposed)s) AS p;

-- name: standard
-- The standard in force at a node that the caller sees.
SELECT
    s.field,
    s.value,
    s.from_node_id
FROM neurigraph.standard_of(%(node_id)s) AS s;

-- name: set_standard
-- Set the standard of a node. Runs as the owner of the graph, because policies let nobody else write standards.
INSERT INTO neurigraph.node_standards (
    node_id, user_id, write_rule, promote_rule, delete_rule, approver, approver_persona, approvals, inherit,
    default_tier, default_ttl_seconds, note_id
)
VALUES (
    %(node_id)s, %(user_id)s, %(write)s, %(promote)s, %(delete)s, %(approver)s, %(approver_persona)s, %(approvals)s,
    %(inherit)s, %(tier)s, %(ttl_seconds)s, %(note_id)s
)
ON CONFLICT (node_id) DO UPDATE SET
    write_rule = excluded.write_rule,
    promote_rule = excluded.promote_rule,
    delete_rule = excluded.delete_rule,
    approver = excluded.approver,
    approver_persona = excluded.approver_persona,
    approvals = excluded.approvals,
    inherit = excluded.inherit,
    default_tier = excluded.default_tier,
    default_ttl_seconds = excluded.default_ttl_seconds,
    note_id = coalesce(excluded.note_id, neurigraph.node_standards.note_id),
    updated_at = now();

-- name: actions
-- Return the actions of the caller, newest first; `held_text` has the title and text of a held note.
SELECT
    a.action_id,
    a.kind,
    a.origin,
    a.reason,
    CASE WHEN a.state = 'open' AND a.expires_at <= now() THEN 'expired' ELSE a.state END AS state,
    a.node_id,
    a.other_node_id,
    a.record_id,
    a.other_record_id,
    a.fact_id,
    a.other_fact_id,
    a.source_id,
    a.message,
    a.details,
    a.requested_by,
    a.requested_at,
    a.expires_at,
    a.decided_at,
    a.finished_at,
    a.failure,
    coalesce(v.votes, '[]') AS votes,
    coalesce(p.places, ARRAY[]::text []) AS places,
    NULL AS title,
    NULL AS text
FROM neurigraph.actions AS a
LEFT JOIN LATERAL (
    SELECT
        jsonb_agg(
            jsonb_build_object(
                'voter', coalesce('persona:' || b.persona_id, 'user:' || b.user_id),
                'approves', b.approves, 'voted_at', b.voted_at
            ) ORDER BY b.voted_at
        ) AS votes
    FROM neurigraph.action_votes AS b
    WHERE b.action_id = a.action_id
) AS v ON true
LEFT JOIN LATERAL (
    SELECT array_agg(coalesce(n.node_path, w.place) ORDER BY w.number) AS places
    FROM (VALUES (1, a.details ->> 'first'), (2, a.details ->> 'second')) AS w (number, place)
    LEFT JOIN LATERAL neurigraph.path_of(CASE WHEN strpos(w.place, '-') > 0 THEN w.place::uuid END) AS n ON true
    WHERE a.kind = 'move'
) AS p ON true
WHERE a.user_id = %(user_id)s
    AND (%(action_id)s::uuid IS NULL OR a.action_id = %(action_id)s)
    AND (%(kind)s::text IS NULL OR a.kind = %(kind)s)
    AND (%(node_id)s::uuid IS NULL OR a.node_id = %(node_id)s)
    AND (
        %(state)s::text IS NULL
        OR CASE WHEN a.state = 'open' AND a.expires_at <= now() THEN 'expired' ELSE a.state END = %(state)s
    )
    AND (a.requested_at, a.action_id) < (%(at)s::timestamptz, %(id)s::uuid)
ORDER BY a.requested_at DESC, a.action_id DESC
LIMIT %(limit)s;

-- name: held_text
SELECT
    h.title,
    h.content AS text
FROM neurigraph.held_text(%(action_id)s) AS h;

-- name: vote
SELECT neurigraph.cast_vote(%(action_id)s, %(approves)s, %(takes_second)s) AS outcome;

-- name: request
SELECT
    r.action_id,
    r.state,
    r.created
FROM neurigraph.request_action(%(kind)s, %(record_id)s) AS r;

-- name: approved
-- Return approved actions that were not carried out, with their users: the action with an id, or all.
SELECT
    a.action_id,
    a.user_id,
    a.kind,
    a.node_id,
    a.other_node_id,
    a.record_id,
    a.other_record_id,
    a.fact_id,
    a.other_fact_id,
    a.source_id,
    a.details
FROM neurigraph.actions AS a
WHERE a.state = 'approved' AND (%(action_id)s::uuid IS NULL OR a.action_id = %(action_id)s)
ORDER BY a.decided_at
LIMIT 100;

-- name: lock_approved
-- The last check before an action is carried out, in the same transaction.
SELECT
    l.is_as_expected,
    l.may_write
FROM neurigraph.lock_approved(%(action_id)s) AS l;

-- name: finish
UPDATE neurigraph.actions AS a SET state = %(state)s, failure = %(failure)s, finished_at = clock_timestamp()
WHERE a.action_id = %(action_id)s AND a.state = 'approved';

-- name: withdraw_moves
-- Withdraw proposals to move records that were moved.
UPDATE neurigraph.actions AS a SET
    state = 'rejected', decided_at = clock_timestamp(), finished_at = clock_timestamp()
WHERE a.record_id = ANY(%(record_ids)s) AND a.kind = 'move' AND a.state = 'open';

-- name: let_in
UPDATE neurigraph.sources AS s SET held = false
WHERE s.source_id = %(source_id)s AND s.held;

-- name: expire
-- Expire open actions. Runs as neurigraph_owner.
UPDATE neurigraph.actions AS a SET state = 'expired', decided_at = clock_timestamp(), finished_at = clock_timestamp()
WHERE a.state = 'open' AND a.expires_at <= clock_timestamp()
RETURNING a.action_id, a.source_id;

-- name: drop_held
SELECT neurigraph_private.drop_held(h.source_id)
FROM unnest(%(source_ids)s::uuid []) AS h (source_id);

-- name: propose_held
-- Propose an action again for each held note without one, as after a restore. Runs as neurigraph_owner.
SELECT p.action_id
FROM neurigraph.sources AS s
INNER JOIN neurigraph.notes AS n ON s.source_id = n.source_id AND s.last_message = n.message
CROSS JOIN LATERAL neurigraph.propose_action(jsonb_build_object(
    'user_id', s.user_id, 'kind', 'store', 'origin', 'policy', 'reason', 'standard', 'node_id', n.node_id,
    'source_id', s.source_id, 'message', n.message, 'persona_id', s.persona_id
)) AS p
WHERE s.held AND s.persona_id IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM neurigraph.actions AS a
        WHERE a.source_id = s.source_id AND a.state IN ('open', 'approved')
    );

-- name: waiting
-- The number of actions that wait for a decision, and the number that have waited too long.
SELECT
    count(*) AS waiting,
    count(*) FILTER (WHERE a.requested_at < now() - make_interval(secs => %(seconds)s)) AS overdue,
    count(*) FILTER (
        WHERE a.requested_at < now() - make_interval(secs => %(seconds)s) AND a.told_at IS NULL
    ) AS unreported,
    coalesce(extract(EPOCH FROM now() - min(a.requested_at)), 0)::double precision AS oldest_seconds
FROM neurigraph.actions AS a
WHERE a.state = 'open' AND a.expires_at > now();

-- name: has_work
SELECT EXISTS (
    SELECT FROM neurigraph.actions AS a
    WHERE a.finished_at IS NULL
        AND (
            (a.state = 'open' AND a.expires_at <= now())
            OR (a.state = 'approved' AND a.decided_at < now() - interval '10 seconds')
            OR (
                a.state = 'open' AND a.told_at IS NULL
                AND a.requested_at < now() - make_interval(secs => %(seconds)s)
            )
        )
) OR EXISTS (
    SELECT FROM neurigraph.sources AS s
    WHERE s.held AND NOT EXISTS (
        SELECT FROM neurigraph.actions AS a WHERE a.source_id = s.source_id AND a.finished_at IS NULL
    )
) AS due;

-- name: not_carried_out
SELECT a.action_id FROM neurigraph.actions AS a
WHERE a.state = 'approved' AND a.finished_at IS NULL
    AND a.decided_at < now() - make_interval(secs => %(seconds)s)
ORDER BY a.decided_at
LIMIT 100;

-- name: note_report
UPDATE neurigraph.actions AS a SET told_at = now()
WHERE a.state = 'open' AND a.told_at IS NULL AND a.requested_at < now() - make_interval(secs => %(seconds)s);

-- name: users_with_people
SELECT g.user_id
FROM neurigraph.graph_index AS g
WHERE g.concept_kind = 'person' AND g.node_type = 'concept' AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
GROUP BY g.user_id
HAVING count(*) > 1;

-- name: people
-- The nodes of a user's people, with their names and the nodes related to them, without the root. People below a
-- persona belong to that persona: a merge would let the persona's keys read memories of others.
SELECT
    g.node_id,
    g.node_name,
    g.aliases,
    g.record_count AS records,
    ARRAY(
        SELECT CASE WHEN e.from_node_id = g.node_id THEN e.to_node_id ELSE e.from_node_id END
        FROM neurigraph.node_edges AS e
        INNER JOIN neurigraph.graph_index AS o
            ON o.node_id = CASE WHEN e.from_node_id = g.node_id THEN e.to_node_id ELSE e.from_node_id END
        WHERE (e.from_node_id = g.node_id OR e.to_node_id = g.node_id) AND o.layer_depth > 0
    ) AS related
FROM neurigraph.graph_index AS g
WHERE g.user_id = %(user_id)s AND g.concept_kind = 'person' AND NOT g.quarantined
    AND NOT EXISTS (
        SELECT FROM neurigraph.graph_index AS p WHERE p.node_id = ANY(g.path) AND p.node_type = 'persona'
    )
ORDER BY g.created_at, g.node_id;
