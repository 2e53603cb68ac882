-- Names are compared without accents, which people leave out when they ask.

CREATE OR REPLACE FUNCTION neurigraph_private.name_words(said text) RETURNS text []
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_remove(
        regexp_split_to_array(
            translate(
                normalize(
                    regexp_replace(normalize(lower(normalize(said, NFKC)), NFD), '[\u0300-\u036f]', '', 'g'), NFC
                ),
                'ıłøđ', 'ilod'
            ),
            '[[:space:][:punct:]]+'
        ), ''
    )
$$;
REVOKE ALL ON FUNCTION neurigraph_private.name_words(text) FROM PUBLIC;

SELECT count(neurigraph_private.index_names(g)) FROM neurigraph.graph_index AS g
CROSS JOIN LATERAL array_to_string(g.node_name || g.aliases, '') AS n (names)
WHERE octet_length(n.names) > char_length(n.names);
