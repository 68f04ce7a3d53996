-- By which runs are found: a row for each label, and for each code of an error of the run or of one of its nodes. A run
-- without any has no row, so most runs cost nothing.
create table run_labels (
    run_id       uuid not null,
    workspace_id uuid not null,
    name         text collate "C" not null,   -- tag, session_id, user_id, error_code or metadata.KEY
    value        text collate "C" not null,
    created_at   timestamptz not null,        -- of the run
    primary key (run_id, name, value)
);
create index run_labels_newest on run_labels (workspace_id, name, value, created_at desc, run_id desc);

select isolate_workspaces('run_labels');
select partition_by_time('run_labels', 'run_id');
