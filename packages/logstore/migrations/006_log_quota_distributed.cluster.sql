-- Cluster only: the same columns in the table for all reads and writes.
ALTER TABLE @database@.log @on_cluster@
    ADD COLUMN IF NOT EXISTS quota_period LowCardinality(String),
    ADD COLUMN IF NOT EXISTS quota_block  LowCardinality(String),
    ADD COLUMN IF NOT EXISTS quota_permit UInt64;
