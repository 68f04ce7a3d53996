-- Row-level security: a session sees and writes the rows of the workspace that its setting `dsrs.workspace`
-- names, all rows if the setting is '*', and none without it. The policies hold for the owner of the tables,
-- too; superusers and roles with BYPASSRLS ignore them (`src/store/isolation.rs`).

-- Adds the policy to a table. The migration that creates a table calls this. The planner takes a plain
-- comparison with the setting for one that few rows pass, and then sorts what an index would return in order;
-- it takes `is not null` for one that nearly all rows pass.
create or replace function isolate_workspaces(target regclass, workspace name default 'workspace_id')
returns void language plpgsql as $$
declare
    visible text := format(
        '(case when current_setting(''dsrs.workspace'', true) in (%I::text, ''*'') then true end) is not null',
        workspace);
begin
    execute format('alter table %s enable row level security, force row level security', target);
    if not exists (select from pg_policy where polrelid = target and polname = 'workspace') then
        execute format('create policy workspace on %s using (%s) with check (%s)', target, visible, visible);
    end if;
end
$$;

select isolate_workspaces('workspaces', 'id');

do $$
declare
    target regclass;
begin
    for target in
        select found.oid::regclass
        from pg_class found
        join pg_namespace schema on schema.oid = found.relnamespace
        join pg_attribute name on name.attrelid = found.oid
        where schema.nspname = current_schema() and found.relkind in ('r', 'p')
          and name.attname = 'workspace_id' and not name.attisdropped
        order by found.relname
    loop
        perform isolate_workspaces(target);
    end loop;
end
$$;
