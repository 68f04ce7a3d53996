-- Work that lasts. A row is work that is not done: a run now, what else lasts later. Which of it is
-- next, the queue says (the schema `dsrs_queue`, which its library makes and keeps); who is at work
-- on it is said here, and only here.
create table jobs (
    id           uuid primary key,         -- of the run (or what else) that it works on
    workspace_id uuid not null references workspaces (id),
    kind         text collate "C" not null check (kind in
        ('run', 'batch', 'evaluation', 'optimization')),
    request      json not null,            -- how it was asked for
    attempts     integer not null default 0,  -- how often someone has begun
    cancelled    boolean not null default false,  -- it is to stop
    holder       uuid,                     -- the attempt that may write; null while it waits
    lease_until  timestamptz,              -- after it, the holder counts as gone
    created_at   timestamptz not null,
    created_by   text collate "C" not null,
    check ((holder is null) = (lease_until is null))
);
create unique index jobs_holder on jobs (holder) where holder is not null;
create index jobs_lapsed on jobs (lease_until) where lease_until is not null;

-- What the nodes of a run gave that is not done: from here another attempt goes on. Once the run is
-- done, its record has all of it, and these rows go.
create table run_nodes (
    run_id       uuid not null references jobs (id) on delete cascade,
    node         text collate "C" not null,
    workspace_id uuid not null references workspaces (id),
    outcome      json not null,            -- as under the run's `nodes`
    usage        json not null,
    trace        json not null,            -- a trace of its own
    created_at   timestamptz not null,
    primary key (run_id, node)
);
