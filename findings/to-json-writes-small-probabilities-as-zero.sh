#!/usr/bin/env bash
# `to_json` of pandas, and so that of Hugging Face's datasets, keeps ten decimals of a number: a probability of 0.00000000003 is
# written as 0, and datasets does not say so.
#
# Seen with pandas 3.1.1, datasets 5.2.0, polars 2.1.0 and duckdb 2.0.1. Guess: a file of JSON lines that a dataset was written
# to has the numbers of the dataset, as the files of polars and DuckDB do. Behaviour: the option `double_precision` is 10 and
# counts decimals, not digits, so that what is below 5e-11 is 0; but below 1e-15 an exponent is written, and the smaller number
# survives. The loss of a token is infinite then, and two vectors that differ may be equal. The documentation of datasets names
# no option, and the largest one, 15, still cuts 1.23e-14 to 1.2e-14. Parquet keeps all.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pandas==3.1.1 datasets==5.2.0 polars==2.1.0 duckdb==2.0.1
export HF_HOME="$place/cache" HF_HUB_OFFLINE=1

cat >write.py <<'PY'
import json
import math

import datasets
import duckdb
import pandas as pd
import polars as pl

datasets.disable_progress_bars()
rows = [{"p": p} for p in (0.1234567890123456, 1.26e-8, 3e-11, 1.2345678901234567e-14, 1.2345678901234567e-16)]
frame = pd.DataFrame(rows)
table = datasets.Dataset.from_list(rows)
frame.to_json("pandas.jsonl", orient="records", lines=True)
table.to_json("datasets.jsonl")
table.to_json("datasets-15.jsonl", double_precision=15)
table.to_parquet("datasets.parquet")
pl.from_pandas(frame).write_ndjson("polars.jsonl")
duckdb.sql("copy frame to 'duckdb.jsonl' (format json)")


def lines(name):
    with open(f"{name}.jsonl") as file:
        return [json.loads(line)["p"] for line in file]


written = {name: lines(name) for name in ("pandas", "datasets", "datasets-15", "polars", "duckdb")}
written["datasets, Parquet"] = pd.read_parquet("datasets.parquet")["p"].tolist()
print(f"the numbers: {[row['p'] for row in rows]}")
for name, read in written.items():
    print(f"{name}: {'the same' if read == [row['p'] for row in rows] else read}")
loss = [-math.log(p) if p else math.inf for p in written["datasets"]]
print("surprisal:", [f"{-math.log(row['p']):.3f}" for row in rows], "of datasets' file:", [f"{value:.3f}" for value in loss])
PY
python/bin/python write.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
the numbers: [0.1234567890123456, 1.26e-08, 3e-11, 1.2345678901234567e-14, 1.2345678901234568e-16]
pandas: [0.123456789, 1.26e-08, 0.0, 0.0, 1.23456789e-16]
datasets: [0.123456789, 1.26e-08, 0.0, 0.0, 1.23456789e-16]
datasets-15: [0.123456789012346, 1.26e-08, 3e-11, 1.2e-14, 1.23456789012346e-16]
polars: the same
duckdb: the same
datasets, Parquet: the same
surprisal: ['2.092', '18.190', '24.230', '32.025', '36.631'] of datasets' file: ['2.092', '18.190', 'inf', 'inf', '36.631']
END
