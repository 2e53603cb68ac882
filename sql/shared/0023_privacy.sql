-- Who besides the owner of the graph may know of what came in: a private conversation, event or upload is seen by the
-- owner alone, whoever is granted the nodes that its memories lie in (sql/routines/privacy.sql).

CREATE TYPE neurigraph.privacy AS ENUM ('shared', 'private');

-- Said of the source alone, so that saying otherwise holds for all that came from it with the next statement.
ALTER TABLE neurigraph.sources ADD COLUMN privacy neurigraph.privacy NOT NULL DEFAULT 'shared';
CREATE INDEX sources_private ON neurigraph.sources (user_id) WHERE privacy = 'private';

-- Answers are kept by version, those of personas too.
CREATE TRIGGER note_change AFTER UPDATE OF privacy ON neurigraph.sources
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();
