-- What was done and spent, in sums by the hour, beside what it sums. Rows are only added, by triggers in the
-- transactions that write runs, results of evaluations and optimizations; the rows of an hour are merged later. So the
-- sums equal those over the rows that they count, and stay when these are removed.
create table usage_hours (
    workspace_id       uuid not null,
    hour               timestamptz not null,          -- in which the run, evaluation or optimization was created
    work               text collate "C" not null check (work in ('run', 'evaluation', 'judging', 'optimization')),
    dimension          text collate "C" not null check (dimension in ('whole', 'tag', 'model', 'score')),
    value              text collate "C",              -- the tag, the alias of the model, the name of the score
    graph_id           uuid not null,
    graph_name         text collate "C" not null,
    graph_version      integer not null,
    state_version      integer not null,
    created_by         text collate "C" not null,
    user_id            text collate "C",
    runs               bigint not null default 0,     -- that have ended
    failed             bigint not null default 0,
    cancelled          bigint not null default 0,
    duration_ms        bigint not null default 0,
    lm_calls           bigint not null default 0,
    input_tokens       bigint not null default 0,
    output_tokens      bigint not null default 0,
    reasoning_tokens   bigint not null default 0,
    cached_tokens      bigint not null default 0,
    cache_write_tokens bigint not null default 0,
    cost               numeric,                       -- exact, so that the order of the sum does not matter
    feedback           bigint not null default 0,
    score_sum          numeric not null default 0,
    is_merged          boolean not null default false
);
create index usage_hours_of_workspace on usage_hours (workspace_id, hour);
create index usage_hours_new on usage_hours (hour, workspace_id) where not is_merged;
select isolate_workspaces('usage_hours');

-- What one run adds: as a whole, to each of its tags, and to each of its models.
create function usage_of_run(status text, duration_ms bigint, usage json, tags json, model_usage json)
    returns table (dimension text, value text, runs integer, failed integer, cancelled integer, duration bigint,
                   lm_calls bigint, input_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
                   cached_tokens bigint, cache_write_tokens bigint, cost numeric)
    language sql stable as $$
    with counted as (
        select (status in ('succeeded', 'failed', 'cancelled'))::integer as runs, (status = 'failed')::integer as failed,
               (status = 'cancelled')::integer as cancelled, coalesce(duration_ms, 0) as duration
    ), spent as (
        select 'whole' as dimension, null::text as value, whole.*
        from json_to_record(usage) as whole (lm_calls bigint, input_tokens bigint, output_tokens bigint,
            reasoning_tokens bigint, cached_tokens bigint, cache_write_tokens bigint, cost numeric)
        union all
        select 'model', model.*
        from json_to_recordset(model_usage) as model (alias text, lm_calls bigint, input_tokens bigint,
            output_tokens bigint, reasoning_tokens bigint, cached_tokens bigint, cache_write_tokens bigint, cost numeric)
    ), tagged as (
        select * from spent
        union all
        select 'tag', tag, lm_calls, input_tokens, output_tokens, reasoning_tokens, cached_tokens, cache_write_tokens, cost
        from spent cross join json_array_elements_text(tags) as tag where dimension = 'whole'
    )
    select dimension, value, counted.*, coalesce(lm_calls, 0), coalesce(input_tokens, 0), coalesce(output_tokens, 0),
           coalesce(reasoning_tokens, 0), coalesce(cached_tokens, 0), coalesce(cache_write_tokens, 0), cost
    from counted cross join tagged
$$;

create function count_runs_added() returns trigger language plpgsql as $$
begin
    insert into usage_hours (workspace_id, hour, work, dimension, value, graph_id, graph_name, graph_version,
        state_version, created_by, user_id, runs, failed, cancelled, duration_ms, lm_calls, input_tokens, output_tokens,
        reasoning_tokens, cached_tokens, cache_write_tokens, cost)
    select workspace_id, date_trunc('hour', created_at, 'UTC'), 'run', dimension, value, graph_id, graph_name,
           graph_version, state_version, created_by, user_id, sum(runs), sum(failed), sum(cancelled), sum(duration),
           sum(lm_calls), sum(input_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cached_tokens),
           sum(cache_write_tokens), sum(cost)
    from added cross join lateral usage_of_run(status, added.duration_ms, usage, tags, model_usage)
    where status not in ('queued', 'running')
    group by 1, 2, 4, 5, 6, 7, 8, 9, 10, 11;
    return null;
end
$$;

