-- Online evaluations: which metrics judge a share of the runs of a graph, and what that may cost a day.
create table online_evaluations (
    graph_id       uuid primary key,
    workspace_id   uuid not null references workspaces (id),
    metrics        json not null,              -- by the name of the score, with every default filled in
    sample         double precision not null check (sample > 0 and sample <= 1),
    enabled        boolean not null,
    calls_per_day  bigint,                     -- requests to models; null: any number
    cost_per_day   double precision,           -- null: any
    spent_on       date,                       -- in UTC: the day of the next two and of `unmeasured`
    spent_calls    bigint not null default 0,
    spent_cost     double precision not null default 0,
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    created_by     text collate "C" not null,
    -- An online evaluation has an id, so that no revision of a later one of the same graph has the same tag.
    id             uuid not null default gen_random_uuid(),
    revision       integer not null default 1, -- counts the changes of clients, each of which names the one it has read
    unmeasured     integer not null default 0  -- runs of the day `spent_on` without a score, for the provider's reasons
);
select isolate_workspaces('online_evaluations');

-- Runs that wait for their scores, written in the transactions that end them.
create table online_samples (
    run_id          uuid primary key,
    workspace_id    uuid not null,
    graph_id        uuid not null,
    attempts        integer not null,
    next_attempt_at timestamptz not null,      -- in the future while a server scores it
    created_at      timestamptz not null
);
create index online_samples_due on online_samples (graph_id, next_attempt_at);
create index online_samples_age on online_samples (created_at);
select isolate_workspaces('online_samples');
