#!/usr/bin/env bash
# A daily cron line fires once, twice or never on the day of a clock change, depending on the library, and APScheduler fires a
# local time that does not exist in one country and skips it in another.
#
# Seen with croniter 7.0.0, APScheduler 3.11.3 and cronsim 2.8 (PyPI), cron-parser 5.10.6 and cron 4.4.0 (npm). Guess: a line with
# one time a day fires once on each day, at the same instant in all. Behaviour: when Berlin sets its clocks back, croniter and
# APScheduler fire 02:30 twice. When Santiago skips midnight, APScheduler has no firing on that day, though it fires the missing
# 02:30 of Berlin; for that the libraries have two instants, half an hour apart. An evaluation that is paid per night is
# doubled or lost once a year, and a page that shows the next times in JavaScript shows others than the worker uses.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet croniter==7.0.0 apscheduler==3.11.3 cronsim==2.8 tzdata
npm init -y >/dev/null
npm install --silent cron-parser@5.10.6 cron@4.4.0

cat >cases.json <<'JSON'
[
  ["30 2 * * *", "Europe/Berlin", "2026-10-25", "back"],
  ["30 2 * * *", "Europe/Berlin", "2026-03-29", "forward"],
  ["0 0 * * *", "America/Santiago", "2026-09-06", "forward"]
]
JSON
cat >next.py <<'PY'
import json
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim


def with_croniter(line, start):
    times = croniter(line, start)
    while True:
        yield times.get_next(datetime)


def with_apscheduler(line, start):
    trigger = CronTrigger.from_crontab(line, timezone=start.tzinfo)
    last = None
    while True:
        last = trigger.get_next_fire_time(last, last or start)
        yield last


with open("cases.json") as file:
    cases = json.load(file)
for line, zone, day, clocks in cases:
    noon = datetime.fromisoformat(day).replace(hour=12, tzinfo=ZoneInfo(zone))
    for name, times in (("croniter", with_croniter), ("APScheduler", with_apscheduler), ("cronsim", CronSim)):
        seen = []
        for time in times(line, noon - timedelta(days=1)):
            if time.astimezone(timezone.utc) > noon.astimezone(timezone.utc):
                break
            seen.append(time.astimezone(timezone.utc).strftime("%H:%M"))
        print(f"{zone}, {clocks}, {name}: {' '.join(seen) or 'never'}")
PY
cat >next.mjs <<'JS'
import fs from 'node:fs';
import { CronTime } from 'cron';
import { CronExpressionParser } from 'cron-parser';

const libraries = {
  'cron-parser': (line, zone, start) => {
    const times = CronExpressionParser.parse(line, { currentDate: start, tz: zone });
    return () => times.next().toDate();
  },
  cron: (line, zone, start) => {
    const times = new CronTime(line, zone);
    let last = start;
    return () => (last = times.getNextDateFrom(last, zone).toJSDate());
  },
};
for (const [line, zone, day, clocks] of JSON.parse(fs.readFileSync('cases.json'))) {
  const noon = Date.parse(`${day}T${zone.startsWith('Europe') ? '11' : '15'}:00:00Z`);
  for (const [name, library] of Object.entries(libraries)) {
    const next = library(line, zone, new Date(noon - 24 * 3600 * 1000));
    const seen = [];
    for (let time = next(); time <= noon; time = next()) seen.push(time.toISOString().slice(11, 16));
    console.log(`${zone}, ${clocks}, ${name}: ${seen.join(' ') || 'never'}`);
  }
}
JS
{ python/bin/python next.py; node next.mjs; } | LC_ALL=C sort -s -t, -k1,2 >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
America/Santiago, forward, croniter: 04:00
America/Santiago, forward, APScheduler: never
America/Santiago, forward, cronsim: 04:00
America/Santiago, forward, cron-parser: 04:00
America/Santiago, forward, cron: 04:00
Europe/Berlin, back, croniter: 00:30 01:30
Europe/Berlin, back, APScheduler: 00:30 01:30
Europe/Berlin, back, cronsim: 00:30
Europe/Berlin, back, cron-parser: 00:30
Europe/Berlin, back, cron: 00:30
Europe/Berlin, forward, croniter: 01:00
Europe/Berlin, forward, APScheduler: 01:30
Europe/Berlin, forward, cronsim: 01:00
Europe/Berlin, forward, cron-parser: 01:30
Europe/Berlin, forward, cron: 01:00
END
