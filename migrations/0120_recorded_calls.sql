-- Results of `call` nodes that evaluations recorded, for evaluations that reuse them: the same call is made once.
create table recorded_calls (
    workspace_id uuid not null references workspaces (id),
    key          bytea not null,          -- a hash of the tool and the arguments
    result       json not null,
    created_at   timestamptz not null,
    primary key (workspace_id, key)
);
create index recorded_calls_oldest on recorded_calls (workspace_id, created_at);
select isolate_workspaces('recorded_calls');

alter table evaluations add column reuse_calls boolean not null default false;
