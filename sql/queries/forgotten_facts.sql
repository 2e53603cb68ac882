-- Facts with a time at which they are to be forgotten.

-- name: hide_due
-- Mark facts whose time to be forgotten has come. They are already hidden from that time on.
UPDATE neurigraph.facts AS f SET forgotten_at = now(), forget_reason = 'forget_after'
WHERE f.fact_id IN (
    SELECT d.fact_id FROM neurigraph.facts AS d
    WHERE d.forget_after <= now() AND d.forgotten_at IS NULL
    ORDER BY d.forget_after
    LIMIT %(limit)s
    -- Other transactions lock facts in an order of their own. A later run marks their locked facts, which are hidden
    -- until then, too.
    FOR UPDATE SKIP LOCKED
)
-- The condition is checked again, because an owner may have kept the fact in the meantime.
AND f.forget_after <= now() AND f.forgotten_at IS NULL
RETURNING f.fact_id;

-- name: to_erase
-- The fact that has been forgotten for longest, if long enough, with the owner who gets the receipt.
SELECT
    f.fact_id,
    f.user_id
FROM neurigraph.facts AS f
WHERE f.forget_after <= now() AND f.forgotten_at < now() - make_interval(secs => %(seconds)s)
    AND f.fact_id <> ALL(%(tried)s::uuid [])
ORDER BY f.forgotten_at
LIMIT 1;
