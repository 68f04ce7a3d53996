#!/usr/bin/env bash
# To pg_trgm, 1000 EUR and 10000 EUR are the same text, and so are version 1.11 and 11.1, 5 and -5 degrees, C and C++: the
# similarity is 1.
#
# Seen with pg_trgm 1.6 of PostgreSQL 15.20 (asked through psycopg 3.3.9) against rapidfuzz 3.14.5. Guess: a similarity of 1, or
# a distance of 0, means texts that differ at most in case and spaces. Behaviour: a text is a set of triples of letters of its
# words. A set has no counts, so a run of three equal letters is like one of ten; no order, so words may change places; and no
# punctuation, so signs, points and pluses are nothing. A dropped or added zero is the case that money, counts and numbers of
# models meet: of the three invoices below, two are at distance 0, and which one is first is chance. Rows that are merged because
# their similarity is 1 lose amounts and versions. Compare numbers on their own, or rank what pg_trgm finds by `levenshtein`.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages 'psycopg[binary]==3.3.9' rapidfuzz==3.14.5
export PYTHONPATH="$place/packages"

cat >compare.py <<'PY'
import os

import psycopg
from rapidfuzz import fuzz

PAIRS = [("a refund of 1000 EUR", "a refund of 10000 EUR"), ("2000000 rows", "200000000 rows"), ("version 1.11", "version 11.1"),
         ("GPT-4.1", "GPT 1.4"), ("5 degrees", "-5 degrees"), ("a client in C", "a client in C++"), ("the dog bites", "bites the dog"),
         ("a refund of 1200 EUR", "a refund of 12000 EUR"), ("a refund of 100 EUR", "a refund of 1000 EUR"), ("C1 and C2", "C3 and C4")]

with psycopg.connect(host=os.environ.get("PGHOST", "127.0.0.1"), user="postgres", dbname="postgres") as connection:
    # In a transaction that is rolled back, so that the database stays as it was.
    connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    for one, other in PAIRS:
        similarity = connection.execute("SELECT similarity(%s, %s)", (one, other)).fetchone()[0]
        print(f"{one} / {other}: pg_trgm {similarity:.2f}, rapidfuzz {fuzz.ratio(one, other) / 100:.2f}")
    connection.execute("CREATE TEMPORARY TABLE invoices AS SELECT unnest(ARRAY['invoice of 10000 EUR', 'invoice of 1000 EUR', "
                       "'invoice of 1010 EUR']) AS title")
    found = connection.execute("SELECT title, title <-> 'Invoice of 1000 EUR' FROM invoices ORDER BY 2, title COLLATE \"C\"")
    for title, distance in found:
        print(f"distance to Invoice of 1000 EUR: {title} {distance:.2f}")
    connection.rollback()
PY
python3 compare.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
a refund of 1000 EUR / a refund of 10000 EUR: pg_trgm 1.00, rapidfuzz 0.98
2000000 rows / 200000000 rows: pg_trgm 1.00, rapidfuzz 0.92
version 1.11 / version 11.1: pg_trgm 1.00, rapidfuzz 0.92
GPT-4.1 / GPT 1.4: pg_trgm 1.00, rapidfuzz 0.57
5 degrees / -5 degrees: pg_trgm 1.00, rapidfuzz 0.95
a client in C / a client in C++: pg_trgm 1.00, rapidfuzz 0.93
the dog bites / bites the dog: pg_trgm 1.00, rapidfuzz 0.54
a refund of 1200 EUR / a refund of 12000 EUR: pg_trgm 0.95, rapidfuzz 0.98
a refund of 100 EUR / a refund of 1000 EUR: pg_trgm 0.95, rapidfuzz 0.97
C1 and C2 / C3 and C4: pg_trgm 0.38, rapidfuzz 0.78
distance to Invoice of 1000 EUR: invoice of 1000 EUR 0.00
distance to Invoice of 1000 EUR: invoice of 10000 EUR 0.00
distance to Invoice of 1000 EUR: invoice of 1010 EUR 0.26
END
