#!/usr/bin/env python3
"""What the statements of lists, filters and look-ups cost on many runs in many partitions.

    scripts/with-postgres.sh python3 bench/partitions.py --rows 10000000 --days 64 --width 4

Fills an empty database through the migrations of this tree, with partitions of some days each, and prints for each statement how
many partitions are read, and the milliseconds of planning and of execution (the best of five).
"""

import argparse
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKSPACE = "00000000-0000-7000-8000-000000000001"

FILL = """
do $$
declare
    begin_of date := (now() at time zone 'UTC')::date - {days};
    place record;
begin
    for place in select inhrelid::regclass as name from pg_inherits where inhparent = 'runs'::regclass loop
        execute format('alter table runs detach partition %s', place.name);
    end loop;
    execute format('alter table runs attach partition runs_before for values from (minvalue) to (%L)',
        first_uuid(begin_of::timestamp at time zone 'UTC'));
    alter table runs attach partition runs_rest default;
    for number in 0..({days} + 2) / {width} loop
        execute format('create table runs_day_%s partition of runs for values from (%L) to (%L)', number,
            first_uuid((begin_of + number * {width})::timestamp at time zone 'UTC'),
            first_uuid((begin_of + (number + 1) * {width})::timestamp at time zone 'UTC'));
    end loop;
end
$$;
insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at, started_at,
                  finished_at, duration_ms, inputs, outputs, error, usage, nodes, trace, created_by)
select overlay(md5(n::text)::uuid::text placing left(first_uuid(at)::text, 13) from 1)::uuid,
       '{workspace}', '{workspace}', 'graph ' || n % 20, 1, 1 + n % 3,
       case when n % 97 = 0 then 'failed' when n % 1009 = 0 then 'cancelled' else 'succeeded' end,
       at, at, at + interval '900 ms', 900, '{{"question": "why?"}}', '{{"answer": "because"}}',
       case when n % 97 = 0 then '{{"code": "lm_error", "detail": "the model did not answer"}}'::json end,
       '{{"lm_calls": 1, "input_tokens": 120, "output_tokens": 9}}', '{{}}', '{{"spans": []}}', 'bench'
from (select n, now() - n * interval '{days} days' / {rows} as at from generate_series(1, {rows}) n) made;
"""

LIST = (
    "select id, graph_id, graph_name, graph_version, state_version, status, created_at, started_at, finished_at, "
    "duration_ms, error::text, usage::text, created_by from runs where workspace_id = '{w}'{filter} "
    "order by created_at desc, id desc limit 51"
)


def psql(text, *options):
    command = ["psql", "-qX", "-v", "ON_ERROR_STOP=1", *options, os.environ["DATABASE_URL"]]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"psql: {done.stderr.strip()}")
    return done.stdout


def plan(statement):
    """The best of five runs in one session, which has planned the statement before. Each run is undone."""
    asked = f"begin; explain (analyze, format json) {statement}; rollback;"
    text, plans = psql(asked * 6, "-At").strip(), []
    while text:
        found, end = json.JSONDecoder().raw_decode(text)
        plans.append(found[0])
        text = text[end:].strip()
    return min(plans[1:], key=lambda found: found["Planning Time"] + found["Execution Time"])


def partitions(node):
    """The partitions of runs that a plan reads."""
    found = {node["Relation Name"]} if node.get("Relation Name", "").startswith("runs_") else set()
    never = node.get("Actual Loops") == 0
    return set().union(set() if never else found, *(partitions(child) for child in node.get("Plans", [])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=64)
    parser.add_argument("--width", type=int, default=4, help="days of a partition")
    given = parser.parse_args()
    for step in sorted((ROOT / "migrations").glob("[0-9]*.sql")):
        psql(step.read_text(encoding="utf-8"), "-1")
    psql(FILL.format(rows=given.rows, days=given.days, width=given.width, workspace=WORKSPACE))
    psql("vacuum (analyze) runs")
    middle = f"now() - interval '{given.days // 2} days'"
    one = psql(f"select id from runs where id >= first_uuid({middle}) order by id limit 1", "-At").strip()
    some = psql(f"select string_agg(quote_literal(id), ',') from (select id from runs where id >= first_uuid(now() - "
                "interval '1 hour') limit 64) new", "-At").strip()
    # The server computes the bounds of the ids.
    bounds = psql(f"select first_uuid({middle} - interval '1 day'), first_uuid({middle} + interval '1 day'), "
                  f"first_uuid({middle} + interval '2 days')", "-At").strip().split("|")
    day = (f"and created_at >= {middle} and created_at < {middle} + interval '1 day' "
           f"and id >= '{bounds[0]}' and id <= '{bounds[2]}'")
    after = f" and id <= '{bounds[1]}' and (created_at, id) < ({middle}, '{one}')"
    statements = {
        "one run by its id": f"select * from runs where id = '{one}' and workspace_id = '{WORKSPACE}'",
        "the newest runs": LIST.format(w=WORKSPACE, filter=""),
        "a page in the middle": LIST.format(w=WORKSPACE, filter=after),
        "of a graph": LIST.format(w=WORKSPACE, filter=" and graph_name = 'graph 7'"),
        "that failed": LIST.format(w=WORKSPACE, filter=" and status = 'failed' and status <> 'succeeded'"),
        "of a graph on a day": LIST.format(w=WORKSPACE, filter=f" and graph_name = 'graph 7' {day}"),
        "64 runs end": "update runs set status = 'succeeded', finished_at = now() from unnest(array["
                       f"{some}]::uuid[]) as ended (id) where runs.id = ended.id and runs.id = any (array[{some}]::uuid[])",
    }
    print(f"{given.rows:,} runs of {given.days} days, {given.width} days a partition")
    print("| runs | partitions read | planning, ms | execution, ms |\n|---|---|---|---|")
    for name, statement in statements.items():
        found = plan(statement)
        count = len(partitions(found["Plan"]))
        print(f"| {name} | {count} | {found['Planning Time']:.2f} | {found['Execution Time']:.2f} |")


if __name__ == "__main__":
    main()
