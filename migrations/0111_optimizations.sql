-- Optimizations. The job that works on one is in `jobs`, under the same id.
create table optimizations (
    id            uuid primary key,
    workspace_id  uuid not null,
    graph_id      uuid not null,
    graph_name    text collate "C" not null,
    graph_version integer not null,     -- the program that it begins with
    state_version integer not null,
    optimizer     text collate "C" not null,
    request       json not null,        -- the rest of the request, complete
    status        text collate "C" not null check (status in
        ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    -- what all attempts have paid for, and how long they took: moved with the rows that they store
    lm_calls      bigint not null default 0,
    input_tokens  bigint not null default 0,
    output_tokens bigint not null default 0,
    cached_tokens bigint not null default 0,
    cost          double precision,
    seconds       double precision not null default 0,
    result        json,                 -- once it has ended
    best          integer,              -- the candidate that was chosen, if it is not the program as it was
    found_state   integer,              -- the state version that it was stored as
    activated     json,                 -- whether that was activated, and why
    error         json,                 -- why it failed
    created_at    timestamptz not null,
    started_at    timestamptz,
    finished_at   timestamptz,
    created_by    text collate "C" not null,
    expired       boolean not null default false,     -- invisible at once; its rows are removed in steps
    reasoning_tokens   bigint not null default 0,     -- of `output_tokens`
    cache_write_tokens bigint not null default 0      -- of `input_tokens`: written to the provider's cache
);
create index optimizations_newest on optimizations (workspace_id, created_at desc, id desc);
create index optimizations_ended on optimizations (workspace_id, finished_at) where finished_at is not null;
create index optimizations_expired on optimizations (workspace_id) where expired;
select isolate_workspaces('optimizations');

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
select isolate_workspaces('optimization_candidates');

-- Recorded replies and rollouts, so that another attempt pays for none of them again. The rows are removed when
-- the optimization has ended.
create table optimization_purchases (
    optimization_id uuid not null,
    key             bytea not null,
    workspace_id    uuid not null,
    reply           json not null,
    primary key (optimization_id, key)
);
select isolate_workspaces('optimization_purchases');
create table optimization_rollouts (
    optimization_id uuid not null,
    key             bytea not null,
    workspace_id    uuid not null,
    rollout         json not null,
    primary key (optimization_id, key)
);
select isolate_workspaces('optimization_rollouts');

-- Rollouts of an optimization that wait for their turn at its worker are offered to workers of other servers. Each
-- offer is a row, which is removed with the transaction that counts what the rollout has spent. Candidates are
-- stored once for all offers.
create table optimization_programs (
    optimization_id uuid not null,
    hash            bytea not null,
    workspace_id    uuid not null,
    state           json not null,
    definition      json not null,
    primary key (optimization_id, hash)
);
create table optimization_tasks (
    optimization_id    uuid not null,
    key                bytea not null,   -- of the rollout
    workspace_id       uuid not null,
    number             bigint not null,  -- in the order of the offers
    hash               bytea not null,   -- of the candidate
    example            text not null,
    variation          json,
    budget             json not null,    -- what it may spend
    ends_at            timestamptz,      -- when the time of the optimization ends, by the clock of the database
    part               uuid,             -- the job of the worker that has claimed it
    outcome            text check (outcome in ('made', 'returned')),
    lm_calls           bigint not null default 0,
    input_tokens       bigint not null default 0,
    output_tokens      bigint not null default 0,
    reasoning_tokens   bigint not null default 0,
    cached_tokens      bigint not null default 0,
    cache_write_tokens bigint not null default 0,
    cost               double precision,
    primary key (optimization_id, key)
);
create index optimization_tasks_parts on optimization_tasks (part) where part is not null;

select isolate_workspaces('optimization_programs');
select isolate_workspaces('optimization_tasks');
