-- Inserts that many servers make all the time touch no row in common, and renewals of leases no index.
--
-- A foreign key to `workspaces` locks the one row of the workspace at every insert; workspaces are never
-- removed. The one from `run_nodes` to `jobs` costs a look-up a row: the transaction that ends a run removes
-- its checkpoints itself.
do $$
declare
    hot record;
begin
    for hot in
        select constraints.conrelid::regclass as place, constraints.conname as name
        from pg_constraint constraints
        join pg_class found on found.oid = constraints.conrelid
        join pg_namespace schema on schema.oid = found.relnamespace
        where schema.nspname = current_schema() and constraints.contype = 'f'
          and (constraints.confrelid = 'workspaces'::regclass
               or (constraints.conrelid = 'run_nodes'::regclass and constraints.confrelid = 'jobs'::regclass))
          and found.relname in ('jobs', 'run_nodes', 'run_events', 'run_cancellations', 'batches', 'batch_items',
              'batch_results', 'batch_shares', 'evaluations', 'evaluation_results', 'optimizations',
              'optimization_candidates', 'optimization_purchases', 'optimization_rollouts', 'dataset_contents',
              'dataset_examples', 'idempotency_keys', 'audit', 'key_spending', 'key_counts')
        order by found.relname, constraints.conname
    loop
        execute format('alter table %s drop constraint %I', hot.place, hot.name);
    end loop;
end
$$;

-- Expired leases are found among the jobs that have a holder, which `jobs_holder` lists. Without an index on
-- `lease_until`, and with room on each page, a renewal rewrites its row in place.
drop index jobs_lapsed;
alter table jobs set (fillfactor = 70);
