-- Large values are compressed with lz4 where the server has it: a fifth of the CPU of the default, and as small.
-- A server without lz4 is not changed, and a restored dump of such a server needs nothing either.
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
        select attribute.attrelid::regclass as place, attribute.attname as name
        from unnest(array['graph_versions', 'state_versions', 'runs', 'run_nodes', 'run_events', 'batch_items',
                'batch_results', 'dataset_contents', 'dataset_examples', 'evaluation_results', 'optimizations',
                'optimization_candidates', 'optimization_purchases', 'optimization_rollouts', 'jobs']) as target
        left join lateral pg_partition_tree(target::regclass) as part on true
        join pg_attribute attribute on attribute.attrelid = coalesce(part.relid, target::regclass)
        where attribute.attnum > 0 and not attribute.attisdropped
          and attribute.atttypid in ('json'::regtype, 'text'::regtype, 'bytea'::regtype)
          and attribute.attname not in ('session_id', 'user_id')  -- short
    loop
        execute format('alter table %s alter column %I set compression lz4', large.place, large.name);
    end loop;
end
$$;
