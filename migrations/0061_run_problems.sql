-- The text of problems is searched in the runs that have one, in the order of time. A run without a problem has no entry.
-- Partitions that exist get it from a server that runs (src/store/partition/index.rs).
create index runs_problems on only runs (workspace_id, created_at desc, id desc) where error is not null;
