-- Actions: what waits for a decision.

-- name: propose
SELECT
    p.action_id,
    p.state,
    p.created
FROM neurigraph.propose_action(%(proposed)s) AS p;
