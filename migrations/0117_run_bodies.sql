-- A run that has ended is stored in a compact form (`crates/dsrs-store/src/run_body`): its documents in one body, its usage
-- in few bytes. A database with runs keeps the form with JSON, which servers of the release before read and write, until
-- `dsrs-server migrate --compact-runs` says that there is none of them (`crates/dsrs-store/src/run_form.rs`). Runs that have
-- not ended always have JSON.
set local dsrs.workspace = '*';
alter table installation add column compact_runs boolean not null default false;
update installation set compact_runs = not exists (select from runs);

alter table runs
    add column body bytea,    -- null: the documents are in inputs, outputs, nodes and trace
    add column counts bytea,  -- the usage; null: it is in usage and model_usage
    -- of the usage; another name than `cost`, which functions of the release before would take for theirs
    add column total_cost double precision;
-- What a compact row has there.
alter table runs
    alter column inputs set default '{}',
    alter column usage set default '{}',
    alter column nodes set default '{}',
    alter column trace set default '{"spans":[]}';

-- A body is compressed already.
do $$
declare
    part record;
begin
    for part in select relid::regclass as place from pg_partition_tree('runs') loop
        execute format('alter table %s alter column body set storage external', part.place);
    end loop;
end
$$;

-- The beginnings of prompts, each stored once in a workspace: the same for every run of a state version. Rows are never
-- changed but for the day of their last use, and removed only once no run can refer to them.
create table prompt_prefixes (
    id           bigint generated always as identity primary key,
    workspace_id uuid not null,
    hash         bytea not null,  -- SHA-256 of the text
    text         text not null,   -- messages as JSON objects, with commas between them
    used_on      date not null,   -- or up to a day earlier
    unique (workspace_id, hash)
);
create index prompt_prefixes_use on prompt_prefixes (used_on);
select isolate_workspaces('prompt_prefixes');

-- What runs of a graph have in common: dictionaries of zstd. The newest one of a graph compresses its runs.
create table run_dictionaries (
    id           bigint generated always as identity primary key,
    workspace_id uuid not null,
    graph_id     uuid not null,
    content      bytea not null,
    created_at   timestamptz not null,
    used_on      date not null     -- or up to a day earlier
);
create index run_dictionaries_newest on run_dictionaries (graph_id, id desc);
create index run_dictionaries_use on run_dictionaries (used_on);
select isolate_workspaces('run_dictionaries');

-- This release counts usage itself, and says so in its sessions. The triggers count what the release before writes; without
-- them, Postgres need not keep the rows of a statement for them.
drop trigger runs_added on runs;
drop trigger runs_changed on runs;
do $$
begin
    if exists (select from installation where not compact_runs) then
        create trigger runs_added after insert on runs
            referencing new table as added for each statement
            when (current_setting('dsrs.counts_usage', true) is distinct from 'on')
            execute function count_runs_added();
        create trigger runs_changed after update on runs
            referencing old table as before new table as after for each statement
            when (current_setting('dsrs.counts_usage', true) is distinct from 'on')
            execute function count_runs_changed();
    end if;
end
$$;

-- Budgets are looked for at every end of a run.
create index keys_with_budget on keys (workspace_id) where tokens_per_day is not null or cost_per_day is not null;

-- Runs that are to be moved. A run of this release has no entry.
create index runs_unmoved on only runs (id) where body is null and finished_at is not null;
