#!/usr/bin/env bash
# A latency in a Parquet file is a duration for some and an integer in an unknown unit for others, which pandas 3 made a thousand
# times smaller, and DuckDB writes its own latencies below a millisecond as zero.
#
# Seen with duckdb 2.0.1, polars 2.1.0, pandas 2.3.3 and 3.1.1, pyarrow 26.0.1. Guess: a column of durations is one for each
# reader, as a column of timestamps is. Behaviour: Parquet has no type for it. Polars and pyarrow write an integer, whose meaning
# only readers of Arrow's metadata find, so that DuckDB sums integers: microseconds of polars and pandas 3, and nanoseconds of
# pandas 2 by the same code. DuckDB writes the difference of two timestamps as Parquet's old interval, which counts milliseconds:
# 250 microseconds are 0 when DuckDB itself reads them again, and 12 bytes for pyarrow. Store a number with the unit in its name.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet duckdb==2.0.1 polars==2.1.0 pandas==3.1.1 pyarrow==26.0.1
python/bin/pip install --quiet --no-deps --target before pandas==2.3.3 pytz==2026.6

cat >write.py <<'PY'
from datetime import timedelta

import pandas as pd

frame = pd.DataFrame({"took": [timedelta(seconds=1.5), timedelta(microseconds=250)]})
version = pd.__version__.split(".")[0]
frame.to_parquet(f"pandas {version}.parquet")
PY
PYTHONPATH=before python/bin/python write.py
python/bin/python write.py
cat >read.py <<'PY'
from datetime import timedelta

import duckdb
import polars as pl
import pyarrow.parquet as pq

pl.DataFrame({"took": [timedelta(seconds=1.5), timedelta(microseconds=250)]}).write_parquet("polars.parquet")
duckdb.sql("""copy (
  select finished - started as took from (values
    (timestamp '2026-03-01 12:00:00', timestamp '2026-03-01 12:00:01.5'),
    (timestamp '2026-03-01 12:00:00', timestamp '2026-03-01 12:00:00.00025')) runs(started, finished)
) to 'duckdb.parquet'""")


def with_duckdb(name):
    relation = duckdb.sql(f"select took from '{name}.parquet'")
    return relation.types[0], [str(took) for (took,) in relation.fetchall()]


for name in ("polars", "pandas 2", "pandas 3", "duckdb"):
    kind, values = with_duckdb(name)
    print(f"written by {name}: pyarrow {pq.read_table(f'{name}.parquet').schema.field('took').type}, duckdb {kind} {values}")
PY
python/bin/python read.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
written by polars: pyarrow duration[us], duckdb BIGINT ['1500000', '250']
written by pandas 2: pyarrow duration[ns], duckdb BIGINT ['1500000000', '250000']
written by pandas 3: pyarrow duration[us], duckdb BIGINT ['1500000', '250']
written by duckdb: pyarrow fixed_size_binary[12], duckdb INTERVAL ['0:00:01.500000', '0:00:00']
END
