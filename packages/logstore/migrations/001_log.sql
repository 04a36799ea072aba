-- The log: one row per accepted request. src/migrations.ts replaces macros (@name@), such as the columns in LOG_TABLE.
--
-- Sort key: a project's latest entries are one range. Every column of the sort and partition key is fixed at acceptance, so both
-- copies of a row that is delivered twice are in the same partition, and ReplacingMergeTree merges them. Until then, reads must
-- deduplicate by id (LIMIT 1 BY id, highest version first). Never use plain count() or sum() on this table.
CREATE TABLE IF NOT EXISTS @database@.@log_local@ @on_cluster@
(
    @log_columns@,

    -- The texts of bodies with a content coding or a charset, for search. Empty if the text is the body. Delivery decodes them.
    @body_text_columns@,

    -- ClickHouse computes the following columns. inserted_at is what a tail follows, because rows arrive late after an outage.
    inserted_at            DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    -- Lets a list without bodies show how much there is to read.
    body_bytes             UInt64 MATERIALIZED length(request_body) + length(response_body) CODEC(ZSTD(1)),
    -- For search. For repeated names, the map's [] finds only the first; request_headers has all of them.
    request_header_map     Map(LowCardinality(String), String)
                           MATERIALIZED mapFromArrays(arrayMap(h -> lower(h.1), request_headers), arrayMap(h -> h.2, request_headers))
                           CODEC(ZSTD(1)),
    response_header_map    Map(LowCardinality(String), String)
                           MATERIALIZED mapFromArrays(arrayMap(h -> lower(h.1), response_headers), arrayMap(h -> h.2, response_headers))
                           CODEC(ZSTD(1)),
    -- W3C Trace Context: connects an entry with the caller's traces.
    traceparent            String
                           MATERIALIZED arrayFirst(h -> lower(h.1) = 'traceparent', request_headers).2
                           CODEC(ZSTD(1)),

    INDEX id_bloom id TYPE bloom_filter(0.01) GRANULARITY 4,
    INDEX inserted_at_minmax inserted_at TYPE minmax GRANULARITY 1,
    -- Finds earlier deliveries with the same id of the provider.
    INDEX delivery_id_bloom delivery_id TYPE bloom_filter(0.01) GRANULARITY 1,
    -- Indexes for search (src/search/columns.ts has the same expressions). Blocks of 8,192 rows that cannot contain a text are not read.
    -- The indexes have pieces of five bytes, in lower case; a shorter text is searched in all blocks. They take 64 KiB per block and index,
    -- about 20 % of the table's disk, and 1.5 times the CPU of an insert.
    INDEX search_request_body lower(if(empty(request_text), request_body, request_text)) TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    INDEX search_response_body lower(if(empty(response_text), response_body, response_text)) TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    INDEX search_head
        lower(concat(path, '?', query, '\n', arrayStringConcat(arrayMap(h -> concat(h.1, ': ', h.2), request_headers), '\n'), '\n', arrayStringConcat(arrayMap(h -> concat(h.1, ': ', h.2), response_headers), '\n')))
        TYPE ngrambf_v1(5, 65536, 1, 0) GRANULARITY 1,
    INDEX search_request_header_values request_headers.value TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX search_response_header_values response_headers.value TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = @engine@(@replica_path@version)
PARTITION BY toDate(received_at)
ORDER BY (project_uid, received_at, id)
TTL expires_at DELETE
SETTINGS
    -- Exactly-once delivery must not depend on the server's defaults (they changed in 25.9, 25.10 and 26.2).
    non_replicated_deduplication_window = 10000,
    replicated_deduplication_window = 10000,
    replicated_deduplication_window_seconds = 604800,
    -- Acknowledged rows are on disk.
    fsync_after_insert = 1,
    fsync_part_directory = 1;
