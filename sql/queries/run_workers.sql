-- Locks by which the daemon knows that the process of a run lives, on any machine. A lock ends with the connection of
-- the process that holds it, and so with the process.

-- name: hold
-- Take the lock of a run, and wait while another process holds it: one process at a time executes a run.
SELECT pg_advisory_lock(hashtextextended('neurigraph.run:' || %(run_id)s, 0));

-- name: hold_again
-- Take the lock again after the connection was lost.
SELECT pg_try_advisory_lock(hashtextextended('neurigraph.run:' || %(run_id)s, 0)) AS held;

-- name: is_free
-- Whether no process holds the lock. The lock is held for this statement only.
SELECT pg_try_advisory_xact_lock(hashtextextended('neurigraph.run:' || %(run_id)s, 0)) AS is_free;
