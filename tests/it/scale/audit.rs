//! What Postgres records about the ends of work, and about the attempts at it.

/// Records each end: of a row that is written when it has ended, and of one whose status changes.
pub const AUDIT: &str = "
    create table ends (id uuid, status text);
    create function note_end() returns trigger language plpgsql as $$
    begin
        if new.status in ('succeeded', 'failed', 'cancelled')
            and (tg_op = 'INSERT' or old.status <> new.status)
        then insert into ends values (new.id, new.status); end if;
        return new;
    end $$;
    create trigger noted after insert or update of status on runs
        for each row execute function note_end();
    create trigger noted after insert or update of status on batches
        for each row execute function note_end();
    create trigger noted after insert or update of status on evaluations
        for each row execute function note_end();
    create trigger noted after insert or update of status on optimizations
        for each row execute function note_end()";

/// The setting of a session that names its server.
pub const SERVER: &str = "scale.server";

/// Records who makes attempts: `begun` has those at runs, `claimed` those at jobs, and `lost` those that had a job which
/// now waits for another one, or has it. The parts of a job count as the job.
pub const ATTEMPTS: &str = "
    create table begun (run uuid, server int, at timestamptz);
    create table claimed (holder uuid, server int);
    create table lost (work uuid, at timestamptz);
    create function note_begin() returns trigger language plpgsql as $$
    begin
        insert into begun values (new.id, current_setting('scale.server')::int, clock_timestamp());
        return new;
    end $$;
    create trigger begun after update of status on runs for each row
        when (new.status = 'running') execute function note_begin();
    create function note_holder() returns trigger language plpgsql as $$
    begin
        if old.holder is not null and not old.dispatched then
            insert into lost values (coalesce(old.parent, old.id), clock_timestamp());
        end if;
        if new.holder is not null and not new.dispatched then
            insert into claimed values (new.holder, current_setting('scale.server')::int);
        end if;
        return new;
    end $$;
    create trigger claimed after update of holder on jobs for each row
        when (old.holder is distinct from new.holder) execute function note_holder()";

/// Counts the work that a server has, or had and no other has begun again.
pub fn held_by(server: usize) -> String {
    format!(
        "select (select count(*) from jobs join claimed using (holder) where server = {server})
              + (select count(*) from runs where status = 'running'
                     and not exists (select from jobs where jobs.id = runs.id)
                     and (select server from begun where run = runs.id order by at desc limit 1) = {server})"
    )
}

/// Everything that was accepted, with its end.
pub const WORK: &str = "
    select id, status from runs union all select id, status from batches
    union all select id, status from evaluations union all select id, status from optimizations";

/// Work that ended another number of times than once, or has another status than its end.
pub fn wrong_ends() -> String {
    format!(
        "select work.id::text, work.status, array_agg(ends.status) as ends
         from ({WORK}) work left join ends using (id) group by 1, 2
         having array_agg(ends.status) <> array[work.status]
            or work.status not in ('succeeded', 'failed', 'cancelled')"
    )
}

/// Counts the work that has not ended, with the items that have no result.
pub fn unended() -> String {
    format!(
        "select ((select count(*) from ({WORK}) work
                  where status not in ('succeeded', 'failed', 'cancelled'))
               + (select count(*) from jobs)
               + (select count(*) from batch_items) - (select count(*) from batch_results)
               + (select coalesce(sum(total - done), 0) from evaluations))::bigint"
    )
}

/// Tables of work in progress, which are empty when everything has ended.
pub const IN_PROGRESS: &[&str] = &[
    "jobs",
    "run_nodes",
    "batch_shares",
    "optimization_purchases",
    "optimization_rollouts",
    "optimization_tasks",
    "optimization_programs",
];
