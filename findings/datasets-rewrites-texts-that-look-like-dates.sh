#!/usr/bin/env bash
# The JSON reader of Hugging Face's datasets rewrites texts: the answer `1889-03-31` becomes `1889-03-31 00:00:00`, or stays as
# it is, by what else is within the same file or the same ten megabytes, and no schema prevents it.
#
# Seen with datasets 5.2.0 (pyarrow 26.0.1) against duckdb 2.0.1. Guess: a member that is a string in each line is read as that
# string, at the latest if `features` declares it a string. Behaviour: Arrow guesses a type for each block; a block whose texts
# all look like dates is a column of timestamps, which is then cast to the type of the first block, a string in another format.
# Beside a number, a text gets quotation marks in the same way. A large set has both forms of one answer, so that an exact match
# fails for the later half. `Json()` as the feature of the member keeps the texts.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet datasets==5.2.0 pyarrow==26.0.1 duckdb==2.0.1
export HF_HOME="$place/cache" HF_HUB_OFFLINE=1

cat >read.py <<'PY'
import json
import logging
from collections import Counter

import datasets
import duckdb

logging.disable()
datasets.disable_progress_bars()


def write(name, answers, pad=""):
    with open(name, "w") as file:
        file.writelines(json.dumps({"answer": answer, "pad": pad}) + "\n" for answer in answers)
    return name


def read(files, feature=None):
    features = feature and datasets.Features({"answer": feature, "pad": datasets.Value("string")})
    return datasets.load_dataset("json", data_files=files, features=features, split="train")["answer"][:]


words = write("words.jsonl", ["Paris", "1889-03-31"])
dates = write("dates.jsonl", ["1889-03-31", "2026-02-01"])
mixed = write("mixed.jsonl", ["Rome", 7])
large = write("large.jsonl", ["Paris"] * 11000 + ["1889-03-31"] * 11000, "x" * 1000)
text = datasets.Value("string")
print("one file:", read(words))
print("two files:", read([words, dates]))
print("two files, declared as string:", read([words, dates], text))
print("the other order, declared as string:", read([dates, words], text))
print("two files, declared as Json:", read([words, dates], datasets.Json()))
print("with a number, declared as string:", read([words, mixed], text))
print("a large file:", sorted(Counter(read([large])), key=len))
rows = duckdb.sql("select answer from read_json(['words.jsonl', 'dates.jsonl'])").fetchall()
print("duckdb, two files:", [answer for (answer,) in rows])
PY
python/bin/python read.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
one file: ['Paris', '1889-03-31']
two files: ['Paris', '1889-03-31', '1889-03-31 00:00:00', '2026-02-01 00:00:00']
two files, declared as string: ['Paris', '1889-03-31', '1889-03-31 00:00:00', '2026-02-01 00:00:00']
the other order, declared as string: ['1889-03-31 00:00:00', '2026-02-01 00:00:00', 'Paris', '1889-03-31']
two files, declared as Json: ['Paris', '1889-03-31', '1889-03-31', '2026-02-01']
with a number, declared as string: ['Paris', '1889-03-31', '"Rome"', '7']
a large file: ['Paris', '1889-03-31', '1889-03-31 00:00:00']
duckdb, two files: ['Paris', '1889-03-31', '1889-03-31', '2026-02-01']
END
