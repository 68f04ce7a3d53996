-- Who made a state version, if it was no client, and what it was measured on. Old rows were all made by
-- clients, which is what null says.
alter table state_versions
    add column optimization_id uuid,               -- the optimization that found it
    add column dataset_hash    text collate "C";   -- the content hash of the data behind `score`

-- The same of the pointer's moves.
alter table state_activations
    add column optimization_id uuid;
