-- The types of relations are read by neurigraph.relation_traits(), so callers need no right on the table.
REVOKE SELECT ON neurigraph.relation_types FROM neurigraph_agent;
