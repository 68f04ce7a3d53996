-- Of the output tokens, those of reasoning; of the input tokens, those that a provider wrote to its cache.
-- A constant default does not rewrite the tables.
alter table batches
    add column reasoning_tokens bigint not null default 0,
    add column cache_write_tokens bigint not null default 0;

alter table evaluations
    add column reasoning_tokens bigint not null default 0,
    add column cache_write_tokens bigint not null default 0,
    add column judging_reasoning_tokens bigint not null default 0,
    add column judging_cache_write_tokens bigint not null default 0;

alter table optimizations
    add column reasoning_tokens bigint not null default 0,
    add column cache_write_tokens bigint not null default 0;
