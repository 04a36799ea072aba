-- The name of the project, which every reader compares (ADR 024).
ALTER TABLE @database@.replay_results @on_cluster@
    ADD COLUMN IF NOT EXISTS project LowCardinality(String) AFTER namespace;
