-- What is told of a run while it goes on, for those who follow it from any server. A row holds what
-- was told within a moment; the last event is not among them, since the run's record has it. A run
-- that was streamed to whoever executed it has one row without events, which keeps the count.
create table run_events (
    run_id       uuid not null,
    last_id      bigint not null,   -- of the newest event that it counts
    workspace_id uuid not null references workspaces (id),
    events       json not null,     -- [[kind, data], …], the newest last
    created_at   timestamptz not null,
    primary key (run_id, last_id)
);
create index run_events_age on run_events (created_at);
