-- Links between memories: the rules for storing them, the effects of changes of their ends, and the walk along them.

-- Whether standing links of a relation without cycles lead back from one end of a link to the other. UNION, not UNION
-- ALL, ends the walk even if rows from before the check form a cycle.
CREATE OR REPLACE FUNCTION neurigraph_private.leads_back(owner uuid, wanted text, start uuid, goal uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE walked AS (
        SELECT start AS id
        UNION
        SELECT l.to_id
        FROM walked AS w INNER JOIN neurigraph.links AS l ON w.id = l.from_id
        WHERE l.user_id = owner AND l.relation = wanted AND l.verdict <> 'rejected' AND l.ended_at IS NULL
    )

    SELECT EXISTS (SELECT FROM walked AS w WHERE w.id = goal)
$$;

-- Whether a fact certainly begins after another fact has ended.
CREATE OR REPLACE FUNCTION neurigraph_private.begins_after(later uuid, earlier uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.facts AS a CROSS JOIN neurigraph.facts AS b
        WHERE a.fact_id = later AND b.fact_id = earlier AND a.occurred >> b.occurred
    )
$$;

-- Faults of the links of a node's records: causes after their effects, and cycles.
CREATE OR REPLACE FUNCTION neurigraph.wrong_links(node uuid) RETURNS TABLE (id uuid, fault text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.link_id, f.fault
    FROM neurigraph.record_index AS r
    INNER JOIN neurigraph.links AS l ON r.record_id = l.from_record_id
    INNER JOIN neurigraph.relation_types AS t ON l.relation = t.name
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN t.is_acyclic AND neurigraph_private.leads_back(l.user_id, l.relation, l.to_id, l.from_id)
                THEN 'the link is a part of a cycle'
            WHEN l.relation = 'caused_by' AND neurigraph_private.begins_after(l.to_fact_id, l.from_fact_id)
                THEN 'the cause begins after its effect'
            WHEN EXISTS (
                SELECT FROM neurigraph.facts AS x
                WHERE (x.fact_id = l.from_fact_id AND x.record_id <> l.from_record_id)
                    OR (x.fact_id = l.to_fact_id AND x.record_id <> l.to_record_id)
            ) THEN 'an end of the link has another record than its fact'
        END AS fault
    ) AS f
    WHERE r.node_id = node AND l.verdict <> 'rejected' AND l.ended_at IS NULL AND f.fault IS NOT NULL
$$;

-- The words of relations between memories, as read from either end. Callers need no right on the table.
CREATE OR REPLACE FUNCTION neurigraph.relation_words() RETURNS TABLE (relation text, forward text, backward text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.name, t.forward, t.backward FROM neurigraph.relation_types AS t WHERE t.scope <> 'edge'
$$;

REVOKE ALL ON FUNCTION neurigraph.relation_words(), neurigraph.wrong_links(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.relation_words() TO neurigraph_agent;
GRANT EXECUTE ON FUNCTION neurigraph.wrong_links(uuid) TO neurigraph_pipeline;
