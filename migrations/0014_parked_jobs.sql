-- Marks the jobs of runs that are parked by now. Each row is locked before its run is read, so that a
-- signal that arrives meanwhile is seen. A run that a server of the release before parks later is not
-- marked: the next worker claims it, finds that it waits, and parks it again.
do $$
declare
    job uuid;
begin
    for job in select id from jobs where kind = 'run' and holder is null order by id for update loop
        update jobs set waiting = true
        where id = job and exists (select from runs where runs.id = job and status = 'waiting');
    end loop;
end
$$;
