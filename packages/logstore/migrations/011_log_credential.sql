-- What the sender authenticated with, and the id that a provider gives a delivery. The index finds earlier deliveries.
ALTER TABLE @database@.@log_local@ @on_cluster@
    ADD COLUMN IF NOT EXISTS credential  LowCardinality(String) DEFAULT 'key',
    ADD COLUMN IF NOT EXISTS delivery_id String CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS delivery_id_bloom delivery_id TYPE bloom_filter(0.01) GRANULARITY 1;
