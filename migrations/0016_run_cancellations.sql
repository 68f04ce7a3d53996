-- Cancellations of runs that are no jobs. They are announced by NOTIFY; the rows are for servers that miss
-- the notification. Later cancellations remove them, a minute after they were made by the clock of the
-- database, which also sets the time.
create table run_cancellations (
    workspace_id uuid not null,
    run_id       uuid not null,
    created_at   timestamptz not null,
    created_by   text collate "C" not null,
    primary key (workspace_id, run_id)
);
create index run_cancellations_run on run_cancellations (run_id);
create index run_cancellations_age on run_cancellations (created_at);
