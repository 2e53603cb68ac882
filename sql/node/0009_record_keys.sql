-- What lists of records filter by: record_index gets it of the records that are there, and follows later changes. Runs
-- as neurigraph_owner. {schema} is an identifier; {node_id} and {user_id} are literals.

CREATE OR REPLACE TRIGGER register_record AFTER INSERT OR DELETE OR UPDATE OF
content_type, occurred_at, superseded_by, kw_entities, kw_topics
ON {schema}.metadata_records
FOR EACH ROW EXECUTE FUNCTION neurigraph.register_record({node_id}, {user_id});

UPDATE neurigraph.record_index AS i SET
    content_type = r.content_type,
    occurred_at = r.occurred_at,
    superseded = r.superseded_by IS NOT NULL,
    entity_keys = neurigraph.keyword_keys(r.kw_entities),
    topic_keys = neurigraph.keyword_keys(r.kw_topics)
FROM {schema}.metadata_records AS r
WHERE i.record_id = r.record_id;
