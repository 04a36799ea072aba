-- Cluster only: the table that everybody reads and writes. A project lives on one shard, so that both versions of a row do.
CREATE TABLE IF NOT EXISTS @database@.log @on_cluster@ AS @database@.@log_local@
ENGINE = Distributed('@cluster@', '@database_name@', '@log_local@', cityHash64(project_uid));
