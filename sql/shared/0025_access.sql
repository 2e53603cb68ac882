-- Others than the owner of a graph: whose key it is, what a persona hands in, and no right of a face that none uses.

-- A key is the user's own, a persona's (its node) or a third party's (a name that the user gave it).
ALTER TABLE neurigraph.api_keys
ADD COLUMN role text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'persona', 'third_party')),
ADD COLUMN subject_id text CHECK (char_length(subject_id) BETWEEN 1 AND 300),
ADD COLUMN last_used_at timestamptz,
ADD CHECK ((role = 'user') = (subject_id IS NULL)),
ADD CHECK (char_length(label) <= 300);
-- Anew: it says more now.
DROP FUNCTION neurigraph.owner_of_key(bytea);

-- The owner of a graph gives and takes keys and grants over a face; what is hashed leaves the table for nobody.
GRANT SELECT (key_id, user_id, role, subject_id, label, created_at, expires_at, revoked_at, last_used_at)
ON neurigraph.api_keys TO neurigraph_agent;
GRANT INSERT (user_id, key_hash, role, subject_id, label, expires_at), UPDATE (expires_at, revoked_at)
ON neurigraph.api_keys TO neurigraph_agent;
GRANT INSERT (user_id, subject_id, subject_type, target_node_id, grant_type, grantor_user_id, expires_at),
UPDATE (revoked_at) ON neurigraph.permission_grants TO neurigraph_agent;
ALTER TABLE neurigraph.permission_grants ADD CHECK (char_length(subject_id) <= 300);

-- Which persona handed it in; null is the owner. No foreign key: whose persona is gone must not become the owner's.
ALTER TABLE neurigraph.sources ADD COLUMN persona_id uuid;
-- Ids of the owner's sources and of each persona's are apart, so that none is found out by trying.
ALTER TABLE neurigraph.sources DROP CONSTRAINT sources_user_id_kind_external_id_key;
ALTER TABLE neurigraph.sources ADD CONSTRAINT sources_external_id
UNIQUE NULLS NOT DISTINCT (user_id, kind, external_id, persona_id);
CREATE INDEX sources_persona_id ON neurigraph.sources (persona_id) WHERE persona_id IS NOT NULL;

-- Names of schemas stand in the catalog, for every role to read: those of a user's nodes may say nothing.
ALTER TABLE neurigraph.users ADD COLUMN opaque_schema_names boolean NOT NULL DEFAULT false;

-- Clocks and staged nodes are written by functions that check the claims.
REVOKE UPDATE (last_accessed_at) ON neurigraph.graph_index FROM neurigraph_agent;
REVOKE INSERT ON neurigraph.warm_nodes FROM neurigraph_agent;
REVOKE UPDATE (expires_at) ON neurigraph.warm_nodes FROM neurigraph_agent;
REVOKE EXECUTE ON FUNCTION neurigraph.touch_nodes(uuid []) FROM neurigraph_agent;
