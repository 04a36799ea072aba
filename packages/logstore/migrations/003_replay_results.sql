-- Results of replays: one row per attempt. If a request was sent twice (an operator was killed in between), reads use the last one.
-- In a cluster, every node has a copy: results are few compared with the log, and expire with the project's retention.
CREATE TABLE IF NOT EXISTS @database@.replay_results @on_cluster@
(
    @replay_results_columns@,

    -- Until when the operator that sends a row may lead. A row that arrives later, because its operator was frozen, could be the result
    -- for a request that another leader has purged. Rows without this time are always accepted, for example those of a restore.
    stored_before DateTime('UTC') EPHEMERAL toDateTime(4294967295, 'UTC'),
    -- A constraint cannot name an ephemeral column. nowInBlock, unlike now, is the time when the rows have arrived.
    is_in_time    Bool MATERIALIZED nowInBlock('UTC') <= stored_before,

    INDEX request_id_bloom request_id TYPE bloom_filter(0.01) GRANULARITY 1,
    CONSTRAINT in_time CHECK is_in_time
)
ENGINE = @engine@(@replica_everywhere_path@sent_at)
PARTITION BY toDate(sent_at)
ORDER BY (project_uid, replay_uid, request_id, sent_at)
TTL expires_at DELETE
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
