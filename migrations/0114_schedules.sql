-- Schedules: work that starts at times of a calendar. A firing is one of these times: a row that exists once, and
-- whose work is accepted under the id of the row as its idempotency key.
create table schedules (
    id            uuid primary key,
    workspace_id  uuid not null references workspaces (id),
    name          text collate "C" not null,
    description   text not null,
    cron          text not null,
    time_zone     text not null,
    overlap       text collate "C" not null,
    catch_up      text collate "C" not null,
    graph_id      uuid not null,
    graph_name    text collate "C" not null,
    target        text collate "C" not null,
    request       json not null,             -- the body of the request that starts the work
    enabled       boolean not null,
    disabled_because text collate "C" check (disabled_because in ('key', 'never')),
    runs_as       text collate "C" not null, -- the actor whose key starts the work
    next_at       timestamptz,               -- the next time that is not a firing yet; null while it is disabled
    revision      integer not null,          -- counts the changes of clients
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    created_by    text collate "C" not null
);
create unique index schedules_name on schedules (workspace_id, name);
create index schedules_due on schedules (next_at) where enabled;
select isolate_workspaces('schedules');

-- The first claim copies from the schedule what the work is, so that a later claim repeats the same request although
-- the schedule was changed in between. The body of the request is removed at the end.
create table schedule_firings (
    id            uuid primary key,
    schedule_id   uuid not null,
    workspace_id  uuid not null,
    scheduled_at  timestamptz not null,
    by_hand       boolean not null,
    status        text collate "C" not null
                  check (status in ('pending', 'succeeded', 'failed', 'skipped', 'missed')),
    missed        integer not null,          -- earlier times that were left out for it
    attempts      integer not null,
    next_attempt_at timestamptz,             -- of one that is pending; in the future while a server starts its work
    holder        uuid,                      -- that server's claim
    graph_id      uuid,
    target        text collate "C",
    request       json,
    runs_as       text collate "C",
    work_id       uuid,                      -- what it started
    error         json,                      -- the problem with which its work was refused
    created_at    timestamptz not null,
    finished_at   timestamptz
);
create unique index schedule_firings_once on schedule_firings (schedule_id, scheduled_at) where not by_hand;
create index schedule_firings_newest on schedule_firings (schedule_id, created_at desc, id desc);
create index schedule_firings_pending on schedule_firings (schedule_id, scheduled_at) where status = 'pending';
create index schedule_firings_age on schedule_firings (workspace_id, created_at);
select isolate_workspaces('schedule_firings');
