-- For tables that were created without the name of the project.
ALTER TABLE @database@.replay_results @on_cluster@
    ADD COLUMN IF NOT EXISTS project LowCardinality(String) AFTER namespace;
