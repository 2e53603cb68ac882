-- One chain of deltas for each record, in the order of w, written by one function alone (routines/history.sql).

CREATE UNIQUE INDEX delta_log_chain ON neurigraph.delta_log (record_id, w_coordinate);
REVOKE INSERT ON neurigraph.delta_log FROM neurigraph_pipeline;
