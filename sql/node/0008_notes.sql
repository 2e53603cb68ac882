-- Notes in a node: how important their writer says they are, and finding one by its title. Runs as neurigraph_owner.
-- {schema} is an identifier; {node_id} and {user_id} are literals.

ALTER TABLE {schema}.metadata_records
-- Null if nobody said; records of other sources have none.
ADD COLUMN importance real CHECK (importance BETWEEN 0 AND 1);

CREATE INDEX ON {schema}.metadata_records (title) WHERE source_kind = 'note';
