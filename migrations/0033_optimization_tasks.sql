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
