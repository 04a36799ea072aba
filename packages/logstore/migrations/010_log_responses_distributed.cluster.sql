-- Cluster only: the same columns in the table for all reads and writes.
ALTER TABLE @database@.log @on_cluster@
    ADD COLUMN IF NOT EXISTS response       LowCardinality(String),
    ADD COLUMN IF NOT EXISTS delay_us       UInt64,
    ADD COLUMN IF NOT EXISTS template_error String;
