#!/usr/bin/env bash
# The same valid cron line fires on other days in each library when both day fields are set: `*/10` beside `1-5` adds days in
# some and restricts them in others, and `1-31` is not always `*`.
#
# Seen with croniter 7.0.0, cronsim 2.8 and APScheduler 3.11.3 (PyPI), cron-parser 5.10.6, croner 11.0.1 and cron 4.4.0 (npm).
# Guess: of two day fields that are set, one suffices, in all. Behaviour: the libraries disagree about which field counts as set.
# In cronsim, which follows Debian's cron, a field that begins with `*` is free, also with a step, and both must fit; in the
# other four `*/10` is a set field, so the line fires on all weekdays. A field that has every value is free in cron (npm) only.
# `from_crontab` of APScheduler always asks for both fields, and counts Monday as 0. A job that costs money on a tenth day of the
# month runs on 23 days of June. Write one day field, and let the job decide about the other.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet croniter==7.0.0 cronsim==2.8 apscheduler==3.11.3
npm init -y >/dev/null
npm install --silent cron-parser@5.10.6 croner@11.0.1 cron@4.4.0

cat >lines.json <<'JSON'
["0 9 1 * 1", "0 9 */10 * 1-5", "0 9 1-31 * 1", "0 9 1 * */1", "0 9 * * 1-5"]
JSON
cat >next.py <<'PY'
import json
from datetime import datetime, timezone

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim

START = datetime(2026, 6, 1, tzinfo=timezone.utc)


def with_croniter(line):
    times = croniter(line, START)
    while True:
        yield times.get_next(datetime)


def with_apscheduler(line):
    trigger = CronTrigger.from_crontab(line, timezone=timezone.utc)
    last = None
    while True:
        last = trigger.get_next_fire_time(last, last or START)
        yield last


with open("lines.json") as file:
    lines = json.load(file)
for line in lines:
    libraries = {"croniter": with_croniter, "cronsim": lambda line: CronSim(line, START), "APScheduler": with_apscheduler}
    for name, times in libraries.items():
        days = []
        for time in times(line):
            if (time.month, time.day // 13) != (6, 0):
                break
            days.append(time.day)
        print(f"{line}; {name}; {' '.join(map(str, days)) or 'none'}")
PY
cat >next.mjs <<'JS'
import fs from 'node:fs';
import { CronTime } from 'cron';
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';

const start = new Date('2026-06-01T00:00:00Z');
const libraries = {
  'cron-parser': (line) => {
    const times = CronExpressionParser.parse(line, { currentDate: start, tz: 'UTC' });
    return () => times.next().toDate();
  },
  croner: (line) => {
    const times = new Cron(line, { timezone: 'UTC', paused: true });
    let last = start;
    return () => (last = times.nextRun(last));
  },
  cron: (line) => {
    const times = new CronTime(line, 'UTC');
    let last = start;
    return () => (last = times.getNextDateFrom(last, 'UTC').toJSDate());
  },
};
for (const line of JSON.parse(fs.readFileSync('lines.json'))) {
  for (const [name, library] of Object.entries(libraries)) {
    const next = library(line);
    const days = [];
    for (let time = next(); time.getUTCMonth() === 5 && time.getUTCDate() < 13; time = next()) days.push(time.getUTCDate());
    console.log(`${line}; ${name}; ${days.join(' ') || 'none'}`);
  }
}
JS
{ python/bin/python next.py; node next.mjs; } | LC_ALL=C sort -s -t';' -k1,1 >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
0 9 * * 1-5; croniter; 1 2 3 4 5 8 9 10 11 12
0 9 * * 1-5; cronsim; 1 2 3 4 5 8 9 10 11 12
0 9 * * 1-5; APScheduler; 2 3 4 5 6 9 10 11 12
0 9 * * 1-5; cron-parser; 1 2 3 4 5 8 9 10 11 12
0 9 * * 1-5; croner; 1 2 3 4 5 8 9 10 11 12
0 9 * * 1-5; cron; 1 2 3 4 5 8 9 10 11 12
0 9 */10 * 1-5; croniter; 1 2 3 4 5 8 9 10 11 12
0 9 */10 * 1-5; cronsim; 1 11
0 9 */10 * 1-5; APScheduler; 11
0 9 */10 * 1-5; cron-parser; 1 2 3 4 5 8 9 10 11 12
0 9 */10 * 1-5; croner; 1 2 3 4 5 8 9 10 11 12
0 9 */10 * 1-5; cron; 1 2 3 4 5 8 9 10 11 12
0 9 1 * */1; croniter; 1 2 3 4 5 6 7 8 9 10 11 12
0 9 1 * */1; cronsim; 1
0 9 1 * */1; APScheduler; 1
0 9 1 * */1; cron-parser; 1 2 3 4 5 6 7 8 9 10 11 12
0 9 1 * */1; croner; 1 2 3 4 5 6 7 8 9 10 11 12
0 9 1 * */1; cron; 1
0 9 1 * 1; croniter; 1 8
0 9 1 * 1; cronsim; 1 8
0 9 1 * 1; APScheduler; none
0 9 1 * 1; cron-parser; 1 8
0 9 1 * 1; croner; 1 8
0 9 1 * 1; cron; 1 8
0 9 1-31 * 1; croniter; 1 2 3 4 5 6 7 8 9 10 11 12
0 9 1-31 * 1; cronsim; 1 2 3 4 5 6 7 8 9 10 11 12
0 9 1-31 * 1; APScheduler; 2 9
0 9 1-31 * 1; cron-parser; 1 2 3 4 5 6 7 8 9 10 11 12
0 9 1-31 * 1; croner; 1 2 3 4 5 6 7 8 9 10 11 12
0 9 1-31 * 1; cron; 1 8
END
