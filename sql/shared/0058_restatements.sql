-- What facts that say the same have in common, as a column: row-level security keeps an index of an expression from
-- being used, because its functions could tell of hidden rows.

ALTER TABLE neurigraph.facts
-- The digest of the statement without regard to case and the last stop.
ADD COLUMN IF NOT EXISTS restated uuid GENERATED ALWAYS AS (md5(rtrim(lower(statement), '.! '))::uuid) STORED;
CREATE INDEX IF NOT EXISTS facts_by_restated ON neurigraph.facts (user_id, restated);
DROP INDEX IF EXISTS neurigraph.facts_restated;
