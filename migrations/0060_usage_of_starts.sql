-- A run that ends, or is resumed: the difference. One that starts adds none, and its documents are not read.
create or replace function count_runs_changed() returns trigger language plpgsql as $$
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
