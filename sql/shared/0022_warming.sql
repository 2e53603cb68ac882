-- What was staged for whoever is asking, brought into memory: a connection learns the tables of these nodes, and their
-- first pages come into the server's. Opens no file and changes nothing; says how many nodes.

CREATE FUNCTION neurigraph.prefetch(most integer) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking jsonb := neurigraph.claims();
    arms text;
    nodes integer;
BEGIN
    SELECT
        string_agg(format(
            '(SELECT count(p.lexeme_count) FROM (SELECT a.lexeme_count FROM %1$I.passages AS a LIMIT 1000) AS p)'
            ' UNION ALL (SELECT count(r.occurred_at)'
            ' FROM (SELECT a.occurred_at FROM %1$I.metadata_records AS a LIMIT 100) AS r)'
            ' UNION ALL (SELECT count(f.recompress_after)'
            ' FROM (SELECT a.recompress_after FROM %1$I.file_manifest AS a LIMIT 100) AS f)',
            s.schema_name
        ), ' UNION ALL '),
        count(*)
    INTO arms, nodes
    FROM (
        SELECT g.schema_name
        FROM neurigraph.warm_nodes AS w
        INNER JOIN neurigraph.visible_nodes(asking) AS g ON w.node_id = g.node_id AND w.user_id = g.user_id
        WHERE w.expires_at > now()
        ORDER BY w.expires_at DESC, g.node_id
        LIMIT most
    ) AS s;
    IF nodes > 0 THEN
        EXECUTE 'SELECT count(*) FROM (' || arms || ') AS a';
    END IF;
    RETURN nodes;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.prefetch(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.prefetch(integer) TO neurigraph_agent;
