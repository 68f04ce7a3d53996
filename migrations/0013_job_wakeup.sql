-- A server of the release before wakes a parked run without knowing `jobs.waiting`: it only changes
-- the status of the run. The release after this one drops this trigger.
create function wake_job() returns trigger language plpgsql as $$
begin
    update jobs set waiting = false where id = new.id and waiting;
    return null;
end
$$;

create trigger runs_wake_job after update of status on runs for each row
    when (old.status = 'waiting' and new.status = 'queued')
    execute function wake_job();
