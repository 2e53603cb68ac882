-- The rights of personas and third parties on single nodes. A grant opens the node that it names and no other.
CREATE TABLE neurigraph.permission_grants (
    grant_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The node of a persona, or the name that the user gave a third party.
    subject_id text NOT NULL CHECK (subject_id <> '') CHECK (char_length(subject_id) <= 300),
    subject_type neurigraph.subject_type NOT NULL,
    target_node_id uuid NOT NULL,
    grant_type neurigraph.grant_type NOT NULL,
    grantor_user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    granted_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT the_grantor_owns_the_graph CHECK (grantor_user_id = user_id),
    CONSTRAINT third_parties_only_read CHECK (subject_type <> 'third_party' OR grant_type = 'read'),
    FOREIGN KEY (target_node_id, user_id) REFERENCES neurigraph.graph_index (node_id, user_id) ON DELETE CASCADE
);
CREATE INDEX permission_grants_subject_id ON neurigraph.permission_grants (subject_id);
CREATE INDEX permission_grants_target_node_id ON neurigraph.permission_grants (target_node_id);
CREATE INDEX permission_grants_subject_type ON neurigraph.permission_grants (subject_type);
CREATE INDEX permission_grants_revoked_at ON neurigraph.permission_grants (revoked_at);

ALTER TABLE neurigraph.permission_grants ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON neurigraph.permission_grants TO neurigraph_pipeline, neurigraph_agent;
-- The owner of a graph manages keys and grants through an interface. No role reads the hashes.
GRANT INSERT (user_id, subject_id, subject_type, target_node_id, grant_type, grantor_user_id, expires_at),
UPDATE (revoked_at)
ON neurigraph.permission_grants TO neurigraph_agent;

-- Replaced when it changes: functions, triggers, policies.

-- A write sets off a new version of cached answers.

CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE ON neurigraph.permission_grants
FOR EACH ROW EXECUTE FUNCTION neurigraph.note_row_change();

CREATE POLICY pipeline_all ON neurigraph.permission_grants TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY own_rows ON neurigraph.permission_grants TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));
