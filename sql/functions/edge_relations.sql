-- Types of relations, for callers who have no right on their table.

-- The rules that the type of a relation sets for its edges; no row for a relation without a type.
CREATE OR REPLACE FUNCTION neurigraph.relation_traits(
    stated text, OUT is_exclusive boolean, OUT is_acyclic boolean, OUT inverse text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT t.is_exclusive, t.is_acyclic, CASE WHEN t.is_symmetric THEN stated ELSE o.label END
    INTO is_exclusive, is_acyclic, inverse
    FROM neurigraph.relation_types AS t
    LEFT JOIN neurigraph.relation_types AS o ON t.inverse = o.name
    WHERE t.label = lower(stated);
    is_exclusive := coalesce(is_exclusive, false);
    is_acyclic := coalesce(is_acyclic, false);
END
$$;

REVOKE ALL ON FUNCTION neurigraph.relation_traits(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.relation_traits(text) TO neurigraph_agent, neurigraph_pipeline;
