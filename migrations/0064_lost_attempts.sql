-- Attempts of the engine that lost their run although their worker lived: the connection to the engine, or the engine
-- itself, was gone. They do not count against `worker.attempts`.
alter table runs add column lost_attempts integer not null default 0;
