-- Runs that have ended are found by their duration, whatever it is; in place of the index of runs of a second and more.
-- A run in progress has no entry. Partitions that exist get it from a server that runs (src/store/partition/index.rs);
-- until then they are read in the order of time.
drop index if exists runs_duration;
create index runs_durations on only runs (workspace_id, duration_ms) where duration_ms is not null;
