-- The queue of background work. A row is work that has not ended: workers claim the oldest jobs that have no
-- holder, and the holder alone may write.
--
-- With Restate as the engine, a job whose work the engine has is not in the queue, and has a holder whose lease
-- never expires (`infinity`).
create table jobs (
    id           uuid primary key,         -- of the run, batch, evaluation, optimization or part that it works on
    workspace_id uuid not null,
    kind         text collate "C" not null check (kind in
        ('run', 'batch', 'evaluation', 'optimization')),
    request      json not null,            -- what was requested
    attempts     integer not null default 0,  -- that have begun
    cancelled    boolean not null default false,  -- it is to stop
    holder       uuid,                     -- the attempt that may write; null while it waits
    lease_until  timestamptz,              -- after it, the holder counts as gone
    created_at   timestamptz not null,
    created_by   text collate "C" not null,
    waiting      boolean not null default false,  -- parked: no worker claims it
    -- A job of many items is divided: a worker that helps its holder has a job of its own, and takes ranges of
    -- the items.
    parent       uuid,                     -- the job that this one is a part of
    items_from   integer,                  -- of a divided job: the items that no worker has taken begin here
    items_to     integer,                  -- and end before here; of a part: the items that it has taken
    dispatched   boolean not null default false,  -- the engine has it and no attempt has begun: counts as queued
    format       smallint not null default 1,     -- of its documents: a worker takes none that is newer than it reads
    check ((holder is null) = (lease_until is null))
)
-- Expired leases are found among the jobs that have a holder, which `jobs_holder` lists. Without an index on
-- `lease_until`, and with room on each page, a renewal rewrites its row in place.
with (fillfactor = 70);
create unique index jobs_holder on jobs (holder) where holder is not null;
create index jobs_claimable on jobs (created_at, id) where holder is null and not waiting;
create index jobs_parts on jobs (parent) where parent is not null;
-- The jobs of a key that are queued or in progress, counted about every second for each key with limits.
create index jobs_of_actor on jobs (workspace_id, created_by) where not waiting;
-- The parked jobs of a workspace: how many there are is asked when another one may park.
create index jobs_parked on jobs (workspace_id) where waiting;
select isolate_workspaces('jobs');
