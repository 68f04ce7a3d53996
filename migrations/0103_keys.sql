-- Keys of clients, what is counted of their use, and the log of who did what.

-- The text of a key is stored nowhere: a key is found by its SHA-256. Rows are never removed: other rows name a
-- key by its label, and a database with a key admits nothing without one.
create table keys (
    id                  uuid primary key,
    workspace_id        uuid not null references workspaces (id),
    name                text collate "C" not null,
    label               text collate "C" not null,  -- `created_by` of what the key creates
    prefix              text collate "C" not null,  -- the first characters of the key, for display
    digest              bytea not null,
    scopes              text[] not null,
    requests_per_minute bigint check (requests_per_minute > 0),
    runs_per_minute     bigint check (runs_per_minute > 0),
    concurrent_runs     bigint check (concurrent_runs > 0),
    tokens_per_day      bigint check (tokens_per_day > 0),
    cost_per_day        double precision check (cost_per_day > 0),
    expires_at          timestamptz,
    created_at          timestamptz not null,
    created_by          text collate "C" not null,
    revoked_at          timestamptz,
    revoked_by          text collate "C",
    last_used_at        timestamptz                 -- written from time to time
);
create unique index keys_digest on keys (digest);
create unique index keys_label on keys (workspace_id, label);
-- A revoked key gives its name back.
create unique index keys_name on keys (workspace_id, name) where revoked_at is null;
create index keys_newest on keys (workspace_id, created_at desc, id desc);
select isolate_workspaces('keys');

-- What servers count of keys with limits: each writes its own counts about every second and reads those of the
-- others. Nothing is lost with the table but a few seconds of counts.
create unlogged table key_counts (
    key_id       uuid not null,
    replica      uuid not null,        -- the process that counts
    workspace_id uuid not null,
    minute       bigint not null,      -- of `requests` and `runs`, by the clock of the database
    requests     bigint not null,
    runs         bigint not null,
    running      bigint not null,      -- runs that are in progress
    updated_at   timestamptz not null,
    primary key (key_id, replica)
);
create index key_counts_age on key_counts (updated_at);
select isolate_workspaces('key_counts');

-- What the keys with a budget have spent, by the day (UTC) on which it was recorded: the sum that a budget is
-- compared with. It grows in the transactions that record usage, so that reading it is one look-up. No foreign
-- key, here and in other tables into which many servers insert all the time: it would lock the one row of the
-- workspace, and workspaces are never removed.
create table key_spending (
    workspace_id uuid not null,
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

-- Who did what to which thing, and when. Written in the transaction of the change; never with contents.
create table audit (
    id           bigint generated always as identity primary key,
    workspace_id uuid not null,
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
select isolate_workspaces('audit');

-- First answers, stored for repeats of the same request.
create table idempotency_keys (
    workspace_id uuid not null,
    created_by   text collate "C" not null,  -- the caller: keys of two callers never meet
    route        text collate "C" not null,
    key          text collate "C" not null,
    body_hash    bytea not null,
    holder       uuid not null,              -- the request that may write the answer
    lease_until  timestamptz not null,       -- after it, a repeat takes over from a crashed holder
    status       integer,                    -- null while the first request runs
    headers      json,
    body         bytea,
    created_at   timestamptz not null,
    expires_at   timestamptz not null,
    primary key (workspace_id, created_by, route, key),
    check ((status is null) = (headers is null) and (status is null) = (body is null))
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
select isolate_workspaces('idempotency_keys');
