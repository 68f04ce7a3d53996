-- Runs, their checkpoints and events while they have not ended, and by what they are found.

-- No foreign keys: each would cost a lock and a look-up a row on the busiest path, and graphs and their versions
-- are never removed.
create table runs (
    id            uuid primary key,
    workspace_id  uuid not null,
    graph_id      uuid not null,
    graph_name    text collate "C" not null,  -- stays readable after the graph is deleted
    graph_version integer not null,
    state_version integer not null,
    status        text collate "C" not null check (status in
        ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled')),
    created_at    timestamptz not null,
    started_at    timestamptz,
    finished_at   timestamptz,
    duration_ms   bigint,
    inputs        json not null,
    outputs       json,
    error         json,
    usage         json not null,
    nodes         json not null,
    trace         json not null,
    created_by    text collate "C" not null,
    -- The caller's own names. Null where a caller gives none. Their order and their text are those of the request.
    tags          json,
    session_id    text collate "C",
    user_id       text collate "C",
    metadata      json,
    model_usage   json,                       -- by the alias of the model: a list of objects; null for none
    -- Attempts of the engine that lost the run although their worker lived: the connection to the engine, or the
    -- engine itself, was gone. They do not count against `worker.attempts`.
    lost_attempts integer not null default 0
);
create index runs_newest on runs (workspace_id, created_at desc, id desc);
create index runs_graph on runs (workspace_id, graph_name, created_at desc, id desc);
-- Nearly every run succeeds, so this one is small and costs the usual insert nothing.
create index runs_troubled on runs (workspace_id, status, created_at desc, id desc)
    where status <> 'succeeded';
-- Runs that have ended are found by their duration. A run in progress has no entry.
create index runs_durations on runs (workspace_id, duration_ms) where duration_ms is not null;
-- The text of problems is searched in the runs that have one, in the order of time.
create index runs_problems on runs (workspace_id, created_at desc, id desc) where error is not null;
select isolate_workspaces('runs');
select partition_by_time('runs', 'id');

-- Checkpoints: the outcomes of the nodes of a run that has not ended, from which another attempt continues. The
-- transaction that ends the run writes all of it to its record and removes these rows.
create table run_nodes (
    run_id       uuid not null,
    node         text collate "C" not null,
    workspace_id uuid not null,
    outcome      json not null,            -- as under the run's `nodes`
    usage        json not null,
    trace        json not null,            -- a trace of its own
    created_at   timestamptz not null,
    primary key (run_id, node)
);
select isolate_workspaces('run_nodes');
select partition_by_time('run_nodes', 'run_id');

-- The events of a run in progress, for followers on any server. A row has the events of a moment; the last event
-- is not among them, since the run's record has it. A run that was streamed to the client that executed it has
-- one row without events, which has the count.
create table run_events (
    run_id       uuid not null,
    last_id      bigint not null,   -- of the newest event that it counts
    workspace_id uuid not null,
    events       json not null,     -- [[kind, data], …], the newest last
    created_at   timestamptz not null,
    primary key (run_id, last_id)
);
create index run_events_age on run_events (created_at);
select isolate_workspaces('run_events');
select partition_by_time('run_events', 'run_id');

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
select isolate_workspaces('run_cancellations');

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
