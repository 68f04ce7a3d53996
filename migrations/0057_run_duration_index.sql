-- Slow runs are found by their duration. A run of less than a second has no entry in it, and costs nothing.
-- Partitions that exist get it from a server that runs, without a lock of their rows (src/store/partition/index.rs);
-- until then they are read in the order of time.
create index runs_duration on only runs (workspace_id, duration_ms) where duration_ms >= 1000;
