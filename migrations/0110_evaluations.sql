-- Evaluations: how good a graph is on the examples of a dataset, by a metric. The job that works on one
-- is in `jobs`, under the same id.
create table evaluations (
    id            uuid primary key,
    workspace_id  uuid not null,
    graph_id      uuid not null,
    graph_name    text collate "C" not null,
    graph_version integer not null,
    state_version integer not null,
    dataset       json not null,       -- which examples: of which version, its hash, which part
    metric        json not null,       -- with every default filled in
    status        text collate "C" not null check (status in
        ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    concurrency   integer,             -- examples at the same time; null: the worker's limit
    max_errors    integer,             -- it fails when more examples than that do
    timeout_ms    bigint,              -- of an example; null: the server's limit
    record        boolean not null,    -- each example is recorded as a run, too
    total         integer not null,
    -- sums over the rows of `evaluation_results`, moved in the transactions that add those
    done          integer not null default 0,
    failed        integer not null default 0,
    score_sum     double precision not null default 0,
    lm_calls      bigint not null default 0,
    input_tokens  bigint not null default 0,
    output_tokens bigint not null default 0,
    cached_tokens bigint not null default 0,
    cost          double precision,
    -- the same of what the metric used
    judging_lm_calls      bigint not null default 0,
    judging_input_tokens  bigint not null default 0,
    judging_output_tokens bigint not null default 0,
    judging_cached_tokens bigint not null default 0,
    judging_cost          double precision,
    error         json,                -- why the evaluation as a whole failed
    created_at    timestamptz not null,
    started_at    timestamptz,
    finished_at   timestamptz,
    created_by    text collate "C" not null,
    expired       boolean not null default false, -- invisible at once; its rows are removed in steps
    -- further sums: of the output tokens, those of reasoning; of the input tokens, those that a provider wrote to
    -- its cache
    reasoning_tokens           bigint not null default 0,
    cache_write_tokens         bigint not null default 0,
    judging_reasoning_tokens   bigint not null default 0,
    judging_cache_write_tokens bigint not null default 0,
    unmeasured     integer not null default 0,    -- rows of `evaluation_results` without a score; not in `failed`
    max_unmeasured double precision               -- the share that may stay so; null: the default
);
create index evaluations_newest on evaluations (workspace_id, created_at desc, id desc);
create index evaluations_of_graph on evaluations (workspace_id, graph_id, created_at desc, id desc);
create index evaluations_ended on evaluations (workspace_id, finished_at) where finished_at is not null;
create index evaluations_expired on evaluations (workspace_id) where expired;
select isolate_workspaces('evaluations');

-- The results: one row for each example that has ended. Written once, never changed.
create table evaluation_results (
    evaluation_id uuid not null,
    position      integer not null,    -- of the example in the dataset's version
    workspace_id  uuid not null,
    example_id    text collate "C" not null,
    score         double precision not null check (score between 0 and 1),
    feedback      json,                -- a JSON string: text cannot hold U+0000
    outputs       json,
    error         json,                -- why it counts as 0, when it failed
    usage         json not null,
    judging       json not null,       -- what the metric used
    parse_reports json not null,       -- by the path of the predictor
    duration_ms   bigint not null,
    run_id        uuid,                -- where the example was recorded as a run
    -- The run failed for a reason that is not the program's (the provider, the time, a budget): there is no score.
    -- `score` is 0 then and does not count.
    unmeasured    boolean not null default false,
    primary key (evaluation_id, position)
);
create index evaluation_results_worst on evaluation_results (evaluation_id, score, position);
create index evaluation_results_failed on evaluation_results (evaluation_id, position)
    where error is not null;
select isolate_workspaces('evaluation_results');
select partition_by_time('evaluation_results', 'evaluation_id');
