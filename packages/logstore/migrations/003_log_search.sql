-- What search finds by (src/search/columns.ts has the same expressions): blocks of 8,192 rows in which a text cannot be are not read.
-- Pieces of five bytes, in lower case; a text shorter than that is looked for everywhere. 64 KiB per block and index, some 20 % of the table's
-- disk; an insert takes 1.5 times its CPU. Rows that were there before are searched without: they expire.
ALTER TABLE @database@.@log_local@ @on_cluster@
    ADD INDEX IF NOT EXISTS search_request_body lower(request_body) TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS search_response_body lower(response_body) TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS search_head
        lower(concat(path, '?', query, '\n', arrayStringConcat(arrayMap(h -> concat(h.1, ': ', h.2), request_headers), '\n'), '\n', arrayStringConcat(arrayMap(h -> concat(h.1, ': ', h.2), response_headers), '\n')))
        TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS search_request_header_values request_headers.value TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS search_response_header_values response_headers.value TYPE bloom_filter(0.01) GRANULARITY 1;
