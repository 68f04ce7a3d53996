-- Who owns what. One row for now; every other table names it.
create table workspaces (
    id         uuid primary key,
    name       text collate "C" not null unique,
    created_at timestamptz not null,
    created_by text collate "C" not null
);

insert into workspaces (id, name, created_at, created_by)
values ('00000000-0000-7000-8000-000000000001', 'default', now(), 'migration');
