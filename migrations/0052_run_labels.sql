-- The caller's own names of a run: tags, a session, a user, and metadata. Null where a caller gives none. Their order
-- and their text are those of the request.
alter table runs
    add column tags       json,
    add column session_id text collate "C",
    add column user_id    text collate "C",
    add column metadata   json;

alter table batches
    add column tags       json,
    add column session_id text collate "C",
    add column user_id    text collate "C",
    add column metadata   json;

-- As the other values of runs (0026).
do $$
declare
    place regclass;
begin
    if not exists (
        select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)
    ) then
        return;
    end if;
    for place in select relid from pg_partition_tree('runs') loop
        execute format('alter table %s alter column tags set compression lz4, '
            'alter column metadata set compression lz4', place);
    end loop;
end
$$;
