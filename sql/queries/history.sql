-- Deltas: appending them, and reading what was.

-- name: append_delta
SELECT
    d.delta_id,
    d.w
FROM neurigraph.append_delta(
    %(record_id)s, %(operation)s, %(before)s, %(after)s, %(author)s, %(notes)s
) AS d;

-- name: set_author
SELECT set_config('neurigraph.author', %(author)s, true);
