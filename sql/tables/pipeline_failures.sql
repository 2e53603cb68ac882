-- Work that waits for a person: a segment or an upload whose last attempt failed.
CREATE TABLE neurigraph.pipeline_failures (
    failure_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    trigger_id uuid REFERENCES neurigraph.storage_triggers ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES neurigraph.users ON DELETE CASCADE,
    -- The pipeline step that failed.
    step text NOT NULL,
    error text NOT NULL,
    attempts integer NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    replayed_at timestamptz,
    upload_id uuid REFERENCES neurigraph.uploads ON DELETE CASCADE,
    CHECK (num_nonnulls(trigger_id, upload_id) = 1)
);
CREATE INDEX pipeline_failures_open ON neurigraph.pipeline_failures (occurred_at) WHERE replayed_at IS NULL;
CREATE INDEX pipeline_failures_trigger_id ON neurigraph.pipeline_failures (trigger_id);
CREATE INDEX pipeline_failures_user_id ON neurigraph.pipeline_failures (user_id, occurred_at);
CREATE INDEX pipeline_failures_upload_id ON neurigraph.pipeline_failures (upload_id) WHERE upload_id IS NOT NULL;

ALTER TABLE neurigraph.pipeline_failures ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON neurigraph.pipeline_failures TO neurigraph_pipeline;
GRANT SELECT ON neurigraph.pipeline_failures TO neurigraph_agent;
GRANT SELECT (failure_id, trigger_id, upload_id, user_id, step, attempts, occurred_at, replayed_at)
ON neurigraph.pipeline_failures TO neurigraph_analyst;

-- Replaced when it changes: functions, triggers, policies.

CREATE POLICY pipeline_all ON neurigraph.pipeline_failures TO neurigraph_pipeline USING (true) WITH CHECK (true);
CREATE POLICY analyst_read ON neurigraph.pipeline_failures FOR SELECT TO neurigraph_analyst USING (true);
CREATE POLICY own_rows ON neurigraph.pipeline_failures TO neurigraph_agent
USING (user_id = (SELECT neurigraph.asking_user_id()))
WITH CHECK (user_id = (SELECT neurigraph.asking_user_id()));

CREATE POLICY by_member ON neurigraph.pipeline_failures FOR SELECT TO neurigraph_agent
USING (
    trigger_id IN (
        SELECT t.trigger_id FROM neurigraph.storage_triggers AS t
        WHERE t.source_id IN (SELECT neurigraph.sources_of_member())
    )
    OR upload_id IN (SELECT neurigraph.sources_of_member())
);

CREATE POLICY handed_in ON neurigraph.pipeline_failures FOR SELECT TO neurigraph_agent
USING (trigger_id IN (SELECT neurigraph.handed_in_triggers()));
