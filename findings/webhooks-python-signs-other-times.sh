#!/usr/bin/env bash
# The Python library of Standard Webhooks signs another time than the one that a datetime with a time zone means, so no receiver
# accepts the message, itself included. On a machine in UTC nothing shows it.
#
# Seen with standardwebhooks 1.1.0 (PyPI) and 1.1.1 (npm). Guess: `sign` signs the instant of an aware datetime. Behaviour: it
# replaces the time zone by UTC and does not convert, so 12:00+02:00 is signed as 12:00 UTC; a local time without a zone is
# too. The header `webhook-timestamp`, made of the same datetime, is right, and the signature belongs to another number. A
# sender has to convert to UTC first; a message from a laptop or a server with a local time zone is refused everywhere.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet standardwebhooks==1.1.0
npm init -y >/dev/null
npm install --silent standardwebhooks@1.1.1

cat >send.py <<'PY'
import json
from datetime import datetime, timedelta, timezone

from standardwebhooks import Webhook, WebhookVerificationError

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
webhook = Webhook(SECRET)
body = '{"type":"run.finished"}'
utc = datetime.now(timezone.utc)
messages = []
for name, time in [("UTC", utc), ("the same instant at +02:00", utc.astimezone(timezone(timedelta(hours=2))))]:
    headers = {
        "webhook-id": "m1",
        "webhook-timestamp": str(int(time.timestamp())),
        "webhook-signature": webhook.sign("m1", time, body),
    }
    try:
        webhook.verify(body, headers)
        print(f"Python, {name}: accepted")
    except WebhookVerificationError as error:
        print(f"Python, {name}: {error}")
    messages.append({"name": name, "headers": headers, "body": body})
with open("messages.json", "w") as file:
    json.dump({"secret": SECRET, "messages": messages}, file)
PY
cat >receive.js <<'JS'
const { Webhook } = require('standardwebhooks');
const { secret, messages } = require('./messages.json');

for (const { name, headers, body } of messages) {
  try {
    new Webhook(secret).verify(body, headers);
    console.log(`npm, ${name}: accepted`);
  } catch (error) {
    console.log(`npm, ${name}: ${error.message}`);
  }
}
JS
{ python/bin/python send.py; node receive.js; } >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
Python, UTC: accepted
Python, the same instant at +02:00: No matching signature found
npm, UTC: accepted
npm, the same instant at +02:00: No matching signature found
END
