-- Passages count in the statistics of their user's corpus.

SELECT neurigraph_private.recount_node({node_id}) WHERE EXISTS (SELECT FROM {schema}.passages);

CREATE TRIGGER count_added AFTER INSERT ON {schema}.passages
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.count_passages({node_id}, {user_id});
CREATE TRIGGER count_removed AFTER DELETE ON {schema}.passages
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION neurigraph.count_passages({node_id}, {user_id});
CREATE TRIGGER refuse_recount BEFORE UPDATE OF record_id, lexemes, lexeme_count ON {schema}.passages
FOR EACH ROW EXECUTE FUNCTION neurigraph.refuse_recount();
