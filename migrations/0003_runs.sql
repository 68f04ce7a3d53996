-- Finished executions. No foreign keys: each would cost a lock and a look-up a row on the
-- busiest path, and graphs and their versions are never removed.
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
    created_by    text collate "C" not null
);
create index runs_newest on runs (workspace_id, created_at desc, id desc);
create index runs_graph on runs (workspace_id, graph_name, created_at desc, id desc);
-- Nearly every run succeeds, so this one is small and costs the usual insert nothing.
create index runs_troubled on runs (workspace_id, status, created_at desc, id desc)
    where status <> 'succeeded';
