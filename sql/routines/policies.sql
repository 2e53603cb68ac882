-- Row-level security of the shared tables. Without a policy nothing is visible: the pipeline works for all users, the
-- owner of a graph sees its rows, and other callers see rows of the nodes that are open to them. Tables without a
-- policy for other callers (statistics of the whole graph, the queue, keys, grants) are visible to the owner only.
--
-- Postgres evaluates the policies of a table from the last name to the first. The names of the policies for other
-- callers sort before own_rows, so they are not evaluated for rows that the owner sees.

-- The same two policies for every shared table with row-level security.
DO $$
DECLARE
    guarded name;
BEGIN
    FOR guarded IN
        SELECT c.relname FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'neurigraph'::regnamespace AND c.relrowsecurity
    LOOP
        EXECUTE format('DROP POLICY IF EXISTS pipeline_all ON neurigraph.%I', guarded);
        EXECUTE format(
            'CREATE POLICY pipeline_all ON neurigraph.%I TO neurigraph_pipeline USING (true) WITH CHECK (true)', guarded
        );
        EXECUTE format('DROP POLICY IF EXISTS own_rows ON neurigraph.%I', guarded);
        EXECUTE format(
            'CREATE POLICY own_rows ON neurigraph.%I TO neurigraph_agent '
            'USING (user_id = (SELECT neurigraph.asking_user_id())) '
            'WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()))', guarded
        );
    END LOOP;
END
$$;

DROP POLICY IF EXISTS granted ON neurigraph.graph_index;
CREATE POLICY granted ON neurigraph.graph_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

-- Evidence of an edge names both its ends, and is visible with its record, as `not_hidden` says. Statements without a
-- record, from before evidence was kept, are visible with both ends; those of a person are the owner's.
DROP POLICY IF EXISTS granted ON neurigraph.edge_evidence;
CREATE POLICY granted ON neurigraph.edge_evidence FOR SELECT TO neurigraph_agent
USING (
    from_node_id IN (SELECT neurigraph.readable_nodes()) AND to_node_id IN (SELECT neurigraph.readable_nodes())
    AND observed_by IS NULL
);

-- An edge is visible with evidence for it.
DROP POLICY IF EXISTS granted ON neurigraph.node_edges;
CREATE POLICY granted ON neurigraph.node_edges FOR SELECT TO neurigraph_agent
USING (
    from_node_id IN (SELECT neurigraph.readable_nodes()) AND to_node_id IN (SELECT neurigraph.readable_nodes())
    AND EXISTS (SELECT FROM neurigraph.edge_evidence AS v WHERE v.edge_id = node_edges.edge_id)
);

-- A mention names a node and a record.
DROP POLICY IF EXISTS granted ON neurigraph.mentions;
CREATE POLICY granted ON neurigraph.mentions FOR SELECT TO neurigraph_agent
USING (
    node_id IN (SELECT neurigraph.readable_nodes())
    AND EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = mentions.record_id)
);

-- An alias is visible with its node, if a person gave it or a visible mention uses it.
DROP POLICY IF EXISTS granted ON neurigraph.node_aliases;
CREATE POLICY granted ON neurigraph.node_aliases FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

DROP POLICY IF EXISTS granted ON neurigraph.record_index;
CREATE POLICY granted ON neurigraph.record_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

DROP POLICY IF EXISTS granted ON neurigraph.file_index;
CREATE POLICY granted ON neurigraph.file_index FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

-- Log entries are visible with the file or record that they are about, whichever node it was in before.
DROP POLICY IF EXISTS granted ON neurigraph.compression_state_log;
CREATE POLICY granted ON neurigraph.compression_state_log FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.file_index AS f WHERE f.file_id = compression_state_log.file_id));

DROP POLICY IF EXISTS granted ON neurigraph.delta_log;
CREATE POLICY granted ON neurigraph.delta_log FOR SELECT TO neurigraph_agent
-- A third party sees memories as they are now: what was removed from one before it was shared stays hidden.
USING (
    (SELECT neurigraph.claims() ->> 'role') <> 'third_party'
    AND EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = delta_log.record_id)
);

-- Sources of visible records, never their messages.
DROP POLICY IF EXISTS granted ON neurigraph.sources;
CREATE POLICY granted ON neurigraph.sources FOR SELECT TO neurigraph_agent
USING (
    EXISTS (
        SELECT FROM neurigraph.record_index AS r
        WHERE r.user_id = sources.user_id AND r.source = sources.kind || ':' || sources.source_id
    )
);

