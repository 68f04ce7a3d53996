#!/usr/bin/env bash
# The package `uuid7` of PyPI makes ids that readers of RFC 9562 accept as version 7 and date to the year 2201: they sort after
# all others, and a partition or a retention by the time of the id holds them for 175 years.
#
# Seen with uuid7 0.1.0 against uuid-utils 1.2.0 and pydantic 2.14.4 (PyPI), uuid 14.0.3 (npm). Guess: ids of version 7 are in
# the order of their times, whoever makes them. Behaviour: the package has the layout of a draft, 36 bits of seconds and then
# their fraction, under the version of the standard, which has 48 bits of milliseconds; a day of the clock is four days of the
# id. Only among themselves are its ids in order. A list that is sorted by id shows one client's runs above all newer ones, a
# cursor ("after the last id that I have") skips what others make later, and the data of such ids are never old enough to be
# deleted. Use another package, and refuse an id whose time is in the future.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet uuid7==0.1.0 uuid-utils==1.2.0 pydantic==2.14.4
npm init -y >/dev/null
npm install --silent uuid@14.0.3

cat >ids.mjs <<'JS'
import { v7 } from 'uuid';

console.log(v7({ msecs: Date.UTC(2026, 5, 1) }));
JS
cat >ids.py <<'PY'
import subprocess
import uuid
from datetime import datetime, timezone

import pydantic
import uuid_extensions
import uuid_utils

START = datetime(2026, 6, 1, tzinfo=timezone.utc)
DAY = 86_400


def of_package(seconds):
    return uuid_extensions.uuid7(ns=int(START.timestamp() + seconds) * 10**9)


def of_standard(seconds):
    return uuid.UUID(str(uuid_utils.uuid7(nanoseconds=int(START.timestamp() + seconds) * 10**9)))


script = subprocess.run(["node", "ids.mjs"], check=True, capture_output=True, text=True).stdout
ids = {
    "uuid7, 1 June": of_package(0),
    "uuid7, 2 June": of_package(DAY),
    "uuid-utils, 1 June": of_standard(0),
    "uuid-utils, 3 June": of_standard(2 * DAY),
    "uuid (npm), 1 June": uuid.UUID(script.strip()),
}
checked = pydantic.TypeAdapter(pydantic.UUID7)
for name, value in ids.items():
    read = datetime.fromtimestamp(uuid_utils.UUID(str(checked.validate_python(value))).timestamp / 1000, timezone.utc)
    print(f"{name}: version {value.version}, time {read:%d %B %Y}")
print("in order:", "; ".join(sorted(ids, key=lambda name: (ids[name].int >> 80, name))))
PY
python/bin/python ids.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
uuid7, 1 June: version 7, time 28 January 2201
uuid7, 2 June: version 7, time 01 February 2201
uuid-utils, 1 June: version 7, time 01 June 2026
uuid-utils, 3 June: version 7, time 03 June 2026
uuid (npm), 1 June: version 7, time 01 June 2026
in order: uuid (npm), 1 June; uuid-utils, 1 June; uuid-utils, 3 June; uuid7, 1 June; uuid7, 2 June
END
