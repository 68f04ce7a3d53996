-- Files of archived runs, one row for each workspace that a file has runs of. The rows are added with the transaction
-- that removes the runs.
create table run_archives (
    name         text not null,     -- below the URL of the archive
    workspace_id uuid not null,
    first_id     uuid not null,
    last_id      uuid not null,
    rows         bigint not null,
    bytes        bigint not null,   -- of the whole file
    created_at   timestamptz not null,
    primary key (name, workspace_id)
);
create index run_archives_ids on run_archives (workspace_id, last_id, first_id);

select isolate_workspaces('run_archives');
