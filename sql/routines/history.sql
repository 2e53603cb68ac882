-- The deltas of records: appended by one function, and walked back to any past state.

-- Appends what was changed of a record, in the transaction that changes it; whoever appends has the record's chain
-- until the end of theirs, so chains do not fork. w is the time of this server, but always after the delta before,
-- whatever the clock does; of the first, when the record was created.
CREATE OR REPLACE FUNCTION neurigraph.append_delta(
    changed uuid, operation text, old_values jsonb, new_values jsonb, author text, notes jsonb DEFAULT '[]',
    OUT delta_id uuid, OUT w timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    record neurigraph.record_index;
    latest record;
BEGIN
    SELECT i.* INTO record FROM neurigraph.record_index AS i WHERE i.record_id = changed FOR NO KEY UPDATE;
    SELECT d.delta_id, d.w_coordinate INTO latest
    FROM neurigraph.delta_log AS d WHERE d.record_id = changed ORDER BY d.w_coordinate DESC LIMIT 1;
    INSERT INTO neurigraph.delta_log AS d (
        user_id, record_id, w_coordinate, delta_payload, previous_delta_id, authored_by
    )
    VALUES (
        record.user_id,
        changed,
        CASE
            WHEN latest.delta_id IS NULL THEN record.created_at
            ELSE greatest(clock_timestamp(), latest.w_coordinate + interval '1 microsecond')
        END,
        jsonb_build_object('operation', operation, 'before', old_values, 'after', new_values, 'notes', notes),
        latest.delta_id,
        author
    )
    RETURNING d.delta_id, d.w_coordinate INTO append_delta.delta_id, append_delta.w;
END
$$;

-- On every table of records: what was changed, by the values themselves. Who changes them is said by the parameter
-- neurigraph.author, for the transaction; without it nothing changes, since the column of the log is never null.
CREATE OR REPLACE FUNCTION neurigraph.log_record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old_values jsonb;
    new_values jsonb;
    moment timestamptz;
BEGIN
    SELECT jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value) INTO old_values, new_values
    FROM jsonb_each(jsonb_build_object(
        'title', OLD.title, 'summary', OLD.summary, 'kw_entities', OLD.kw_entities, 'kw_topics', OLD.kw_topics,
        'kw_dates', OLD.kw_dates, 'kw_relationships', OLD.kw_relationships, 'embedding_model', OLD.embedding_model,
        'superseded_by', OLD.superseded_by
    )) AS o
    INNER JOIN jsonb_each(jsonb_build_object(
        'title', NEW.title, 'summary', NEW.summary, 'kw_entities', NEW.kw_entities, 'kw_topics', NEW.kw_topics,
        'kw_dates', NEW.kw_dates, 'kw_relationships', NEW.kw_relationships, 'embedding_model', NEW.embedding_model,
        'superseded_by', NEW.superseded_by
    )) AS n ON o.key = n.key AND o.value <> n.value;
    IF old_values IS NULL THEN
        RETURN NEW;
    END IF;
    SELECT a.w INTO moment FROM neurigraph.append_delta(
        NEW.record_id,
        CASE
            WHEN NEW.superseded_by IS DISTINCT FROM OLD.superseded_by
                THEN CASE WHEN NEW.superseded_by IS NULL THEN 'restore' ELSE 'supersede' END
            WHEN old_values - 'embedding_model' = '{}' THEN 'embed'
            ELSE 'revise'
        END,
        old_values,
        new_values,
        nullif(current_setting('neurigraph.author', true), '')
    ) AS a;
    IF OLD.superseded_by IS NULL AND NEW.superseded_by IS NOT NULL THEN
        NEW.superseded := OLD.superseded + tstzmultirange(tstzrange(moment, NULL));
    ELSIF OLD.superseded_by IS NOT NULL AND NEW.superseded_by IS NULL THEN
        NEW.superseded := OLD.superseded * tstzmultirange(tstzrange(NULL, moment));
    END IF;
    RETURN NEW;
END
$$;

REVOKE ALL ON FUNCTION neurigraph.append_delta(uuid, text, jsonb, jsonb, text, jsonb), neurigraph.log_record_change()
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION neurigraph.append_delta(uuid, text, jsonb, jsonb, text, jsonb) TO neurigraph_pipeline;
