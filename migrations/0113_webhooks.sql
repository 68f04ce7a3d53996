-- Webhooks: where the ends of runs, evaluations and optimizations are reported to. The secrets sign messages, so
-- they are stored as they are; no answer and no log has them after their creation.
create table webhooks (
    id            uuid primary key,
    workspace_id  uuid not null references workspaces (id),
    name          text collate "C" not null,
    url           text not null,
    description   text not null,
    events        text[] collate "C" not null,
    graph_id      uuid,                      -- only events of this graph; null: of every graph
    graph_name    text collate "C",
    score_metric  text collate "C",          -- of `score.below`
    score_below   double precision,
    enabled       boolean not null,
    disabled_because text collate "C" check (disabled_because in ('failing', 'gone')),
    failing_since timestamptz,               -- of attempts; null after one that succeeded
    secret        text not null,
    previous_secret       text,              -- signs, too, until then
    previous_secret_until timestamptz,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    created_by    text collate "C" not null,
    revision      integer not null default 1 -- counts the changes of clients, each of which names the one it has read
);
create unique index webhooks_name on webhooks (workspace_id, name);
select isolate_workspaces('webhooks');

-- The messages for webhooks, written in the transactions of what they report, and the log of their delivery.
-- No foreign key: it would lock the row of the webhook on the path of a run.
create table webhook_deliveries (
    webhook_id      uuid not null,
    id              uuid not null,           -- of the event: `webhook-id` of the message
    workspace_id    uuid not null,
    event           text collate "C" not null,
    data            json not null,
    status          text collate "C" not null check (status in ('pending', 'succeeded', 'failed')),
    attempts        integer not null,        -- since it was written or replayed
    log             json[] not null,         -- the newest attempts, the oldest first
    replays         integer not null,
    next_attempt_at timestamptz,             -- of one that is pending; in the future while a server makes an attempt
    holder          uuid,                    -- that attempt
    created_at      timestamptz not null,
    finished_at     timestamptz,
    primary key (webhook_id, id)
);
create index webhook_deliveries_newest on webhook_deliveries (webhook_id, created_at desc, id desc);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_age on webhook_deliveries (workspace_id, created_at);
select isolate_workspaces('webhook_deliveries');

-- A time as the answers of the API have it.
create function api_time(at timestamptz) returns text language sql stable
    return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- What a message says of a run: no inputs, no outputs, and of an error only its code.
create function run_event_data(id uuid, graph_id uuid, graph text, version integer, state_version integer,
                               status text, error_code text, usage json, created_at timestamptz,
                               started_at timestamptz, finished_at timestamptz, duration_ms bigint)
    returns json language sql stable
    return json_build_object(
        'id', id, 'graph', graph, 'graph_id', graph_id, 'version', version, 'state_version', state_version,
        'status', status, 'error_code', error_code, 'usage', usage, 'created_at', api_time(created_at),
        'started_at', api_time(started_at), 'finished_at', api_time(finished_at), 'duration_ms', duration_ms);
