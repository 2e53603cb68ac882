-- How a question names nodes is found out by the process that asks, which holds the shells: no table of names is kept.

DROP TRIGGER index_names ON neurigraph.graph_index;
DROP TRIGGER keep_names ON neurigraph.graph_index;
DROP FUNCTION neurigraph.keep_names();
DROP FUNCTION neurigraph_private.index_names(neurigraph.graph_index);
-- With the functions that gave its rows.
DROP TABLE neurigraph.node_names CASCADE;
DROP FUNCTION neurigraph_private.gaps(text);
DROP FUNCTION neurigraph_private.name_words(text);
