-- Roles, the vector extension and the schemas. Only this file runs as the connecting administrator; every other file
-- runs as neurigraph_owner. Roles belong to the whole server, so each statement first checks whether its role exists.
-- The migration runner sets logins and passwords, which it derives from the secret of the installation.
-- The analyst reads columns without words of users: the files of tables name them.

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY[
        'neurigraph_owner', 'neurigraph_pipeline', 'neurigraph_agent', 'neurigraph_dagster', 'neurigraph_analyst'
    ] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I NOINHERIT', wanted);
        END IF;
        -- From Postgres 16 on, the creator of a role may administer the role, but needs this grant to become it.
        IF NOT pg_catalog.pg_has_role(current_user, wanted, 'USAGE') THEN
            EXECUTE format('GRANT %I TO %I', wanted, current_user);
        END IF;
    END LOOP;
    -- The pipeline becomes the owner while it provisions a node, and inherits no rights of the owner.
    IF NOT pg_catalog.pg_has_role('neurigraph_pipeline', 'neurigraph_owner', 'MEMBER') THEN
        GRANT neurigraph_owner TO neurigraph_pipeline;
    END IF;
    EXECUTE format('GRANT CREATE ON DATABASE %I TO neurigraph_owner', current_database());
END
$$;

CREATE EXTENSION IF NOT EXISTS vector;

CREATE SCHEMA IF NOT EXISTS neurigraph AUTHORIZATION neurigraph_owner;
CREATE SCHEMA IF NOT EXISTS neurigraph_private AUTHORIZATION neurigraph_owner;

REVOKE ALL ON SCHEMA neurigraph_private FROM PUBLIC;
GRANT USAGE ON SCHEMA neurigraph TO neurigraph_pipeline, neurigraph_agent, neurigraph_analyst;
