-- When a key was last used, as servers write it from time to time.
alter table keys add column last_used_at timestamptz;

-- The parked jobs of a workspace: how many there are is asked when another one may park.
create index jobs_parked on jobs (workspace_id) where waiting;
