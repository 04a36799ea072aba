-- Which of the endpoint's responses the request got (spec.responses), its planned delay, and why its template could not be rendered.
ALTER TABLE @database@.@log_local@ @on_cluster@
    ADD COLUMN IF NOT EXISTS response       LowCardinality(String),
    ADD COLUMN IF NOT EXISTS delay_us       UInt64 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS template_error String CODEC(ZSTD(1));
