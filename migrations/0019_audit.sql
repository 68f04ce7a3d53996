-- Who did what to which thing, and when. Written in the transaction of the change; never with contents.
create table audit (
    id           bigint generated always as identity primary key,
    workspace_id uuid not null references workspaces (id),
    actor        text collate "C" not null,
    action       text collate "C" not null,
    kind         text collate "C" not null,  -- of the thing
    thing_id     uuid not null,
    name         text collate "C",
    version      integer,
    created_at   timestamptz not null
);
create index audit_newest on audit (workspace_id, id desc);
create index audit_age on audit (workspace_id, created_at);