-- A run that ends, or is resumed: the difference. One that starts adds none, and its documents are not read.
create function count_runs_changed() returns trigger language plpgsql as $$
begin
    insert into usage_hours (workspace_id, hour, work, dimension, value, graph_id, graph_name, graph_version,
        state_version, created_by, user_id, runs, failed, cancelled, duration_ms, lm_calls, input_tokens, output_tokens,
        reasoning_tokens, cached_tokens, cache_write_tokens, cost)
    with changed as (
        select 1 as sign, after.*
        from after join before using (id)
        where after.usage::text <> before.usage::text
           or (after.status <> before.status
               and (after.status not in ('queued', 'running', 'waiting')
                    or before.status not in ('queued', 'running', 'waiting')))
        union all
        select -1, before.*
        from before join after using (id)
        where after.usage::text <> before.usage::text
           or (after.status <> before.status
               and (after.status not in ('queued', 'running', 'waiting')
                    or before.status not in ('queued', 'running', 'waiting')))
    )
    select workspace_id, date_trunc('hour', created_at, 'UTC'), 'run', dimension, value, graph_id, graph_name,
           graph_version, state_version, created_by, user_id, sum(sign * runs), sum(sign * failed),
           sum(sign * cancelled), sum(sign * duration), sum(sign * lm_calls), sum(sign * input_tokens),
           sum(sign * output_tokens), sum(sign * reasoning_tokens), sum(sign * cached_tokens),
           sum(sign * cache_write_tokens), sum(sign * cost)
    from changed cross join lateral usage_of_run(status, changed.duration_ms, usage, tags, model_usage)
    group by 1, 2, 4, 5, 6, 7, 8, 9, 10, 11
    having sum(sign * runs) <> 0 or sum(sign * failed) <> 0 or sum(sign * lm_calls) <> 0
        or sum(sign * input_tokens) <> 0 or sum(sign * output_tokens) <> 0 or sum(sign * cost) <> 0;
    return null;
end
$$;

create trigger runs_added after insert on runs
    referencing new table as added for each statement execute function count_runs_added();
create trigger runs_changed after update on runs
    referencing old table as before new table as after for each statement execute function count_runs_changed();

-- Examples of evaluations: what the graph spent, unless a run is recorded that counts it, and what the metric spent.
create function count_results_added() returns trigger language plpgsql as $$
begin
    insert into usage_hours (workspace_id, hour, work, dimension, graph_id, graph_name, graph_version, state_version,
        created_by, lm_calls, input_tokens, output_tokens, reasoning_tokens, cached_tokens, cache_write_tokens, cost)
    select e.workspace_id, date_trunc('hour', e.created_at, 'UTC'), part.work, 'whole', e.graph_id, e.graph_name,
           e.graph_version, e.state_version, e.created_by, sum(coalesce(u.lm_calls, 0)),
           sum(coalesce(u.input_tokens, 0)), sum(coalesce(u.output_tokens, 0)), sum(coalesce(u.reasoning_tokens, 0)),
           sum(coalesce(u.cached_tokens, 0)), sum(coalesce(u.cache_write_tokens, 0)), sum(u.cost)
    from added
    join evaluations e on e.id = added.evaluation_id
    cross join lateral (values ('evaluation', case when added.run_id is null then added.usage end),
                               ('judging', added.judging)) as part (work, usage)
    cross join lateral json_to_record(part.usage) as u (lm_calls bigint, input_tokens bigint, output_tokens bigint,
        reasoning_tokens bigint, cached_tokens bigint, cache_write_tokens bigint, cost numeric)
    where part.usage is not null
    group by 1, 2, 3, 5, 6, 7, 8, 9
    having sum(u.lm_calls) <> 0 or sum(u.input_tokens) <> 0;
    return null;
end
$$;

create trigger evaluation_results_added after insert on evaluation_results
    referencing new table as added for each statement execute function count_results_added();

create function count_optimization_changed() returns trigger language plpgsql as $$
begin
    insert into usage_hours (workspace_id, hour, work, dimension, graph_id, graph_name, graph_version, state_version,
        created_by, lm_calls, input_tokens, output_tokens, reasoning_tokens, cached_tokens, cache_write_tokens, cost)
    values (new.workspace_id, date_trunc('hour', new.created_at, 'UTC'), 'optimization', 'whole', new.graph_id,
            new.graph_name, new.graph_version, new.state_version, new.created_by, new.lm_calls - old.lm_calls,
            new.input_tokens - old.input_tokens, new.output_tokens - old.output_tokens,
            new.reasoning_tokens - old.reasoning_tokens, new.cached_tokens - old.cached_tokens,
            new.cache_write_tokens - old.cache_write_tokens,
            case when new.cost is not null then new.cost::numeric - coalesce(old.cost, 0)::numeric end);
    return null;
end
$$;

create trigger optimizations_changed after update on optimizations for each row
    when (old.lm_calls <> new.lm_calls or old.input_tokens <> new.input_tokens)
    execute function count_optimization_changed();
