-- Reads the large tables, so that their constraints hold for old rows, too (0030). Readers and writers go on
-- meanwhile.
do $$
declare
    large record;
begin
    for large in
        select conrelid::regclass as place
        from pg_constraint
        join pg_class found on found.oid = conrelid
        join pg_namespace schema on schema.oid = found.relnamespace
        where schema.nspname = current_schema() and conname = 'bound_of_ids' and not convalidated
        order by found.relname
    loop
        execute format('alter table %s validate constraint bound_of_ids', large.place);
    end loop;
end
$$;
