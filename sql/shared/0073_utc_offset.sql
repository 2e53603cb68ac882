-- The speaker's clock: "yesterday" counts from the day on which they said it.

-- Minutes by which the clock of the speaker is ahead of UTC; null if that is unknown, or nothing.
ALTER TABLE neurigraph.messages ADD COLUMN IF NOT EXISTS utc_offset smallint CHECK (utc_offset BETWEEN -1439 AND 1439);
GRANT UPDATE (utc_offset) ON neurigraph.messages TO neurigraph_agent;
