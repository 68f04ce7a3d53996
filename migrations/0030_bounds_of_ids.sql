-- Prepares the tables that become partitions of larger ones (0032). A large table is then not read while it is
-- locked, since a constraint already says that all its ids are before a bound. This step only adds the
-- constraints, which old rows need not fulfil yet (0031).

-- The bound of the ids of a table: the beginning of the day after its newest id, and at least so long from now.
create or replace function bound_of_ids(target regclass, key name, ahead interval) returns uuid
language plpgsql as $$
declare
    newest uuid;
begin
    execute format('select %I from %s order by %I desc limit 1', key, target, key) into newest;
    return first_uuid(date_trunc('day',
        greatest(time_of_uuid(newest) + interval '1 day', now() + ahead), 'UTC'));
end
$$;

do $$
declare
    large record;
begin
    set local dsrs.workspace = '*';
    for large in
        select found.oid::regclass as place, of_key.key::name as key
        from (values ('runs', 'id'), ('run_nodes', 'run_id'), ('run_events', 'run_id'), ('batch_items', 'batch_id'),
                     ('batch_results', 'batch_id'), ('evaluation_results', 'evaluation_id')) as of_key (name, key)
        join pg_class found on found.relname = of_key.name
        join pg_namespace schema on schema.oid = found.relnamespace
        where schema.nspname = current_schema() and found.relkind = 'r'
          and pg_table_size(found.oid) > 16 * 1024 * 1024
          and not exists (select from pg_constraint where conrelid = found.oid and conname = 'bound_of_ids')
        order by found.relname
    loop
        execute format('alter table %s add constraint bound_of_ids check (%I < %L) not valid',
            large.place, large.key, bound_of_ids(large.place, large.key, interval '30 days'));
    end loop;
end
$$;