-- A persona with a grant to write sends conversations and events. They are closed to it when its last such grant ends.
ALTER TABLE neurigraph.sources ALTER COLUMN persona_id SET DEFAULT neurigraph.writing_persona();
DROP POLICY IF EXISTS handed_in ON neurigraph.sources;
CREATE POLICY handed_in ON neurigraph.sources TO neurigraph_agent
USING (persona_id = (SELECT neurigraph.writing_persona()))
WITH CHECK (
    persona_id = (SELECT neurigraph.writing_persona()) AND kind <> 'upload'
    AND EXISTS (
        SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = sources.persona_id AND g.user_id = sources.user_id
    )
);

DROP POLICY IF EXISTS handed_in ON neurigraph.messages;
CREATE POLICY handed_in ON neurigraph.messages TO neurigraph_agent
USING (
    EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = messages.source_id AND s.persona_id = (SELECT neurigraph.writing_persona())
    )
);

-- It sees how far the storing of these is, and why it failed.
DROP POLICY IF EXISTS handed_in ON neurigraph.storage_triggers;
CREATE POLICY handed_in ON neurigraph.storage_triggers FOR SELECT TO neurigraph_agent
USING (source_id IN (SELECT neurigraph.handed_in_sources()));

DROP POLICY IF EXISTS handed_in ON neurigraph.pipeline_failures;
CREATE POLICY handed_in ON neurigraph.pipeline_failures FOR SELECT TO neurigraph_agent
USING (trigger_id IN (SELECT neurigraph.handed_in_triggers()));

-- A note can only be pinned to a node that its writer may write to; another one is absent for the writer.
DROP POLICY IF EXISTS handed_in ON neurigraph.notes;
CREATE POLICY handed_in ON neurigraph.notes TO neurigraph_agent
USING (
    EXISTS (
        SELECT FROM neurigraph.sources AS s
        WHERE s.source_id = notes.source_id AND s.persona_id = (SELECT neurigraph.writing_persona())
    )
);
DROP POLICY IF EXISTS pinned_where_writable ON neurigraph.notes;
CREATE POLICY pinned_where_writable ON neurigraph.notes AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (node_id IS NULL OR neurigraph.may_hand_in(node_id));

-- An interface replaces a message while the message is streaming in, and never a complete one.
DROP POLICY IF EXISTS streaming_only ON neurigraph.messages;
CREATE POLICY streaming_only ON neurigraph.messages AS RESTRICTIVE FOR UPDATE TO neurigraph_agent
USING (NOT complete) WITH CHECK (true);

-- Private sources are hidden from every caller but the owner, whatever nodes are granted. The logs of records and files
-- follow, since their policies query the registries.
DROP POLICY IF EXISTS not_hidden ON neurigraph.sources;
CREATE POLICY not_hidden ON neurigraph.sources AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_sources())
    OR source_id NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
);

DROP POLICY IF EXISTS not_hidden ON neurigraph.record_index;
CREATE POLICY not_hidden ON neurigraph.record_index AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    NOT quarantined
    AND (
        (SELECT neurigraph.sees_all_sources())
        OR split_part(source, ':', 2)::uuid NOT IN (SELECT unnest((SELECT neurigraph.hidden_sources())))
    )
);

DROP POLICY IF EXISTS not_hidden ON neurigraph.file_index;
CREATE POLICY not_hidden ON neurigraph.file_index AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);

-- Facts are visible with their records, until their time to be forgotten has come; then the owner alone sees them, and
-- can take it back until they are erased.
DROP POLICY IF EXISTS granted ON neurigraph.facts;
CREATE POLICY granted ON neurigraph.facts FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = facts.record_id));

DROP POLICY IF EXISTS not_forgotten ON neurigraph.facts;
CREATE POLICY not_forgotten ON neurigraph.facts AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (forgotten_at IS NULL AND (forget_after IS NULL OR forget_after > now()))
    OR user_id = (SELECT neurigraph.asking_user_id())
);

-- Changes of facts are visible with them, but for third parties, who see facts as they are now.
DROP POLICY IF EXISTS granted ON neurigraph.fact_deltas;
CREATE POLICY granted ON neurigraph.fact_deltas FOR SELECT TO neurigraph_agent
USING ((SELECT neurigraph.claims() ->> 'role') <> 'third_party');
DROP POLICY IF EXISTS not_hidden ON neurigraph.fact_deltas;
CREATE POLICY not_hidden ON neurigraph.fact_deltas AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = fact_deltas.fact_id));

-- A verdict is visible to every caller with both its facts.
DROP POLICY IF EXISTS granted ON neurigraph.fact_verdicts;
CREATE POLICY granted ON neurigraph.fact_verdicts FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = fact_verdicts.later_id));
DROP POLICY IF EXISTS not_hidden ON neurigraph.fact_verdicts;
CREATE POLICY not_hidden ON neurigraph.fact_verdicts AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = fact_verdicts.later_id)
    AND EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = fact_verdicts.earlier_id)
);

