#!/usr/bin/env bash
# After a fix of the metric, `map` of Hugging Face's datasets returns the scores of the old metric in a new process, and
# `from_generator` returns the rows of a file as they were.
#
# Seen with datasets 5.2.0 (dill 0.4.1). Guess: a result is reused only if the data and the function are the same, since the
# fingerprint is computed from the code of the function and what it uses. Behaviour: that is so for functions of the script
# itself; a function of an imported module enters the fingerprint by its name, called directly or by another one, so that an edit
# of the module changes nothing. A generator is recognised by its code, not by the files that it reads; `load_dataset` notices
# these. Nothing is logged by default. Pass `load_from_cache_file=False`, or the version of the metric in `fn_kwargs`.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet datasets==5.2.0 dill==0.4.1
export HF_HOME="$place/cache" HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1

metric='return {"score": float(row["answer"] == row["expected"])}'
fixed='return {"score": float(row["answer"].lower() == row["expected"].lower())}'
score() {
  printf 'def score(row):\n    %s\n' "$1" >metric.py
  cat >score.py <<PY
import json
import sys

import datasets
import metric

datasets.disable_progress_bars()


def local(row):
    $1


def wrapped(row):
    return metric.score(row)


def lines():
    with open("answers.jsonl") as file:
        yield from map(json.loads, file)


loaded = datasets.load_dataset("json", data_files="answers.jsonl", split="train")
for name, function in (("the script's", local), ("a module's", metric.score), ("a module's, wrapped", wrapped)):
    print(f"{sys.argv[1]}, {name} function: {loaded.map(function)['score'][:]}")
if sys.argv[1] == "fixed metric":
    again = loaded.map(metric.score, load_from_cache_file=False)
    print(f"{sys.argv[1]}, a module's function, not from the cache: {again['score'][:]}")
generated = datasets.Dataset.from_generator(lines)
print(f"{sys.argv[1]}, rows: load_dataset {loaded['answer'][:]}, from_generator {generated['answer'][:]}")
PY
  python/bin/python score.py "$2"
}
{
  echo '{"answer": "paris", "expected": "Paris"}' >answers.jsonl
  score "$metric" "first metric"
  score "$fixed" "fixed metric"
  printf '{"answer": "paris", "expected": "Paris"}\n{"answer": "Rome", "expected": "Rome"}\n' >answers.jsonl
  score "$fixed" "more rows"
} 2>warnings >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
first metric, the script's function: [0.0]
first metric, a module's function: [0.0]
first metric, a module's, wrapped function: [0.0]
first metric, rows: load_dataset ['paris'], from_generator ['paris']
fixed metric, the script's function: [1.0]
fixed metric, a module's function: [0.0]
fixed metric, a module's, wrapped function: [0.0]
fixed metric, a module's function, not from the cache: [1.0]
fixed metric, rows: load_dataset ['paris'], from_generator ['paris']
more rows, the script's function: [1.0, 1.0]
more rows, a module's function: [1.0, 1.0]
more rows, a module's, wrapped function: [1.0, 1.0]
more rows, rows: load_dataset ['paris', 'Rome'], from_generator ['paris']
END
