-- Datasets: named lists of examples, in versions that never change.
create table datasets (
    id           uuid primary key,
    workspace_id uuid not null references workspaces (id),
    name         text collate "C" not null,
    version      integer not null,       -- the newest version
    created_at   timestamptz not null,
    created_by   text collate "C" not null,
    deleted_at   timestamptz,
    deleted_by   text collate "C"
);
-- A deleted dataset gives its name back.
create unique index datasets_name on datasets (workspace_id, name) where deleted_at is null;
create index datasets_newest on datasets (workspace_id, created_at desc, id desc) where deleted_at is null;
select isolate_workspaces('datasets');

-- Written once, never changed.
create table dataset_versions (
    dataset_id   uuid not null references datasets (id),
    version      integer not null check (version > 0),
    workspace_id uuid not null references workspaces (id),
    description  json,                   -- a JSON string: text cannot hold U+0000
    count        integer not null,       -- of examples
    bytes        bigint not null,        -- of their texts
    splits       json not null,          -- how many examples name which split
    content_hash text collate "C" not null,  -- of the examples' texts, a line each, in order
    created_at   timestamptz not null,
    created_by   text collate "C" not null,
    primary key (dataset_id, version)
);
select isolate_workspaces('dataset_versions');

-- Which example has which position in a version. Written once, never changed.
create table dataset_examples (
    dataset_id   uuid not null,
    version      integer not null,
    position     integer not null,
    workspace_id uuid not null,
    example_id   text collate "C" not null,
    hash         bytea not null,         -- of its content, which is in `dataset_contents`
    split        text collate "C",       -- null where it names none
    size         integer not null,       -- of its text in bytes, so that pages can be bounded by it
    primary key (dataset_id, version, position)
);
select isolate_workspaces('dataset_examples');

-- The contents of examples: stored once, however many versions have them. Written once, never changed.
create table dataset_contents (
    dataset_id   uuid not null,
    hash         bytea not null,
    workspace_id uuid not null,
    inputs       json not null,
    expected     json not null,
    cells        boolean not null,       -- its values are texts of table cells
    primary key (dataset_id, hash)
);
select isolate_workspaces('dataset_contents');
