-- The `jobs` table becomes the queue: workers claim the oldest jobs that have no holder.
--
-- Until here a library stored the queue in a schema of its own, `dsrs_queue`. Servers of the release
-- before still enqueue and take jobs there, while servers of this release run beside them. Nothing is
-- lost: every job has a row here, whoever enqueued it. Nothing runs twice: a job has one holder,
-- whoever claimed it. The release after this one drops `dsrs_queue`.
alter table jobs add column waiting boolean not null default false;  -- parked: no worker claims it

create index jobs_claimable on jobs (created_at, id) where holder is null and not waiting;
