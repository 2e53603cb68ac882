-- Facts that are forgotten at a time that somebody set.

-- name: hide_due
-- Marks facts whose time to be forgotten has come; they are hidden from that time on already.
UPDATE neurigraph.facts AS f SET forgotten_at = now(), forget_reason = 'forget_after'
WHERE f.fact_id IN (
    SELECT d.fact_id FROM neurigraph.facts AS d
    WHERE d.forget_after <= now() AND d.forgotten_at IS NULL
    ORDER BY d.forget_after
    LIMIT %(limit)s
    -- Others lock facts in an order of theirs; what they hold is marked by a later run, and hidden until then, too.
    FOR UPDATE SKIP LOCKED
)
-- Again, because an owner may have taken the fact back meanwhile.
AND f.forget_after <= now() AND f.forgotten_at IS NULL
RETURNING f.fact_id;

-- name: to_erase
-- The fact that has been forgotten longest, if it is long enough, with the owner who gets the receipt.
SELECT
    f.fact_id,
    f.user_id
FROM neurigraph.facts AS f
WHERE f.forget_after <= now() AND f.forgotten_at < now() - make_interval(secs => %(seconds)s)
    AND f.fact_id <> ALL(%(tried)s::uuid [])
ORDER BY f.forgotten_at
LIMIT 1;
