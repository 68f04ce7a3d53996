-- A checkpoint is stored as one body (`crates/dsrs-store/src/packed_checkpoint.rs`) where runs are (0117). Elsewhere it has
-- JSON, which servers of the release before read.
alter table run_nodes
    add column body bytea,    -- null: the documents are in outcome, usage and trace
    alter column outcome drop not null,
    alter column usage drop not null,
    alter column trace drop not null;

-- A body is compressed already.
do $$
declare
    part record;
begin
    for part in select relid::regclass as place from pg_partition_tree('run_nodes') loop
        execute format('alter table %s alter column body set storage external', part.place);
    end loop;
end
$$;
