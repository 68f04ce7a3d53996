-- What a version declares of its exposure to clients of other protocols; also stored beside the definition, so that
-- exposed graphs are found without reading every definition.
alter table graph_versions add column expose json;

create index graph_versions_exposed on graph_versions (workspace_id, graph_id, version) where expose is not null;
