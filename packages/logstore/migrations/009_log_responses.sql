-- Which of the endpoint's responses answered (spec.responses), its planned delay, and why its template could not be rendered. Rows of
-- earlier versions have no response, no delay and no error.
ALTER TABLE @database@.@log_local@ @on_cluster@
    ADD COLUMN IF NOT EXISTS response       LowCardinality(String),
    ADD COLUMN IF NOT EXISTS delay_us       UInt64 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS template_error String CODEC(ZSTD(1));
