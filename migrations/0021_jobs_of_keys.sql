-- The jobs of a key that are queued or in progress, counted about every second for each key with limits.
create index jobs_of_actor on jobs (workspace_id, created_by) where not waiting;
