-- Tables of runs, items and results have partitions by ranges of ids. Ids are UUIDv7: they begin with the
-- milliseconds since 1970, so a range of ids is a range of times. Servers add a partition before its time comes
-- (`crates/dsrs-store/src/partition`); ids for which there is none are in the partition `…_rest`.

-- The first id of a time: no id of that millisecond or later is before it.
create function first_uuid(at timestamptz) returns uuid
language sql immutable strict parallel safe as $$
    select rpad(lpad(to_hex(greatest(floor(extract(epoch from at) * 1000), 0)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- The time at which an id was created, in whole milliseconds.
create function time_of_uuid(id uuid) returns timestamptz
language sql immutable strict parallel safe as $$
    select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;

-- The bound of the ids of a table: the beginning of the day after its newest id, and at least so long from now.
create function bound_of_ids(target regclass, key name, ahead interval) returns uuid
language plpgsql as $$
declare
    newest uuid;
begin
    execute format('select %I from %s order by %I desc limit 1', key, target, key) into newest;
    return first_uuid(date_trunc('day',
        greatest(time_of_uuid(newest) + interval '1 day', now() + ahead), 'UTC'));
end
$$;

-- Makes a table the first partition of a partitioned table with the same name, columns, indexes, policy and
-- rights. Does nothing for a table that is partitioned already.
create function partition_by_time(target name, key name) returns void language plpgsql as $$
declare
    whole regclass := target::text::regclass;
    before name := target || '_before';
    ahead name;
    rest name := target || '_rest';
    owner name;
    bound uuid;
    following uuid;
    definitions text[];
    statement text;
    item record;
begin
    if (select relkind from pg_class where oid = whole) = 'p' then
        return;
    end if;
    set local dsrs.workspace = '*';
    execute format('lock table %s in access exclusive mode', whole);
    select pg_get_userbyid(relowner) into owner from pg_class where oid = whole;

    -- A bound that is checked already spares a reading of the table.
    select substring(pg_get_constraintdef(oid) from '[0-9a-f-]{36}')::uuid into bound
    from pg_constraint where conrelid = whole and conname = 'bound_of_ids' and convalidated;
    bound := coalesce(bound, bound_of_ids(whole, key, interval '0'));
    following := first_uuid(time_of_uuid(bound) + interval '28 days');
    ahead := target || to_char(time_of_uuid(bound) at time zone 'UTC', '_YYYYMMDD');

    -- Indexes have names of their own in the schema. Their definitions name the table, as it is called now.
    select array_agg(pg_get_indexdef(indexrelid) order by indexrelid) into definitions
    from pg_index where indrelid = whole
      and not exists (select from pg_constraint where conindid = indexrelid and conrelid = whole);
    select pg_get_constraintdef(oid) into statement
    from pg_constraint where conrelid = whole and contype = 'p';
    for item in
        select index.relname as name from pg_index join pg_class index on index.oid = indexrelid where indrelid = whole
    loop
        execute format('alter index %I rename to %I', item.name,
            before || '_' || regexp_replace(item.name, '^' || target || '_', ''));
    end loop;
    execute format('alter table %I rename to %I', target, before);

    execute format('create table %I (like %I including defaults including constraints including storage '
        'including compression including comments) partition by range (%I)', target, before, key);
    execute format('alter table %I drop constraint if exists bound_of_ids', target);
    execute format('alter table %I add constraint %I %s', target, target || '_pkey', statement);
    foreach statement in array coalesce(definitions, '{}') loop
        execute statement;
    end loop;
    execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', target, before, bound);
    execute format('alter table %I drop constraint if exists bound_of_ids', before);
    execute format('create table %I (like %I including all)', ahead, target);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', target, ahead, bound, following);
    execute format('create table %I (like %I including all)', rest, target);
    execute format('alter table %I attach partition %I default', target, rest);

    for item in
        select pg_get_userbyid(grantee) as role, privilege_type as privilege
        from pg_class, aclexplode(relacl) where oid = before::text::regclass and grantee not in (0, relowner)
    loop
        execute format('grant %s on %I to %I', item.privilege, target, item.role);
    end loop;
    foreach statement in array array[target::text, ahead::text, rest::text] loop
        perform isolate_workspaces(statement::regclass);
        if owner <> current_user then
            execute format('alter table %I owner to %I', statement, owner);
        end if;
    end loop;
end
$$;
