-- With Restate as the engine, a job whose work the engine has is not in the queue, and has a holder whose lease
-- never expires (`infinity`). `dispatched` says that no attempt has begun: it can be cancelled and counts as queued.
alter table jobs add column dispatched boolean not null default false;

-- What is sent next carries the version of its form: a worker takes nothing that is newer than what it reads.
alter table jobs add column format smallint not null default 1;
