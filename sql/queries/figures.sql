-- Counts of the whole installation, for metrics.

-- name: work
SELECT
    f.name,
    f.label,
    f.detail,
    f.figure
FROM neurigraph.figures_of_work() AS f;

-- name: sizes
SELECT
    f.name,
    f.label,
    f.detail,
    f.figure
FROM neurigraph.figures_of_sizes() AS f;

-- name: add
-- Add to totals in the order of the key, so that two batches that end at one time do not deadlock.
INSERT INTO neurigraph.pipeline_totals AS t (name, label, total)
SELECT
    n.name,
    n.label,
    n.total
FROM unnest(%(names)s::text [], %(labels)s::text [], %(totals)s::double precision []) AS n (name, label, total)
ORDER BY n.name, n.label
ON CONFLICT (name, label) DO UPDATE SET total = t.total + excluded.total;

-- name: replace
INSERT INTO neurigraph.pipeline_totals AS t (name, label, total)
SELECT
    n.name,
    n.label,
    n.total
FROM unnest(%(names)s::text [], %(labels)s::text [], %(totals)s::double precision []) AS n (name, label, total)
ORDER BY n.name, n.label
ON CONFLICT (name, label) DO UPDATE SET total = excluded.total;
