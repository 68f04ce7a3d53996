-- Optimizations. The job that works on one is in `jobs`, under the same id.
create table optimizations (
    id            uuid primary key,
    workspace_id  uuid not null references workspaces (id),
    graph_id      uuid not null,
    graph_name    text collate "C" not null,
    graph_version integer not null,     -- what it starts from
    state_version integer not null,
    optimizer     text collate "C" not null,
    request       json not null,        -- the rest of what was asked for, complete
    status        text collate "C" not null check (status in
        ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    -- what was paid for by all attempts, and how long they took: moved with what they keep
    lm_calls      bigint not null default 0,
    input_tokens  bigint not null default 0,
    output_tokens bigint not null default 0,
    cached_tokens bigint not null default 0,
    cost          double precision,
    seconds       double precision not null default 0,
    result        json,                 -- what was found, once it has ended
    best          integer,              -- the candidate that was chosen, if it is not what was there before
    found_state   integer,              -- the state version that it was stored as
    activated     json,                 -- whether it was put in force, and why
    error         json,                 -- why it failed
    created_at    timestamptz not null,
    started_at    timestamptz,
    finished_at   timestamptz,
    created_by    text collate "C" not null
);
create index optimizations_newest on optimizations (workspace_id, created_at desc, id desc);

-- The candidates that were tried, counted from 0, which is the program as it was.
create table optimization_candidates (
    optimization_id uuid not null,
    number          integer not null,
    workspace_id    uuid not null,
    parents         integer[] not null,
    origin          json not null,      -- a JSON string: text cannot hold U+0000
    scores          json not null,      -- {full, partial}
    objective       double precision,   -- by which the best is chosen; null where not tried on all
    state           json not null,
    definition      json,               -- null where it is the graph that the optimization began with
    primary key (optimization_id, number)
);

-- What was bought and rolled out, so that another attempt has it for nothing. The rows go when the
-- optimization has ended.
create table optimization_purchases (
    optimization_id uuid not null,
    key             bytea not null,
    workspace_id    uuid not null,
    reply           json not null,
    primary key (optimization_id, key)
);
create table optimization_rollouts (
    optimization_id uuid not null,
    key             bytea not null,
    workspace_id    uuid not null,
    rollout         json not null,
    primary key (optimization_id, key)
);
