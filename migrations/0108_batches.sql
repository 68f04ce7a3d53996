-- Batches: one graph run over many items. The job that works on one is in `jobs`, under the same id.
create table batches (
    id            uuid primary key,
    workspace_id  uuid not null,
    graph_id      uuid not null,
    graph_name    text collate "C" not null,
    graph_version integer not null,
    state_version integer not null,
    status        text collate "C" not null check (status in
        ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    concurrency   integer,             -- items at the same time; null: the worker's limit
    dedupe        boolean not null,    -- the same work of nodes is done once
    total         integer not null,
    -- sums over the rows of `batch_results`, moved in the transactions that add those
    succeeded     integer not null default 0,
    failed        integer not null default 0,
    cancelled     integer not null default 0,
    lm_calls      bigint not null default 0,
    input_tokens  bigint not null default 0,
    output_tokens bigint not null default 0,
    cached_tokens bigint not null default 0,
    cost          double precision,
    error         json,                -- why the batch as a whole failed
    created_at    timestamptz not null,
    started_at    timestamptz,
    finished_at   timestamptz,
    created_by    text collate "C" not null,
    expired       boolean not null default false,     -- invisible at once; its rows are removed in steps
    reasoning_tokens   bigint not null default 0,     -- of `output_tokens`
    cache_write_tokens bigint not null default 0,     -- of `input_tokens`: written to the provider's cache
    -- the labels of its runs
    tags          json,
    session_id    text collate "C",
    user_id       text collate "C",
    metadata      json
);
create index batches_newest on batches (workspace_id, created_at desc, id desc) where not expired;
create index batches_ended on batches (workspace_id, finished_at) where finished_at is not null;
create index batches_expired on batches (workspace_id) where expired;
select isolate_workspaces('batches');

-- What is to be run. Written once, never changed.
create table batch_items (
    batch_id     uuid not null,
    position     integer not null,
    workspace_id uuid not null,
    inputs       json not null,        -- checked and completed
    size         integer not null,     -- of the inputs in bytes, so that pages can be bounded by it
    primary key (batch_id, position)
);
select isolate_workspaces('batch_items');
select partition_by_time('batch_items', 'batch_id');

-- The results: one row for each item that has ended. Written once, never changed. An item without one has not
-- ended, or never will, when its batch has.
create table batch_results (
    batch_id     uuid not null,
    position     integer not null,
    workspace_id uuid not null,
    status       text collate "C" not null check (status in ('succeeded', 'failed', 'cancelled')),
    run_id       uuid,                 -- null where runs are not recorded
    outputs      json,
    error        json,
    usage        json not null,
    primary key (batch_id, position)
);
select isolate_workspaces('batch_results');
select partition_by_time('batch_results', 'batch_id');

-- The outputs of nodes, by what their work is, so that it is done once; for batches that ask for that. The
-- rows are removed when the batch ends.
create table batch_shares (
    batch_id     uuid not null,
    key          bytea not null,
    workspace_id uuid not null,
    outputs      json not null,
    primary key (batch_id, key)
);
select isolate_workspaces('batch_shares');
