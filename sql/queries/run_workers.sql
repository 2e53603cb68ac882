-- Locks by which the daemon knows that the process of a run lives, on whichever machine. A lock ends with the
-- connection of the process that holds it, and so with the process.

-- name: hold
-- Waits while another process holds the lock: one process at a time executes a run.
SELECT pg_advisory_lock(hashtextextended('neurigraph.run:' || %(run_id)s, 0));

-- name: hold_again
-- After the connection was lost.
SELECT pg_try_advisory_lock(hashtextextended('neurigraph.run:' || %(run_id)s, 0)) AS held;

-- name: is_free
-- Takes the lock for this statement alone.
SELECT pg_try_advisory_xact_lock(hashtextextended('neurigraph.run:' || %(run_id)s, 0)) AS is_free;
