#!/usr/bin/env bash
# A secret of Standard Webhooks in the URL-safe alphabet of Base64 is another, shorter key in Python, without an error, and no
# secret at all in npm.
#
# Seen with standardwebhooks 1.1.0 (PyPI) and 1.1.1 (npm). Guess: a text that is no Base64 is refused, or the libraries read it in
# the same way. Behaviour: Python drops each `-` and `_` and decodes the rest, so its key has other bytes than the key of a sender
# that decodes the alphabet, and each message is refused as if the secret were wrong. Of the secrets that
# `secrets.token_urlsafe(32)` makes, about half are another key, a quarter is an error, and a quarter works, so that it
# fails for some tenants only. npm throws for all that have such a letter. A space before this secret or a line break after it,
# from a form or a file, is ignored in Python and an error in npm.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet standardwebhooks==1.1.0
npm init -y >/dev/null
npm install --silent standardwebhooks@1.1.1

cat >sign.py <<'PY'
import base64
import json
from datetime import datetime, timezone

from standardwebhooks import Webhook

KEY = bytes(range(7, 256, 8))
standard = base64.b64encode(KEY).decode()
SECRETS = {
    "standard": standard,
    "URL-safe": base64.urlsafe_b64encode(KEY).decode(),
    "without padding": standard.rstrip("="),
    "line break after": standard + "\n",
    "space before": " " + standard,
}
with open("secrets.json", "w") as file:
    json.dump(SECRETS, file)
time = datetime.fromtimestamp(1_700_000_000, timezone.utc)
right = Webhook(KEY).sign("m", time, "{}")
for name, secret in SECRETS.items():
    same = Webhook(secret).sign("m", time, "{}") == right
    print(f"Python, {name}: {'the key' if same else 'another key'}")
with open("right.json", "w") as file:
    json.dump(right, file)
PY
cat >sign.js <<'JS'
const { Webhook } = require('standardwebhooks');
const secrets = require('./secrets.json');
const right = require('./right.json');

for (const [name, secret] of Object.entries(secrets)) {
  try {
    const same = new Webhook(secret).sign('m', new Date(1700000000000), '{}') === right;
    console.log(`npm, ${name}: ${same ? 'the key' : 'another key'}`);
  } catch (error) {
    console.log(`npm, ${name}: ${error.message}`);
  }
}
JS
{ python/bin/python sign.py; node sign.js; } >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
Python, standard: the key
Python, URL-safe: another key
Python, without padding: the key
Python, line break after: the key
Python, space before: the key
npm, standard: the key
npm, URL-safe: Base64Coder: incorrect characters for decoding
npm, without padding: the key
npm, line break after: Base64Coder: incorrect characters for decoding
npm, space before: Base64Coder: incorrect characters for decoding
END
