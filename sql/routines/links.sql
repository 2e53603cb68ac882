-- Links between memories: what may be stored, what follows from changes of their ends, and the walk along them.

-- Whether a relation without cycles leads back from one end of a link to the other, over what stands. Union, not union
-- all: the walk ends even if rows from before the check form a cycle.
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

-- Whether one fact surely begins after another has ended.
CREATE OR REPLACE FUNCTION neurigraph_private.begins_after(later uuid, earlier uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM neurigraph.facts AS a CROSS JOIN neurigraph.facts AS b
        WHERE a.fact_id = later AND b.fact_id = earlier AND a.occurred >> b.occurred
    )
$$;

-- Trigger on links: the records of its facts, one graph for both ends, and what the relation demands.
CREATE OR REPLACE FUNCTION neurigraph.place_link() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kind neurigraph.relation_types;
BEGIN
    SELECT t.* INTO kind FROM neurigraph.relation_types AS t WHERE t.name = NEW.relation AND t.scope <> 'edge';
    IF NOT FOUND THEN
        RAISE check_violation USING MESSAGE = format('%s is no relation between memories', NEW.relation);
    END IF;
    NEW.bidirectional := NEW.bidirectional OR kind.is_symmetric;
    IF NEW.from_fact_id IS NOT NULL THEN
        SELECT f.record_id INTO NEW.from_record_id FROM neurigraph.facts AS f WHERE f.fact_id = NEW.from_fact_id;
    END IF;
    IF NEW.to_fact_id IS NOT NULL THEN
        SELECT f.record_id INTO NEW.to_record_id FROM neurigraph.facts AS f WHERE f.fact_id = NEW.to_fact_id;
    END IF;
    IF NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r WHERE r.record_id = NEW.from_record_id AND r.user_id = NEW.user_id
    ) OR NOT EXISTS (
        SELECT FROM neurigraph.record_index AS r WHERE r.record_id = NEW.to_record_id AND r.user_id = NEW.user_id
        UNION ALL
        SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = NEW.to_node_id AND g.user_id = NEW.user_id
        UNION ALL
        SELECT FROM neurigraph.sources AS s WHERE s.source_id = NEW.to_source_id AND s.user_id = NEW.user_id
    ) THEN
        RAISE foreign_key_violation USING MESSAGE = 'an end of the link is not there';
    END IF;
    IF NEW.verdict = 'rejected' OR NEW.ended_at IS NOT NULL THEN
        RETURN NEW;
    END IF;
    IF NEW.relation = 'caused_by' AND neurigraph_private.begins_after(NEW.to_fact_id, NEW.from_fact_id) THEN
        RAISE check_violation USING MESSAGE = 'a cause does not begin after its effect';
    END IF;
    IF kind.is_acyclic THEN
        -- Two links at once could close a cycle that neither of them sees.
        PERFORM pg_advisory_xact_lock(hashtextextended('neurigraph.links:' || NEW.user_id, 0));
        IF neurigraph_private.leads_back(
            NEW.user_id, NEW.relation,
            coalesce(NEW.to_fact_id, NEW.to_record_id, NEW.to_node_id, NEW.to_source_id),
            coalesce(NEW.from_fact_id, NEW.from_record_id)
        ) THEN
            RAISE check_violation USING MESSAGE = format('the link would close a cycle of %s', NEW.relation);
        END IF;
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER placed BEFORE INSERT OR UPDATE ON neurigraph.links
FOR EACH ROW EXECUTE FUNCTION neurigraph.place_link();

-- Trigger on facts: what they cause or were caused by no longer stands when their times turn out otherwise.
CREATE OR REPLACE FUNCTION neurigraph.reject_impossible_causes() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE neurigraph.links AS l SET verdict = 'rejected', verdict_by = 'pipeline:times', verdict_at = now()
    WHERE NEW.fact_id IN (l.from_id, l.to_id) AND l.relation = 'caused_by' AND l.verdict <> 'rejected'
        AND l.ended_at IS NULL AND neurigraph_private.begins_after(l.to_fact_id, l.from_fact_id);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER times_changed AFTER UPDATE OF occurred ON neurigraph.facts
FOR EACH ROW WHEN (old.occurred IS DISTINCT FROM new.occurred)
EXECUTE FUNCTION neurigraph.reject_impossible_causes();

-- What is wrong with the links of a node's records: causes after their effects, and cycles.
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

-- How relations between memories read from either end. Callers need no right on the table.
CREATE OR REPLACE FUNCTION neurigraph.relation_words() RETURNS TABLE (relation text, forward text, backward text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.name, t.forward, t.backward FROM neurigraph.relation_types AS t WHERE t.scope <> 'edge'
$$;

REVOKE ALL ON FUNCTION neurigraph.relation_words(), neurigraph.place_link(), neurigraph.reject_impossible_causes(),
neurigraph.wrong_links(uuid), neurigraph_private.leads_back(uuid, text, uuid, uuid),
neurigraph_private.begins_after(uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.wrong_links(uuid) TO neurigraph_pipeline;
GRANT EXECUTE ON FUNCTION neurigraph.relation_words() TO neurigraph_agent;
