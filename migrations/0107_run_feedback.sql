-- Feedback on runs: scores, comments and corrected outputs. A row has what lists and averages need of its run, so that
-- they read no run. No foreign keys, as for runs.
create table run_feedback (
    id             uuid not null,
    run_id         uuid not null,
    workspace_id   uuid not null,
    graph_id       uuid not null,
    graph_name     text collate "C" not null,
    graph_version  integer not null,
    state_version  integer not null,
    run_created_at timestamptz not null,
    source         text collate "C" not null,             -- `user`, `reviewer`, `online`, …
    name           text collate "C",                      -- of the score
    user_id        text collate "C" not null default '',  -- the giver; empty if unknown
    score          double precision check (score between 0 and 1),
    category       text collate "C",
    comment        json,                                  -- a JSON string: text cannot hold U+0000
    outputs        json,                                  -- corrected outputs
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    created_by     text collate "C" not null,
    primary key (run_id, id)
);
-- One score of a name from a giver. Rows without a name are never equal.
create unique index run_feedback_named on run_feedback (run_id, source, name, user_id);
-- Runs by a score, in the order of their list.
create index run_feedback_scores on run_feedback (workspace_id, name, run_created_at desc, run_id desc)
    where name is not null;
create index run_feedback_of_graph on run_feedback (workspace_id, graph_name, name, run_created_at desc, run_id desc)
    where name is not null;
-- Runs with corrected outputs.
create index run_feedback_corrected on run_feedback (workspace_id, run_created_at desc, run_id desc)
    where outputs is not null;

select isolate_workspaces('run_feedback');
select partition_by_time('run_feedback', 'run_id');
