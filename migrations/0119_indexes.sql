-- Indexes of passages: the examples of a dataset, found by their words and by their vectors.
create table indexes (
    id           uuid primary key,
    workspace_id uuid not null references workspaces (id),
    name         text collate "C" not null,
    dataset_id   uuid not null,
    dataset      text collate "C" not null,  -- its name at the time of the request
    field        text collate "C",           -- the input that is the passage; null: the only one
    language     text collate "C" not null,  -- a text search configuration of pg_catalog
    model        text collate "C",           -- the alias of an embedding model; null: no vectors
    build_id     uuid,                       -- the build that answers; null before the first has succeeded
    created_at   timestamptz not null,
    created_by   text collate "C" not null
);
create unique index indexes_name on indexes (workspace_id, name);
create index indexes_newest on indexes (workspace_id, created_at desc, id desc);
select isolate_workspaces('indexes');

-- Builds of indexes: each makes an index of one version of its dataset. The job that works on one is in `jobs`, under the
-- same id.
create table index_builds (
    id              uuid primary key,
    workspace_id    uuid not null,
    index_id        uuid not null,
    dataset_version integer not null,
    embedder        text collate "C",         -- the model behind the alias: vectors of another one are made again
    status          text collate "C" not null check (status in
        ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    total           integer not null,         -- of passages
    done            integer not null default 0,
    reused          integer not null default 0, -- of these, those that an earlier build has indexed
    words           bigint not null default 0,  -- the sum of the lengths of all passages
    requests        bigint not null default 0,  -- to the embedding model
    tokens          bigint not null default 0,
    cost            double precision,
    error           json,
    created_at      timestamptz not null,
    started_at      timestamptz,
    finished_at     timestamptz,
    created_by      text collate "C" not null
);
create index index_builds_of_index on index_builds (index_id, created_at desc);
-- One build of an index at a time.
create unique index index_builds_active on index_builds (index_id) where status in ('queued', 'running');
select isolate_workspaces('index_builds');

-- Segments: passages that were indexed together. Written once, never changed; a build that finds all passages of a segment
-- in its version has the segment as it is.
create table index_segments (
    id           uuid primary key,
    workspace_id uuid not null,
    index_id     uuid not null,
    passages     integer not null,
    words        bigint not null,
    dimension    integer not null,         -- of each vector; 0 without vectors
    vectors      bytea                     -- one after the other: 32-bit floats, the lowest byte first, of length 1
);
alter table index_segments alter column vectors set storage external;
create index index_segments_of_index on index_segments (index_id);
select isolate_workspaces('index_segments');

create table index_build_segments (
    build_id     uuid not null,
    segment_id   uuid not null,
    workspace_id uuid not null,
    primary key (build_id, segment_id)
);
select isolate_workspaces('index_build_segments');

create table index_passages (
    segment_id   uuid not null,
    number       integer not null,         -- within the segment, from 0
    workspace_id uuid not null,
    example_id   text collate "C" not null,
    content      bytea not null,           -- the hash of the example (`dataset_contents`)
    text         json not null,            -- a JSON string: text cannot hold U+0000
    primary key (segment_id, number)
);
create index index_passages_of_example on index_passages (segment_id, example_id);
select isolate_workspaces('index_passages');

-- The passages of a segment that have a word: the number of each, how often it has the word, and its length in words.
create table index_terms (
    segment_id   uuid not null,
    term         text collate "C" not null,
    workspace_id uuid not null,
    passages     integer[] not null,
    counts       integer[] not null,
    lengths      integer[] not null,
    primary key (segment_id, term)
);
select isolate_workspaces('index_terms');

alter table jobs drop constraint jobs_kind_check;
alter table jobs add constraint jobs_kind_check check (kind in
    ('run', 'batch', 'evaluation', 'optimization', 'index_build'));
