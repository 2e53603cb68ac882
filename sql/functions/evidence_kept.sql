-- Evidence: merges of nodes, and verification.

-- Move mentions, aliases, links, evidence and edges of nodes that are about to be deleted to the successors of the
-- nodes. An edge that both nodes had becomes one edge.
CREATE OR REPLACE FUNCTION neurigraph_private.redirect_nodes(nodes uuid [], successors uuid []) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    merge record;
BEGIN
    FOR merge IN
        SELECT n.node_id, n.successor, g.name_key
        FROM unnest(nodes, successors) AS n (node_id, successor)
        INNER JOIN neurigraph.graph_index AS g ON n.successor = g.node_id
    LOOP
        -- A node without a definition of its own takes over the definition of the merged node.
        UPDATE neurigraph.graph_index AS g SET defined_by = o.defined_by
        FROM neurigraph.graph_index AS o
        WHERE g.node_id = merge.successor AND o.node_id = merge.node_id AND coalesce(g.node_summary, '') = '';
        UPDATE neurigraph.mentions AS m SET alias_id = o.alias_id
        FROM neurigraph.node_aliases AS a
        INNER JOIN neurigraph.node_aliases AS o ON a.alias_type = o.alias_type AND a.value_key = o.value_key
        WHERE m.alias_id = a.alias_id AND a.node_id = merge.node_id AND o.node_id = merge.successor;
        DELETE FROM neurigraph.node_aliases AS a
        WHERE a.node_id = merge.node_id AND (
            a.value_key = merge.name_key OR EXISTS (
                SELECT FROM neurigraph.node_aliases AS o
                WHERE o.node_id = merge.successor AND o.alias_type = a.alias_type AND o.value_key = a.value_key
            )
        );
        UPDATE neurigraph.node_aliases AS a SET node_id = merge.successor WHERE a.node_id = merge.node_id;
        DELETE FROM neurigraph.mentions AS m
        WHERE m.node_id = merge.node_id AND m.role <> 'subject' AND EXISTS (
            SELECT FROM neurigraph.mentions AS o
            WHERE o.record_id = m.record_id AND o.node_id = merge.successor AND o.role = m.role
                AND o.fact_id IS NOT DISTINCT FROM m.fact_id AND o.alias_id IS NOT DISTINCT FROM m.alias_id
        );
        UPDATE neurigraph.mentions AS m SET node_id = merge.successor WHERE m.node_id = merge.node_id;
        -- A memory that is linked to both nodes keeps one link; the other link is deleted with the merged node.
        UPDATE neurigraph.links AS l SET to_node_id = merge.successor
        WHERE l.to_node_id = merge.node_id AND NOT EXISTS (
            SELECT FROM neurigraph.links AS o
            WHERE o.to_id = merge.successor AND o.from_id = l.from_id AND o.relation = l.relation
                AND o.observed_by = l.observed_by
        );
        DELETE FROM neurigraph.edge_evidence AS v
        WHERE merge.node_id IN (v.from_node_id, v.to_node_id) AND merge.successor IN (v.from_node_id, v.to_node_id);
        -- Evidence without an edge waits for a candidate.
        UPDATE neurigraph.edge_evidence AS v SET from_node_id = merge.successor
        WHERE v.from_node_id = merge.node_id AND v.edge_id IS NULL;
        INSERT INTO neurigraph.node_edges (user_id, from_node_id, to_node_id, relation, strength, evidence_count)
        SELECT DISTINCT
            v.user_id,
            CASE v.from_node_id WHEN merge.node_id THEN merge.successor ELSE v.from_node_id END,
            CASE v.to_node_id WHEN merge.node_id THEN merge.successor ELSE v.to_node_id END,
            v.relation, 0, 0
        FROM neurigraph.edge_evidence AS v
        WHERE merge.node_id IN (v.from_node_id, v.to_node_id) AND v.edge_id IS NOT NULL
        ON CONFLICT DO NOTHING;
        UPDATE neurigraph.edge_evidence AS v SET
            edge_id = e.edge_id, from_node_id = e.from_node_id, to_node_id = e.to_node_id
        FROM neurigraph.node_edges AS e
        WHERE merge.node_id IN (v.from_node_id, v.to_node_id) AND v.edge_id IS NOT NULL
            AND e.from_node_id = CASE v.from_node_id WHEN merge.node_id THEN merge.successor ELSE v.from_node_id END
            AND e.to_node_id = CASE v.to_node_id WHEN merge.node_id THEN merge.successor ELSE v.to_node_id END
            AND e.relation = v.relation;
    END LOOP;
END
$$;

-- Differences between a node and the sums over its evidence: in edges, names and records, and in a root's candidates.
CREATE OR REPLACE FUNCTION neurigraph.wrong_sums(node uuid) RETURNS TABLE (id uuid, fault text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.edge_id, 'the strength, count or validity of the edge differs from its evidence'
    FROM neurigraph.node_edges AS e
    LEFT JOIN neurigraph.edge_sums(
        ARRAY(SELECT o.edge_id FROM neurigraph.node_edges AS o WHERE o.from_node_id = node)
    ) AS s ON e.edge_id = s.edge_id
    WHERE e.from_node_id = node
        AND (e.strength, e.evidence_count, e.valid) IS DISTINCT FROM (s.strength, s.evidence_count, s.valid)
    UNION ALL
    SELECT v.evidence_id, 'the evidence names other nodes than its edge'
    FROM neurigraph.edge_evidence AS v
    INNER JOIN neurigraph.node_edges AS e ON v.edge_id = e.edge_id
    WHERE e.from_node_id = node
        AND (v.from_node_id, v.to_node_id, v.relation) IS DISTINCT FROM (e.from_node_id, e.to_node_id, e.relation)
    UNION ALL
    SELECT g.node_id, 'the aliases of the node differ from those that people gave and records use'
    FROM neurigraph.graph_index AS g
    WHERE g.node_id = node AND g.aliases <> neurigraph_private.names_of(g.node_id, g.name_key)
    UNION ALL
    SELECT i.record_id, 'the record is not a mention of its node'
    FROM neurigraph.record_index AS i
    WHERE i.node_id = node AND NOT EXISTS (
        SELECT FROM neurigraph.mentions AS m
        WHERE m.record_id = i.record_id AND m.node_id = i.node_id AND m.role = 'subject'
    )
    UNION ALL
    SELECT c.candidate_id, 'what the candidate is worth differs from its mentions'
    FROM neurigraph.graph_index AS g
    INNER JOIN neurigraph.node_candidates AS c ON g.user_id = c.user_id
    LEFT JOIN neurigraph_private.candidate_sums(ARRAY(
        SELECT o.candidate_id FROM neurigraph.node_candidates AS o
        INNER JOIN neurigraph.graph_index AS r ON o.user_id = r.user_id AND r.node_id = node AND r.layer_depth = 0
    )) AS s ON c.candidate_id = s.candidate_id
    WHERE g.node_id = node AND g.layer_depth = 0
        AND (s.segments IS DISTINCT FROM c.segments OR abs(s.confidence - c.confidence) > 1e-9)
$$;

REVOKE ALL ON FUNCTION neurigraph.wrong_sums(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.wrong_sums(uuid) TO neurigraph_pipeline;
