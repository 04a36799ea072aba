-- Cluster only: the same columns in the table for all reads and writes.
ALTER TABLE @database@.log @on_cluster@
    ADD COLUMN IF NOT EXISTS credential  LowCardinality(String) DEFAULT 'key',
    ADD COLUMN IF NOT EXISTS delivery_id String;
