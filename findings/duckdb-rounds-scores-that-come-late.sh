#!/usr/bin/env bash
# A score of 0.5 that comes late is 1 in CSV, and 0 in lines of JSON and in Parquet, for DuckDB, without an error. A test with few
# rows, or with one file, reads it right.
#
# Seen with duckdb 2.0.1 against polars 2.1.0. Guess: a column whose first values are 0 and 1 is a column of integers until a 0.5
# comes, which widens it or is an error, as in polars. Behaviour: DuckDB takes the type from the first 20480 rows of a text, the
# first 32 files of JSON, or the first file of Parquet, and casts what follows. The cast rounds: a text 0.5 to 1 in CSV, a number
# 0.5 to 0 in JSON and Parquet, 0.7 to 1. Nothing is logged, and a mean is that of rounded scores. Most metrics give 0 or 1 and
# seldom a part, so that the large file of a month begins with integers, or the first day of a folder has no others. Way out:
# `sample_size=-1` for one text, `union_by_name=true` for many files, or the types of the columns.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages duckdb==2.0.1 polars==2.1.0
export PYTHONPATH="$place/packages"

cat >scores.py <<'PY'
import json
import pathlib

import duckdb
import polars as pl

LATE = [0.5, 0.7, 0.2]


def write(path, scores):
    lines = [json.dumps({"score": score}) for score in scores] if path.endswith("jsonl") else ["score", *map(str, scores)]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def by_duckdb(source):
    rows = duckdb.sql(f"SELECT typeof(score), score FROM {source}").fetchall()[-3:]
    return f"{rows[0][0]} {[score for _, score in rows]}"


def by_polars(read):
    try:
        return str(read().collect()["score"].to_list()[-3:])
    except pl.exceptions.PolarsError as error:
        return type(error).__name__


for rows in [1000, 30000]:
    for form in ["csv", "jsonl"]:
        write(f"{rows}.{form}", [row % 2 for row in range(rows)] + LATE)
        print(f"after {rows} rows of {form}: duckdb", by_duckdb(f"'{rows}.{form}'"))
for form, read in [("csv", pl.scan_csv), ("jsonl", pl.scan_ndjson)]:
    print(f"after 30000 rows of {form}: polars", by_polars(lambda: read(f"30000.{form}")))
print("with sample_size=-1: duckdb", by_duckdb("read_csv('30000.csv', sample_size=-1)"))

for days in [10, 40]:
    folder = pathlib.Path(f"days-{days}")
    folder.mkdir()
    for day in range(days):
        write(str(folder / f"{day:02}.jsonl"), LATE if day == days - 1 else [0, 1, 1])
    print(f"in file {days} of jsonl: duckdb", by_duckdb(f"'{folder}/*.jsonl'"))
print("with union_by_name: duckdb", by_duckdb("read_json('days-40/*.jsonl', union_by_name=true)"))

duckdb.sql("COPY (SELECT unnest([0, 1, 1]) AS score) TO 'day-1.parquet'")
duckdb.sql("COPY (SELECT unnest([0.5, 0.7, 0.2]::DOUBLE[]) AS score) TO 'day-2.parquet'")
print("in file 2 of parquet: duckdb", by_duckdb("'day-*.parquet'"))
print("in file 2 of parquet: polars", by_polars(lambda: pl.scan_parquet("day-*.parquet")))
print("with union_by_name: duckdb", by_duckdb("read_parquet('day-*.parquet', union_by_name=true)"))
PY
python3 scores.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
after 1000 rows of csv: duckdb DOUBLE [0.5, 0.7, 0.2]
after 1000 rows of jsonl: duckdb DOUBLE [0.5, 0.7, 0.2]
after 30000 rows of csv: duckdb BIGINT [1, 1, 0]
after 30000 rows of jsonl: duckdb BIGINT [0, 1, 0]
after 30000 rows of csv: polars ComputeError
after 30000 rows of jsonl: polars ComputeError
with sample_size=-1: duckdb DOUBLE [0.5, 0.7, 0.2]
in file 10 of jsonl: duckdb DOUBLE [0.5, 0.7, 0.2]
in file 40 of jsonl: duckdb BIGINT [0, 1, 0]
with union_by_name: duckdb DOUBLE [0.5, 0.7, 0.2]
in file 2 of parquet: duckdb INTEGER [0, 1, 0]
in file 2 of parquet: polars SchemaError
with union_by_name: duckdb DOUBLE [0.5, 0.7, 0.2]
END
