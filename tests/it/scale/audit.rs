//! What Postgres records about the ends of work.

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

/// Work that has not ended.
pub fn unended() -> String {
    format!(
        "select (select count(*) from ({WORK}) work
                 where status not in ('succeeded', 'failed', 'cancelled'))
              + (select count(*) from jobs)"
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
