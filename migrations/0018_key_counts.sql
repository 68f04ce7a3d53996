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
