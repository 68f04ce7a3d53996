-- Which installation this database belongs to: servers send it with their work to an engine that several
-- installations share, and a worker leaves the work of others.
create table installation (
    id      uuid not null default gen_random_uuid(),
    is_only boolean primary key default true check (is_only)
);
insert into installation default values on conflict do nothing;
