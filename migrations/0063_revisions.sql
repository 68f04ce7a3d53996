-- The revisions of webhooks and online evaluations: a client that changes one names the revision that it has read
-- (`If-Match`). An online evaluation has an id, so that no revision of a later one of the same graph has the same tag.
alter table webhooks add column revision integer not null default 1; -- counts the changes of clients
alter table online_evaluations
    add column id       uuid    not null default gen_random_uuid(), -- the default is for servers before this column
    add column revision integer not null default 1,
    add column unmeasured integer not null default 0; -- runs of the day `spent_on` that have no score, for the provider's reasons
