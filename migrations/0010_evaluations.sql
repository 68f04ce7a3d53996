-- Evaluations: how good a graph is on the examples of a dataset, by a metric. The job that works on one
-- is in `jobs`, under the same id.
create table evaluations (
    id            uuid primary key,
    workspace_id  uuid not null references workspaces (id),
    graph_id      uuid not null,
    graph_name    text collate "C" not null,
    graph_version integer not null,
    state_version integer not null,
    dataset       json not null,       -- which examples: of which version, its hash, which part
    metric        json not null,       -- with everything that was left unsaid filled in
    status        text collate "C" not null check (status in
        ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    concurrency   integer,             -- examples at the same time; null takes the worker's limit
    max_errors    integer,             -- it fails when more examples than that do
    timeout_ms    bigint,              -- of an example; null takes the server's limit
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
    created_by    text collate "C" not null
);
create index evaluations_newest on evaluations (workspace_id, created_at desc, id desc);
create index evaluations_of_graph on evaluations (workspace_id, graph_id, created_at desc, id desc);

-- What came of it: one row an example that has ended. Written once, never changed.
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
    primary key (evaluation_id, position)
);
create index evaluation_results_worst on evaluation_results (evaluation_id, score, position);
create index evaluation_results_failed on evaluation_results (evaluation_id, position)
    where error is not null;
