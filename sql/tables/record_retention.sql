-- Retention of records, in a shared table like the registries. A row stays with its record through moves. Caches
-- compare versions of a record's own row, so an access that moves an expiry does not outdate them.
CREATE TABLE neurigraph.record_retention (
    record_id uuid PRIMARY KEY REFERENCES neurigraph.record_index ON DELETE CASCADE,
    user_id uuid NOT NULL,
    tier neurigraph.retention_tier NOT NULL,
    -- How long the record is kept after an access; null in the tier long.
    lifetime interval CHECK (lifetime > interval '0'),
    -- The expiry that the record was given. Callers other than the owner see this expiry, because the moving one
    -- reveals accesses.
    granted_until timestamptz,
    expires_at timestamptz,
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 500),
    -- Accesses since the record has this tier, once an asker and hour, and the number of days with an access.
    access_count integer NOT NULL DEFAULT 0 CHECK (access_count >= 0),
    access_days integer NOT NULL DEFAULT 0 CHECK (access_days BETWEEN 0 AND access_count),
    last_access_at timestamptz,
    -- The askers who were counted in the hour of the last access.
    hour_askers text [] NOT NULL DEFAULT '{}' CHECK (cardinality(hour_askers) <= 100),
    archived_at timestamptz,
    archived_by text,
    archived_reason text CHECK (char_length(archived_reason) BETWEEN 1 AND 500),
    -- The times at which the record was in the archive.
    archived tstzmultirange NOT NULL DEFAULT '{}',
    CHECK (num_nulls(lifetime, granted_until, expires_at) = CASE tier WHEN 'long' THEN 3 ELSE 0 END),
    -- An access extends a life and never shortens it.
    CHECK (expires_at >= granted_until),
    CHECK (num_nulls(archived_at, archived_by, archived_reason) IN (0, 3)),
    CHECK ((archived_at IS NOT NULL) = upper_inf(archived))
);
CREATE INDEX record_retention_user_id ON neurigraph.record_retention (user_id);
CREATE INDEX record_retention_expires_at ON neurigraph.record_retention (expires_at)
WHERE expires_at IS NOT NULL AND archived_at IS NULL;
CREATE INDEX record_retention_promotable ON neurigraph.record_retention (record_id)
WHERE tier <> 'long' AND archived_at IS NULL AND access_count >= 5 AND access_days >= 2;
CREATE INDEX record_retention_archived_at
ON neurigraph.record_retention (user_id, archived_at, record_id) WHERE archived_at IS NOT NULL;

-- Interfaces read the table by neurigraph.retention_of() alone, so that nobody but the owner learns who reads which
-- record.
ALTER TABLE neurigraph.record_retention ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.record_retention TO neurigraph_pipeline;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.record_retention TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.record_retention TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
