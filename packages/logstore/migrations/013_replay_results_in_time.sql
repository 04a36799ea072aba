-- Until when the operator that sends a row may lead. A row that arrives later, because its operator was frozen, could be the result for
-- a request that another leader has purged. Rows without this time are always accepted, for example those of a restore.
ALTER TABLE @database@.replay_results @on_cluster@
    ADD COLUMN IF NOT EXISTS stored_before DateTime('UTC') EPHEMERAL toDateTime(4294967295, 'UTC');

-- A constraint cannot name an ephemeral column. nowInBlock, unlike now, is the time when the rows have arrived.
ALTER TABLE @database@.replay_results @on_cluster@
    ADD COLUMN IF NOT EXISTS is_in_time Bool MATERIALIZED nowInBlock('UTC') <= stored_before;

ALTER TABLE @database@.replay_results @on_cluster@
    ADD CONSTRAINT IF NOT EXISTS in_time CHECK is_in_time;
