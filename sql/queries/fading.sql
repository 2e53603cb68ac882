-- Fading: facts that nobody needed for long are archived, and none is erased.

-- name: faded
-- Facts to fade. Such a fact has low impact, is not pinned, has no other versions, no note that continues it, and no
-- link that ends at it. It occurred, was read, stated or confirmed long ago, and its memory was not opened since.
SELECT
    f.fact_id,
    f.user_id
FROM neurigraph.facts AS f
INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id AND NOT i.quarantined
WHERE f.impact = 'low' AND NOT f.pinned AND f.status = 'active' AND f.forgotten_at IS NULL
    AND greatest(f.recorded_at, upper(f.occurred), f.confirmed_at) < now() - make_interval(secs => %(seconds)s)
    AND (%(user_id)s::uuid IS NULL OR f.user_id = %(user_id)s)
    AND NOT EXISTS (SELECT FROM neurigraph.facts AS o WHERE o.root_id = f.root_id AND o.fact_id <> f.fact_id)
    AND NOT EXISTS (SELECT FROM neurigraph.notes AS n WHERE n.follows = f.fact_id)
    AND NOT EXISTS (
        SELECT FROM neurigraph.links AS l
        WHERE l.to_id = f.fact_id AND l.verdict <> 'rejected' AND l.ended_at IS NULL
    )
    AND NOT EXISTS (
        SELECT FROM neurigraph_private.opened_since(
            ARRAY[f.record_id], now() - make_interval(secs => %(seconds)s)
        )
    )
ORDER BY f.recorded_at, f.fact_id
LIMIT %(limit)s;

-- name: fade
-- Archive facts that fade. A decision that a person made in the meantime stands.
UPDATE neurigraph.facts AS f SET status = 'archived'
WHERE f.fact_id = ANY(%(fact_ids)s) AND f.status = 'active' AND f.impact = 'low' AND NOT f.pinned
    AND (f.confirmed_at IS NULL OR f.confirmed_at < now() - make_interval(secs => %(seconds)s))
RETURNING f.fact_id;

-- name: wrongly_faded
-- Facts that faded although their impact is not low or they are pinned: a person who pins a faded fact wants it back.
SELECT f.fact_id
FROM neurigraph.facts AS f
INNER JOIN neurigraph.fact_deltas AS d ON f.fact_id = d.fact_id
WHERE d.authored_by = 'pipeline:decay' AND d.operation = 'retract' AND f.status = 'archived'
    AND (f.impact <> 'low' OR f.pinned)
ORDER BY f.fact_id
LIMIT %(limit)s;
