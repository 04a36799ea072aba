-- The permit, block and month of the quota that admitted each row, so that usage can always be counted again from the log.
ALTER TABLE @database@.@log_local@ @on_cluster@
    ADD COLUMN IF NOT EXISTS quota_period LowCardinality(String),
    ADD COLUMN IF NOT EXISTS quota_block  LowCardinality(String),
    ADD COLUMN IF NOT EXISTS quota_permit UInt64 CODEC(ZSTD(1));
