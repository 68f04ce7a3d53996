#!/usr/bin/env bash
# The documented use of Python's `csv.Sniffer`, on the first 1024 characters, splits later cells that have a quotation mark, and
# `csv.DictReader` then cuts the answer without an error; cells with JSON make it divide the whole table at colons.
#
# Seen with Python 3.11.7 against clevercsv 0.8.5. Guess: a sniffer may miss an odd delimiter, but a file that `csv.writer` wrote
# is read as `csv.reader` alone reads it. Behaviour: the dialect also says whether a quotation mark within a cell is doubled, and
# this is false if the sample shows none, so that the first cell with one ends there: a row of two cells has five, and a
# `DictReader` puts the rest under the name None. If cells are JSON, the colon is most often beside a quotation mark, and so the
# delimiter. Texts of LMs have quotation marks, seldom in the first rows, so that it shows late and in few rows. Name the
# delimiter and sniff nothing, or use clevercsv, which reads each of these files.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages clevercsv==0.8.5
export PYTHONPATH="$place/packages"

cat >sniff.py <<'PY'
import csv
import io
import json

import clevercsv

plain = [[f"What is {number}, roughly?", f"About {number}, said the man"] for number in range(50)]
tables = {
    "a quotation mark in the last row": plain + [['Who said "no, never", and why?', 'He "lied", I think']],
    "the same row first": [['Who said "no, never", and why?', 'He "lied", I think']] + plain,
    "cells of JSON": [[f"order {number}", json.dumps({"items": [number, 2], "note": "none"})] for number in range(50)],
}
for name, rows in tables.items():
    file = io.StringIO()
    csv.writer(file).writerows([["question", "answer"]] + rows)
    text = file.getvalue()
    print(name)
    for module in (csv, clevercsv):
        dialect = module.Sniffer().sniff(text[:1024])
        read = list(module.reader(io.StringIO(text), dialect))[1:]
        wrong = sum(got != row for got, row in zip(read, rows, strict=True))
        print(f"  {module.__name__}: delimiter {dialect.delimiter}, wrong rows {wrong} of {len(rows)}")
    if rows[-1][1].startswith("He"):
        last = list(csv.DictReader(io.StringIO(text), dialect=csv.Sniffer().sniff(text[:1024])))[-1]
        print(f"  last answer of DictReader: {last['answer']!r}, under None: {last[None]}")
PY
python3 sniff.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
a quotation mark in the last row
  csv: delimiter ,, wrong rows 1 of 51
  clevercsv: delimiter ,, wrong rows 0 of 51
  last answer of DictReader: ' never""', under None: [' and why?"', 'He "lied""', ' I think"']
the same row first
  csv: delimiter ,, wrong rows 0 of 51
  clevercsv: delimiter ,, wrong rows 0 of 51
cells of JSON
  csv: delimiter :, wrong rows 50 of 50
  clevercsv: delimiter ,, wrong rows 0 of 50
END
