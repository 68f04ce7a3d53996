-- A job of many items is divided: a worker that helps its holder has a job of its own, whose parent is that job,
-- and takes ranges of its items. A server of the release before that claims such a job ends it without doing
-- anything, and its holder takes the range back.
alter table jobs
    add column parent     uuid,     -- the job that this one is a part of
    add column items_from integer,  -- of a divided job: the items that nobody has taken begin here
    add column items_to   integer;  -- and end before here; of a part: the items that it has taken
create index jobs_parts on jobs (parent) where parent is not null;
