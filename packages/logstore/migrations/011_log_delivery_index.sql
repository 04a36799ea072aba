-- Finds earlier deliveries with the same id of the provider.
ALTER TABLE @database@.@log_local@ @on_cluster@
    ADD INDEX IF NOT EXISTS delivery_id_bloom delivery_id TYPE bloom_filter(0.01) GRANULARITY 1;
