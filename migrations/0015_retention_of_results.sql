-- Evaluations and optimizations have retention. As with batches, one that is expired is invisible at once;
-- its rows are removed afterwards, in steps.
alter table evaluations add column expired boolean not null default false;
alter table optimizations add column expired boolean not null default false;

create index evaluations_ended on evaluations (workspace_id, finished_at) where finished_at is not null;
create index evaluations_expired on evaluations (workspace_id) where expired;
create index optimizations_ended on optimizations (workspace_id, finished_at) where finished_at is not null;
create index optimizations_expired on optimizations (workspace_id) where expired;