DROP POLICY IF EXISTS not_hidden ON neurigraph.pending_verdicts;
CREATE POLICY not_hidden ON neurigraph.pending_verdicts AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);

-- A link is visible with both its ends: facts that are not forgotten, records, nodes and sources. A key is visible with
-- what it signed. The owner sees links to what is about to be forgotten, as the facts.
DROP POLICY IF EXISTS granted ON neurigraph.links;
CREATE POLICY granted ON neurigraph.links FOR SELECT TO neurigraph_agent
USING (
    EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = links.from_record_id)
    AND (from_fact_id IS NULL OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = links.from_fact_id))
    AND (to_fact_id IS NULL OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = links.to_fact_id))
    AND (to_node_id IS NULL OR to_node_id IN (SELECT neurigraph.readable_nodes()))
    AND (to_source_id IS NULL OR EXISTS (SELECT FROM neurigraph.sources AS s WHERE s.source_id = links.to_source_id))
    AND (
        to_record_id IS NULL
        OR EXISTS (SELECT FROM neurigraph.record_index AS o WHERE o.record_id = links.to_record_id)
    )
);
DROP POLICY IF EXISTS not_hidden ON neurigraph.links;
CREATE POLICY not_hidden ON neurigraph.links AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (
        (SELECT neurigraph.sees_all_records())
        OR (
            from_record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
            AND (to_record_id IS NULL OR to_record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r))
        )
    )
    AND (to_node_id IS NULL OR EXISTS (SELECT FROM neurigraph.graph_index AS g WHERE g.node_id = links.to_node_id))
);
DROP POLICY IF EXISTS granted ON neurigraph.signing_keys;
CREATE POLICY granted ON neurigraph.signing_keys FOR SELECT TO neurigraph_agent
USING (
    EXISTS (SELECT FROM neurigraph.links AS l WHERE signing_keys.key_id IN (l.key_id, l.end_key_id))
    OR holder = (SELECT 'persona:' || neurigraph.writing_persona())
);

-- A note that is the next version of a fact needs the right to write where that fact is.
DROP POLICY IF EXISTS follows_where_writable ON neurigraph.notes;
CREATE POLICY follows_where_writable ON neurigraph.notes AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (
    follows IS NULL OR EXISTS (
        SELECT FROM neurigraph.facts AS f INNER JOIN neurigraph.record_index AS r ON f.record_id = r.record_id
        WHERE f.fact_id = notes.follows AND neurigraph.may_write_node(r.node_id)
    )
);

-- A profile of all records is its owner's alone.
DROP POLICY IF EXISTS granted ON neurigraph.profiles;
CREATE POLICY granted ON neurigraph.profiles FOR SELECT TO neurigraph_agent
USING (covers = 'shared' AND node_id IN (SELECT neurigraph.readable_nodes()));

DROP POLICY IF EXISTS not_hidden ON neurigraph.pending_facts;
CREATE POLICY not_hidden ON neurigraph.pending_facts AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);

-- The logs of records and files in quarantine are hidden from the owner, too, and so are nodes that only such records
-- made.
DROP POLICY IF EXISTS not_hidden ON neurigraph.delta_log;
CREATE POLICY not_hidden ON neurigraph.delta_log AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (
        (SELECT neurigraph.sees_all_records())
        OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
    )
    AND delta_id <> ALL((SELECT neurigraph.hidden_deltas())::uuid [])
);

DROP POLICY IF EXISTS not_hidden ON neurigraph.compression_state_log;
CREATE POLICY not_hidden ON neurigraph.compression_state_log AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR file_id IN (SELECT f.file_id FROM neurigraph.file_index AS f)
);

-- What follows from records in quarantine is hidden from the owner, too.
DROP POLICY IF EXISTS not_hidden ON neurigraph.mentions;
CREATE POLICY not_hidden ON neurigraph.mentions AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);

DROP POLICY IF EXISTS not_hidden ON neurigraph.edge_evidence;
CREATE POLICY not_hidden ON neurigraph.edge_evidence AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    record_id IS NULL
    OR (SELECT neurigraph.sees_all_records())
    OR record_id IN (SELECT r.record_id FROM neurigraph.record_index AS r)
);

DROP POLICY IF EXISTS not_hidden ON neurigraph.node_aliases;
CREATE POLICY not_hidden ON neurigraph.node_aliases AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    given_by IS NOT NULL
    OR EXISTS (SELECT FROM neurigraph.mentions AS m WHERE m.alias_id = node_aliases.alias_id)
);

DROP POLICY IF EXISTS not_hidden ON neurigraph.node_edges;
CREATE POLICY not_hidden ON neurigraph.node_edges AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (evidence_count > 0);

