-- Who owns what: every other table but `installation` names a workspace, and a session sees the rows of one.
create table workspaces (
    id         uuid primary key,
    name       text collate "C" not null unique,
    created_at timestamptz not null,
    created_by text collate "C" not null
);
create index workspaces_newest on workspaces (created_at desc, id desc);

insert into workspaces (id, name, created_at, created_by)
values ('00000000-0000-7000-8000-000000000001', 'default', now(), 'migration');

-- Row-level security: a session sees and writes the rows of the workspace that its setting `dsrs.workspace`
-- names, all rows if the setting is '*', and none without it. The policies hold for the owner of the tables,
-- too; superusers and roles with BYPASSRLS ignore them (`crates/dsrs-store/src/isolation.rs`).

-- Adds the policy to a table. The migration that creates a table calls this. The planner takes a plain
-- comparison with the setting for one that few rows pass, and then sorts what an index would return in order;
-- it takes `is not null` for one that nearly all rows pass.
create function isolate_workspaces(target regclass, workspace name default 'workspace_id')
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

-- Which installation this database belongs to: servers send it with their work to an engine that several
-- installations share, and a worker leaves the work of others.
create table installation (
    id      uuid not null default gen_random_uuid(),
    is_only boolean primary key default true check (is_only)
);
insert into installation default values;
