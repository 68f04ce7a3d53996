-- Large values are compressed with lz4 where the server has it: a fifth of the CPU of the default, and as small.
-- It applies to values that are written from now on. A server without lz4 is not changed, and a restored dump of
-- such a server needs nothing either.
do $$
declare
    large record;
begin
    if not exists (
        select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)
    ) then
        return;
    end if;
    for large in
        select found.oid::regclass as place, attribute.attname as name
        from pg_class found
        join pg_namespace schema on schema.oid = found.relnamespace
        join pg_attribute attribute on attribute.attrelid = found.oid
        where schema.nspname = current_schema() and found.relkind in ('r', 'p')
          and attribute.attnum > 0 and not attribute.attisdropped
          and attribute.atttypid in ('json'::regtype, 'text'::regtype, 'bytea'::regtype)
          and found.relname in ('graph_versions', 'state_versions', 'runs', 'run_nodes', 'run_events', 'batch_items',
              'batch_results', 'dataset_contents', 'dataset_examples', 'evaluation_results', 'optimizations',
              'optimization_candidates', 'optimization_purchases', 'optimization_rollouts', 'jobs')
        order by found.relname, attribute.attnum
    loop
        execute format('alter table %s alter column %I set compression lz4', large.place, large.name);
    end loop;
end
$$;
