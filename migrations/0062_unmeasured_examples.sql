-- An example whose run failed for a reason that is not the program's (the provider, the time, a budget) has no score.
-- Its row in `evaluation_results` says so; its `score` is 0 and does not count.
alter table evaluation_results add column unmeasured boolean not null default false;
alter table evaluations
    add column unmeasured     integer not null default 0, -- rows of `evaluation_results` without a score; not in `failed`
    add column max_unmeasured double precision;           -- the share that may stay so; null takes the usual one
