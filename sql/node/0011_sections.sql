-- The part of a document that a passage is of: its headings, or its page. Runs as neurigraph_owner. {schema} is an
-- identifier; {node_id} and {user_id} are literals.

ALTER TABLE {schema}.passages
-- Null for passages of other texts, and for those from before.
ADD COLUMN section text CHECK (char_length(section) BETWEEN 1 AND 300);
