-- Indexes for search (src/search/columns.ts has the same expressions). Blocks of 8,192 rows that cannot contain a text are not read. The
-- indexes have pieces of five bytes, in lower case; a shorter text is searched in all blocks. They take 64 KiB per block and index, about
-- 20 % of the table's disk, and 1.5 times the CPU of an insert. Existing rows are searched without an index until they expire.
ALTER TABLE @database@.@log_local@ @on_cluster@
    ADD INDEX IF NOT EXISTS search_request_body lower(request_body) TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS search_response_body lower(response_body) TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS search_head
        lower(concat(path, '?', query, '\n', arrayStringConcat(arrayMap(h -> concat(h.1, ': ', h.2), request_headers), '\n'), '\n', arrayStringConcat(arrayMap(h -> concat(h.1, ': ', h.2), response_headers), '\n')))
        TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS search_request_header_values request_headers.value TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS search_response_header_values response_headers.value TYPE bloom_filter(0.01) GRANULARITY 1;
