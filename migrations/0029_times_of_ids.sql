-- Ids are UUIDv7: they begin with the milliseconds since 1970. So a range of times is a range of ids.

-- The first id of a time: no id of that millisecond or later is before it.
create or replace function first_uuid(at timestamptz) returns uuid
language sql immutable strict parallel safe as $$
    select rpad(lpad(to_hex(greatest(floor(extract(epoch from at) * 1000), 0)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- The time at which an id was created, in whole milliseconds.
create or replace function time_of_uuid(id uuid) returns timestamptz
language sql immutable strict parallel safe as $$
    select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;
