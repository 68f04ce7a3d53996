-- What the keys with a budget have spent, by the day (UTC) on which it was recorded: the sum that a budget is
-- compared with. It grows in the transactions that record usage, so that reading it is one look-up.
create table key_spending (
    workspace_id uuid not null references workspaces (id),
    actor        text collate "C" not null,  -- the label of the key
    day          date not null,
    tokens       bigint not null,
    cost         double precision not null,
    primary key (workspace_id, actor, day)
);
select isolate_workspaces('key_spending');

create function tokens_of(usage json) returns bigint language sql immutable
    return coalesce((usage->>'input_tokens')::bigint, 0) + coalesce((usage->>'output_tokens')::bigint, 0);

create function cost_of(usage json) returns double precision language sql immutable
    return coalesce((usage->>'cost')::double precision, 0);

-- Adds what an actor has spent, if it is a key with a budget. The row stays locked until the transaction ends:
-- it is the last one that a transaction locks, or one of a few in the order of its key.
create function add_spending(workspace uuid, spender text, spent bigint, paid double precision) returns void
    language plpgsql as $$
begin
    if (spent > 0 or paid > 0) and exists (
        select from keys where workspace_id = workspace and label = spender
            and (tokens_per_day is not null or cost_per_day is not null)
    ) then
        insert into key_spending (workspace_id, actor, day, tokens, cost)
        values (workspace, spender, (clock_timestamp() at time zone 'UTC')::date, spent, paid)
        on conflict (workspace_id, actor, day) do update
        set tokens = key_spending.tokens + excluded.tokens, cost = key_spending.cost + excluded.cost;
    end if;
end
$$;

-- What was spent today until now, as the release before counts it: by the day of creation.
set local dsrs.workspace = '*';
insert into key_spending (workspace_id, actor, day, tokens, cost)
with today as (
    select date_trunc('day', clock_timestamp() at time zone 'UTC') at time zone 'UTC' as start
), used as (
    select workspace_id, created_by, tokens_of(usage) as tokens, cost_of(usage) as cost
    from runs, today where created_at >= today.start
    union all
    select workspace_id, created_by,
           judging_input_tokens + judging_output_tokens
               + case when record then 0 else input_tokens + output_tokens end,
           coalesce(judging_cost, 0) + case when record then 0 else coalesce(cost, 0) end
    from evaluations, today where created_at >= today.start
    union all
    select workspace_id, created_by, input_tokens + output_tokens, coalesce(cost, 0)
    from optimizations, today where created_at >= today.start
)
select used.workspace_id, used.created_by, (clock_timestamp() at time zone 'UTC')::date,
       sum(used.tokens)::bigint, sum(used.cost)
from used
join keys on keys.workspace_id = used.workspace_id and keys.label = used.created_by
where keys.tokens_per_day is not null or keys.cost_per_day is not null
group by 1, 2;
