-- Cluster only: the table for all reads and writes. A project is on one shard, so that both versions of a row are, too.
CREATE TABLE IF NOT EXISTS @database@.log @on_cluster@ AS @database@.@log_local@
ENGINE = Distributed('@cluster@', '@database_name@', '@log_local@', cityHash64(project_uid));
