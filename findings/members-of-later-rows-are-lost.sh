#!/usr/bin/env bash
# A member that only later rows have, such as the error of a failed example, is lost without a word in pyarrow, polars and
# datasets, each with another number of rows that decide.
#
# Seen with pyarrow 26.0.1, polars 2.1.0, datasets 5.2.0, pandas 3.1.1 and duckdb 2.0.1. Guess: a table of a list of dicts, or of
# lines of JSON, has each member of each row, or the reader fails on a row that does not fit. Behaviour: pyarrow and
# `Dataset.from_list`, `from_generator` and `map` look at the first row, polars at the first hundred, lists and lines alike, and
# drop what they do not know, polars also within structs. The same polars fails with an error if a later value has another type.
# Pandas, DuckDB and the reader of lines of pyarrow keep all. Results of an evaluation are then results without failures, and its
# usage has no cached tokens. Give a schema, or `infer_schema_length=None` to polars.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pyarrow==26.0.1 polars==2.1.0 datasets==5.2.0 pandas==3.1.1 duckdb==2.0.1
export HF_HOME="$place/cache" HF_HUB_OFFLINE=1

cat >read.py <<'PY'
import json

import datasets
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.json

datasets.disable_progress_bars()


def results(start):
    """The results of 200 examples; those from `start` on failed."""
    ok = {"score": 1.0, "usage": {"input": 10}}
    failed = {"score": 0.0, "usage": {"input": 10, "cached": 4}, "error": "cut"}
    return [dict(ok if at < start else failed, id=at) for at in range(200)]


def lines(rows):
    with open("rows.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return "rows.jsonl"


readers = {
    "pyarrow from_pylist": lambda rows: pa.Table.from_pylist(rows).to_pylist(),
    "datasets from_list": lambda rows: list(datasets.Dataset.from_list(rows)),
    "datasets map": lambda rows: list(datasets.Dataset.from_dict({"id": range(200)}).map(lambda row: rows[row["id"]])),
    "polars DataFrame": lambda rows: pl.DataFrame(rows).to_dicts(),
    "polars read_ndjson": lambda rows: pl.read_ndjson(lines(rows)).to_dicts(),
    "pandas DataFrame": lambda rows: pd.DataFrame(rows).to_dict("records"),
    "pandas read_json": lambda rows: pd.read_json(lines(rows), lines=True).to_dict("records"),
    "pyarrow read_json": lambda rows: pa.json.read_json(lines(rows)).to_pylist(),
    "duckdb read_json": lambda rows: pl.from_arrow(duckdb.sql(f"from '{lines(rows)}'").arrow().read_all()).to_dicts(),
}
for name, read in readers.items():
    seen = []
    for start in (1, 150):
        rows = read(results(start))
        errors = sum(row.get("error") == "cut" for row in rows)
        cached = sum(row["usage"].get("cached") == 4 for row in rows)
        seen.append(f"{errors} and {cached} of {200 - start}")
    print(f"{name}: errors and cached tokens, from row 2 {seen[0]}, from row 151 {seen[1]}")
try:
    pl.DataFrame([{"score": 1}] * 150 + [{"score": "cut"}])
except Exception as error:
    print(f"polars DataFrame, another type in row 151: {type(error).__name__}")
PY
python/bin/python read.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
pyarrow from_pylist: errors and cached tokens, from row 2 0 and 199 of 199, from row 151 0 and 50 of 50
datasets from_list: errors and cached tokens, from row 2 0 and 199 of 199, from row 151 0 and 50 of 50
datasets map: errors and cached tokens, from row 2 0 and 199 of 199, from row 151 0 and 50 of 50
polars DataFrame: errors and cached tokens, from row 2 199 and 199 of 199, from row 151 0 and 0 of 50
polars read_ndjson: errors and cached tokens, from row 2 199 and 199 of 199, from row 151 0 and 0 of 50
pandas DataFrame: errors and cached tokens, from row 2 199 and 199 of 199, from row 151 50 and 50 of 50
pandas read_json: errors and cached tokens, from row 2 199 and 199 of 199, from row 151 50 and 50 of 50
pyarrow read_json: errors and cached tokens, from row 2 199 and 199 of 199, from row 151 50 and 50 of 50
duckdb read_json: errors and cached tokens, from row 2 199 and 199 of 199, from row 151 50 and 50 of 50
polars DataFrame, another type in row 151: ComputeError
END
