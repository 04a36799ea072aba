-- Results of replays: one row per attempt. If a request was sent twice (an operator was killed in between), reads use the last one.
-- In a cluster, every node has a copy: results are few compared with the log, and expire with the project's retention.
CREATE TABLE IF NOT EXISTS @database@.replay_results @on_cluster@
(
    project_uid          LowCardinality(String),
    replay_uid           LowCardinality(String),
    request_id           UUID,
    -- From the captured request: the position where a replay continues after a restart.
    request_received_at  DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    sent_at              DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    expires_at           DateTime('UTC') CODEC(Delta, ZSTD(1)),
    namespace            LowCardinality(String),
    replay               LowCardinality(String),
    target               LowCardinality(String),
    url                  String CODEC(ZSTD(1)),
    method               LowCardinality(String),
    -- The API key is replaced with its name.
    sent_headers         Array(Tuple(name String, value String)) CODEC(ZSTD(1)),
    -- Empty unless the body was edited: otherwise it is the captured one.
    sent_body            String CODEC(ZSTD(3)),
    edited               Bool,
    status               UInt16 CODEC(ZSTD(1)),
    response_headers     Array(Tuple(name String, value String)) CODEC(ZSTD(1)),
    response_body        String CODEC(ZSTD(3)),
    response_body_bytes  UInt64 CODEC(ZSTD(1)),
    response_truncated   Bool,
    error                String CODEC(ZSTD(1)),
    duration_us          UInt64 CODEC(ZSTD(1)),
    first_byte_us        UInt64 CODEC(ZSTD(1)),

    INDEX request_id_bloom request_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = @engine@(@replica_everywhere_path@sent_at)
PARTITION BY toDate(sent_at)
ORDER BY (project_uid, replay_uid, request_id, sent_at)
TTL expires_at DELETE
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
