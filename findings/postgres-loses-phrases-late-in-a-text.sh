#!/usr/bin/env bash
# Postgres does not find a phrase that comes late in a text: after the 256th occurrence of one of its words, or after 16,383 words.
# Its words are found one by one, and the same phrase is found earlier in the text.
#
# Seen with PostgreSQL 15.20 (asked through psycopg 3.3.9), SQLite's FTS5 and tantivy 0.27.0. Guess: `websearch_to_tsquery` with
# quotation marks finds a text that has the phrase; a long text may be slow. Behaviour: a `tsvector` has at most 256
# places of each word, and what is counted beyond 16,383 is at 16,383, so that two words there have no distance. A log of a
# run has "error" in each line, a manual the name of its product: the last message, the interesting one, is where phrases are not
# found. Nothing is reported, and tests with short texts pass. `ts_headline` and the rank by closeness miss the same places. Split
# long texts into rows before they are indexed.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages 'psycopg[binary]==3.3.9' tantivy==0.27.0
export PYTHONPATH="$place/packages"

cat >find.py <<'PY'
import os
import sqlite3

import psycopg
import tantivy


def log(lines):
    return "\n".join(f"error {number}: no answer" for number in range(lines)) + "\nerror: disk full"


def book(words):
    return " ".join(f"word{number}" for number in range(words)) + " the river thames"


CASES = [("a log of 254 errors before it", log(254), '"error disk"'), ("a log of 256 errors before it", log(256), '"error disk"'),
         ("a log of 256 errors before it", log(256), "error disk"), ("a log of 256 errors before it", log(256), '"disk full"'),
         ("a book of 16000 words before it", book(16000), '"river thames"'),
         ("a book of 17000 words before it", book(17000), '"river thames"'), ("a book of 17000 words before it", book(17000), "river thames")]
connection = psycopg.connect(host=os.environ.get("PGHOST", "127.0.0.1"), user="postgres", dbname="postgres")


def with_postgres(text, query):
    ask = "SELECT to_tsvector('english', %s) @@ websearch_to_tsquery('english', %s)"
    return connection.execute(ask, (text, query)).fetchone()[0]


def with_fts5(text, query):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE library USING fts5(page)")
    database.execute("INSERT INTO library VALUES (?)", (text,))
    return database.execute("SELECT count(*) FROM library WHERE page MATCH ?", (query,)).fetchone()[0] == 1


def with_tantivy(text, query):
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("page")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    writer.add_document(tantivy.Document(page=text))
    writer.commit()
    index.reload()
    return len(index.searcher().search(index.parse_query(query, ["page"], conjunction_by_default=True), 1).hits) == 1


engines = {"Postgres": with_postgres, "FTS5": with_fts5, "tantivy": with_tantivy}
for name, text, query in CASES:
    # The log has a number between "error" and the next word in each line but the last.
    found = [engine for engine, find in engines.items() if find(text, query)]
    print(f"{query} in {name}: found by {', '.join(found)}")
PY
python3 find.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
"error disk" in a log of 254 errors before it: found by Postgres, FTS5, tantivy
"error disk" in a log of 256 errors before it: found by FTS5, tantivy
error disk in a log of 256 errors before it: found by Postgres, FTS5, tantivy
"disk full" in a log of 256 errors before it: found by Postgres, FTS5, tantivy
"river thames" in a book of 16000 words before it: found by Postgres, FTS5, tantivy
"river thames" in a book of 17000 words before it: found by FTS5, tantivy
river thames in a book of 17000 words before it: found by Postgres, FTS5, tantivy
END
