-- Graphs, their versions, their predictor states, and which state is active.
-- Documents are `json`, never `jsonb`: the text is stored as it was written.

create table graphs (
    id            uuid primary key,
    workspace_id  uuid not null references workspaces (id),
    name          text collate "C" not null,
    version       integer not null,  -- the newest graph version
    state_version integer not null,  -- the newest state version, active or not
    created_at    timestamptz not null,
    created_by    text collate "C" not null,
    deleted_at    timestamptz,
    deleted_by    text collate "C"
);
-- A deleted graph gives its name back.
create unique index graphs_name on graphs (workspace_id, name) where deleted_at is null;
create index graphs_newest on graphs (workspace_id, created_at desc, id desc) where deleted_at is null;
select isolate_workspaces('graphs');

-- Written once, never changed.
create table graph_versions (
    graph_id     uuid not null references graphs (id),
    version      integer not null check (version > 0),
    workspace_id uuid not null references workspaces (id),
    description  json,               -- a JSON string: text cannot hold U+0000
    format       integer not null,   -- of the definition document
    definition   json not null,
    content_hash text collate "C" not null,
    created_at   timestamptz not null,
    created_by   text collate "C" not null,
    expose       json,               -- a part of the definition: how clients of other protocols see the graph
    primary key (graph_id, version)
);
-- Exposed graphs are found without reading every definition.
create index graph_versions_exposed on graph_versions (workspace_id, graph_id, version) where expose is not null;
select isolate_workspaces('graph_versions');

-- Written once, never changed.
create table state_versions (
    graph_id        uuid not null references graphs (id),
    version         integer not null check (version > 0),
    workspace_id    uuid not null references workspaces (id),
    graph_version   integer not null,
    parent          integer,
    score           double precision,
    predictors      json not null,
    content_hash    text collate "C" not null,
    created_at      timestamptz not null,
    created_by      text collate "C" not null,
    optimization_id uuid,               -- the optimization that found it; null: a client made it
    dataset_hash    text collate "C",   -- the content hash of the data behind `score`
    primary key (graph_id, version),
    foreign key (graph_id, graph_version) references graph_versions (graph_id, version),
    foreign key (graph_id, parent) references state_versions (graph_id, version),
    -- so that a row below can only name a state that fits its graph version
    unique (graph_id, graph_version, version)
);
select isolate_workspaces('state_versions');

-- The pointer that every execution follows: one row for a graph version.
create table states_in_force (
    graph_id      uuid not null,
    graph_version integer not null,
    workspace_id  uuid not null references workspaces (id),
    state_version integer not null,
    primary key (graph_id, graph_version),
    foreign key (graph_id, graph_version, state_version)
        references state_versions (graph_id, graph_version, version)
);
select isolate_workspaces('states_in_force');

-- How the pointer moved: creation, promotion and rollback alike.
create table state_activations (
    id              bigint generated always as identity primary key,
    workspace_id    uuid not null references workspaces (id),
    graph_id        uuid not null,
    state_version   integer not null,
    created_at      timestamptz not null,
    created_by      text collate "C" not null,
    optimization_id uuid,               -- the optimization that moved it; null: a client did
    foreign key (graph_id, state_version) references state_versions (graph_id, version)
);
create index state_activations_graph on state_activations (graph_id, id desc);
select isolate_workspaces('state_activations');
