-- First answers, kept for repeats of the same request.
create table idempotency_keys (
    workspace_id uuid not null references workspaces (id),
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
