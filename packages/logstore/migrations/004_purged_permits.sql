-- The permits of requests that were deleted before they expired (src/purge.ts). The quota counts the permits of a lost gateway in the log,
-- and adds these. They are needed only as long as a block can be open (operator/src/quota/settle-lost-permits.ts).
CREATE TABLE IF NOT EXISTS @database@.purged_permits @on_cluster@
(
    account_uid LowCardinality(String),
    quota_block String,
    id          UUID,
    purged_at   DateTime('UTC') DEFAULT now()
)
ENGINE = @engine@(@replica_everywhere_path@purged_at)
ORDER BY (account_uid, quota_block, id)
TTL purged_at + INTERVAL 4 DAY DELETE
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
