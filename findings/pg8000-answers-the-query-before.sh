#!/usr/bin/env bash
# After one value that pg8000 cannot read, each query on that connection is answered with the rows of the query before it.
#
# Seen with pg8000 1.31.6 against psycopg 3.3.9 (PyPI), SQLAlchemy 2.1.9, PostgreSQL 15. Guess: a value that does not fit its
# Python type, such as the time `24:00`, fails one query; the next one is answered as usual. Behaviour: the exception leaves the
# rest of the answer on the socket. The next query reads that rest and has no rows, the one after it has the rows of the query
# before, and so on for as long as the connection lives: a balance is read as that of another account, and an `id` as a count.
# SQLAlchemy keeps the connection in its pool, where every later query fails. Cast such columns to text, and close a connection
# after any exception that is not a `DatabaseError`.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pg8000==1.31.6 'psycopg[binary]==3.3.9' sqlalchemy==2.1.9

cat >ask.py <<'PY'
import os

import pg8000.native
import psycopg
import sqlalchemy

host = os.environ.get("PGHOST", "127.0.0.1")
QUERIES = ["SELECT 'one'", "SELECT '24:00'::time", "SELECT 'two'", "SELECT 'three'", "SELECT 4"]


def ask(name, run):
    for query in QUERIES:
        try:
            found = run(query)
        except Exception as error:
            found = type(error).__name__
        print(f"{name}, {query}: {found}")


def with_sqlalchemy(engine):
    def run(query):
        with engine.connect() as connection:
            return [list(row) for row in connection.exec_driver_sql(query)]
    return run


with psycopg.connect(host=host, user="postgres", autocommit=True) as connection:
    ask("psycopg", lambda query: [list(row) for row in connection.execute(query)])
connection = pg8000.native.Connection("postgres", host=host)
ask("pg8000", connection.run)
for driver in ("psycopg", "pg8000"):
    engine = sqlalchemy.create_engine(f"postgresql+{driver}://postgres@{host}/postgres", pool_size=1, max_overflow=0)
    ask(f"SQLAlchemy with {driver}", with_sqlalchemy(engine))
# A connection with unread answers would be asked to end in order.
os._exit(0)
PY
python/bin/python -u ask.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
psycopg, SELECT 'one': [['one']]
psycopg, SELECT '24:00'::time: DataError
psycopg, SELECT 'two': [['two']]
psycopg, SELECT 'three': [['three']]
psycopg, SELECT 4: [[4]]
pg8000, SELECT 'one': [['one']]
pg8000, SELECT '24:00'::time: ValueError
pg8000, SELECT 'two': None
pg8000, SELECT 'three': [['two']]
pg8000, SELECT 4: [['three']]
SQLAlchemy with psycopg, SELECT 'one': [['one']]
SQLAlchemy with psycopg, SELECT '24:00'::time: DataError
SQLAlchemy with psycopg, SELECT 'two': [['two']]
SQLAlchemy with psycopg, SELECT 'three': [['three']]
SQLAlchemy with psycopg, SELECT 4: [[4]]
SQLAlchemy with pg8000, SELECT 'one': [['one']]
SQLAlchemy with pg8000, SELECT '24:00'::time: ValueError
SQLAlchemy with pg8000, SELECT 'two': ResourceClosedError
SQLAlchemy with pg8000, SELECT 'three': ResourceClosedError
SQLAlchemy with pg8000, SELECT 4: ResourceClosedError
END
