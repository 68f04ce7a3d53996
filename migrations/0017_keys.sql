-- Keys of clients. The text of a key is stored nowhere: a key is found by its SHA-256. Rows are never removed:
-- other rows name a key by its label, and a database with a key admits nothing without one.
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
    revoked_by          text collate "C"
);
create unique index keys_digest on keys (digest);
create unique index keys_label on keys (workspace_id, label);
-- A revoked key gives its name back.
create unique index keys_name on keys (workspace_id, name) where revoked_at is null;
create index keys_newest on keys (workspace_id, created_at desc, id desc);
create index workspaces_newest on workspaces (created_at desc, id desc);
