-- Ids that begin as a person typed them.

-- name: between
-- At most two ids of one kind between two ids, among the things that the caller sees.
SELECT found.id
FROM (
    SELECT i.record_id AS id
    FROM neurigraph.record_index AS i
    WHERE %(kind)s = 'record' AND i.record_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT g.node_id
    FROM neurigraph.graph_index AS g
    WHERE %(kind)s = 'node' AND g.node_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT f.fact_id
    FROM neurigraph.facts AS f
    WHERE %(kind)s = 'fact' AND f.fact_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT f.file_id
    FROM neurigraph.file_index AS f
    WHERE %(kind)s = 'file' AND f.file_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT e.edge_id
    FROM neurigraph.node_edges AS e
    WHERE %(kind)s = 'edge' AND e.edge_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT l.link_id
    FROM neurigraph.links AS l
    WHERE %(kind)s = 'link' AND l.link_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT k.key_id
    FROM neurigraph.signing_keys AS k
    WHERE %(kind)s = 'signing_key' AND k.key_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT s.source_id
    FROM neurigraph.sources AS s
    WHERE %(kind)s = 'source' AND s.source_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT k.key_id
    FROM neurigraph.api_keys AS k
    WHERE %(kind)s = 'key' AND k.key_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT g.grant_id
    FROM neurigraph.permission_grants AS g
    WHERE %(kind)s = 'grant' AND g.grant_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT p.failure_id
    FROM neurigraph.pipeline_failures AS p
    WHERE %(kind)s = 'failure' AND p.failure_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT q.quarantine_id
    FROM neurigraph.quarantines AS q
    WHERE %(kind)s = 'quarantine' AND q.quarantine_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT a.action_id
    FROM neurigraph.actions AS a
    WHERE %(kind)s = 'action' AND a.action_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT d.digest_id
    FROM neurigraph.digests AS d
    WHERE %(kind)s = 'digest' AND d.digest_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT w.webhook_id
    FROM neurigraph.webhooks AS w
    WHERE %(kind)s = 'webhook' AND w.webhook_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT d.delivery_id
    FROM neurigraph.webhook_deliveries AS d
    WHERE %(kind)s = 'delivery' AND d.delivery_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT s.space_id
    FROM neurigraph.spaces AS s
    WHERE %(kind)s = 'space' AND s.space_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT i.invitation_id
    FROM neurigraph.organization_invitations AS i
    WHERE %(kind)s = 'invitation' AND i.invitation_id BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT e.evidence_id
    FROM neurigraph.edge_evidence AS e
    WHERE %(kind)s = 'evidence' AND e.evidence_id BETWEEN %(first)s AND %(last)s
) AS found
LIMIT 2;