DROP POLICY IF EXISTS not_hidden ON neurigraph.node_candidates;
CREATE POLICY not_hidden ON neurigraph.node_candidates AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (segments > 0);

DROP POLICY IF EXISTS not_hidden ON neurigraph.graph_index;
CREATE POLICY not_hidden ON neurigraph.graph_index AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (NOT quarantined);

-- Where text comes from is what the claims say: a caller can state no other key, persona or door.
ALTER TABLE neurigraph.sources
ALTER COLUMN key_id SET DEFAULT neurigraph.asking_key(),
ALTER COLUMN received_through SET DEFAULT neurigraph.asking_door();
DROP POLICY IF EXISTS true_origin ON neurigraph.sources;
CREATE POLICY true_origin ON neurigraph.sources AS RESTRICTIVE FOR INSERT TO neurigraph_agent
WITH CHECK (
    key_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_key())
    AND persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona())
    AND received_through IS NOT DISTINCT FROM (SELECT neurigraph.asking_door())
);
DO $$
DECLARE
    command text;
BEGIN
    FOREACH command IN ARRAY ARRAY['INSERT', 'UPDATE'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS true_origin_%s ON neurigraph.messages', lower(command));
        EXECUTE format(
            'CREATE POLICY true_origin_%s ON neurigraph.messages AS RESTRICTIVE FOR %s TO neurigraph_agent %s '
            'WITH CHECK (key_id IS NOT DISTINCT FROM (SELECT neurigraph.asking_key()) '
            'AND persona_id IS NOT DISTINCT FROM (SELECT neurigraph.writing_persona()) '
            'AND received_through IS NOT DISTINCT FROM (SELECT neurigraph.asking_door()))',
            lower(command), command, CASE command WHEN 'UPDATE' THEN 'USING (true)' ELSE '' END
        );
    END LOOP;
END
$$;

-- Answers to requests are visible to the caller alone, not even to other keys of the same user.
DROP POLICY IF EXISTS own_requests ON neurigraph.request_keys;
CREATE POLICY own_requests ON neurigraph.request_keys TO neurigraph_agent
USING (user_id = (SELECT (neurigraph.claims() ->> 'user_id')::uuid))
WITH CHECK (user_id = (SELECT (neurigraph.claims() ->> 'user_id')::uuid));
DROP POLICY IF EXISTS only_caller ON neurigraph.request_keys;
CREATE POLICY only_caller ON neurigraph.request_keys AS RESTRICTIVE TO neurigraph_agent
USING (caller = (SELECT neurigraph.asking_caller()))
WITH CHECK (caller = (SELECT neurigraph.asking_caller()));

-- A standard is visible with its node; only the owner sets one.
DROP POLICY IF EXISTS granted ON neurigraph.node_standards;
CREATE POLICY granted ON neurigraph.node_standards FOR SELECT TO neurigraph_agent
USING (node_id IN (SELECT neurigraph.readable_nodes()));

-- A persona sees what it asked for and what it may decide about, if it sees everything that this is about. Third
-- parties see nothing.
DROP POLICY IF EXISTS granted ON neurigraph.actions;
CREATE POLICY granted ON neurigraph.actions FOR SELECT TO neurigraph_agent
USING (
    action_id IN (SELECT neurigraph.actions_of_persona())
    AND node_id IN (SELECT neurigraph.readable_nodes())
    AND (other_node_id IS NULL OR other_node_id IN (SELECT neurigraph.readable_nodes()))
);

-- What is about a hidden record or fact is hidden with it, in quarantine from the owner, too.
DROP POLICY IF EXISTS not_hidden ON neurigraph.actions;
CREATE POLICY not_hidden ON neurigraph.actions AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (
    (record_id IS NULL OR EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = actions.record_id))
    AND (
        other_record_id IS NULL
        OR EXISTS (SELECT FROM neurigraph.record_index AS r WHERE r.record_id = actions.other_record_id)
    )
    AND (fact_id IS NULL OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = actions.fact_id))
    AND (other_fact_id IS NULL OR EXISTS (SELECT FROM neurigraph.facts AS f WHERE f.fact_id = actions.other_fact_id))
);

-- Others than the owner see their own votes.
DROP POLICY IF EXISTS granted ON neurigraph.action_votes;
CREATE POLICY granted ON neurigraph.action_votes FOR SELECT TO neurigraph_agent
USING (voter = (SELECT neurigraph.asking_voter()));
DROP POLICY IF EXISTS not_hidden ON neurigraph.action_votes;
CREATE POLICY not_hidden ON neurigraph.action_votes AS RESTRICTIVE FOR SELECT TO neurigraph_agent
USING (EXISTS (SELECT FROM neurigraph.actions AS a WHERE a.action_id = action_votes.action_id));
