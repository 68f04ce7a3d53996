#!/usr/bin/env bash
# A function that returns nothing for one row makes `map` of Hugging Face's datasets drop that row, or drop every result if the
# row is the last one.
#
# Seen with datasets 5.2.0. Guess: a scorer that returns nothing for a row leaves that row unchanged, as a function that never
# returns anything leaves the whole dataset, or it fails. Behaviour: once a row has a result, rows without one are left out, so
# that the mean is that of the others; and what the last call returned decides whether the written rows are used at all: is it
# nothing, `map` returns its input, without the column. Only nothing for the first row is an error, about an attribute of its
# writer, and an iterable dataset always raises. A judge whose last call failed loses the paid scores of all others. Return a
# dict with None for a row without a result.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet datasets==5.2.0
export HF_HOME="$place/cache" HF_HUB_OFFLINE=1

cat >score.py <<'PY'
import datasets

datasets.disable_progress_bars()


def scorer(unscored, result):
    def score(row):
        return result if row["id"] in unscored else {"score": row["id"] / 4}

    return score


def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__


for unscored in ([2], [2, 3], [4], [1], [1, 2, 3, 4]):
    rows = datasets.Dataset.from_dict({"id": [1, 2, 3, 4]})
    print(f"nothing for {unscored}: {attempt(lambda: rows.map(scorer(unscored, None))[:])}")
    print(f"  None as the score: {rows.map(scorer(unscored, {'score': None}))[:]}")
    iterable = rows.to_iterable_dataset().map(scorer(unscored, None))
    print(f"  nothing, iterable: {attempt(lambda: list(iterable))}")
PY
python/bin/python score.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
nothing for [2]: {'id': [1, 3, 4], 'score': [0.25, 0.75, 1.0]}
  None as the score: {'id': [1, 2, 3, 4], 'score': [0.25, None, 0.75, 1.0]}
  nothing, iterable: TypeError
nothing for [2, 3]: {'id': [1, 4], 'score': [0.25, 1.0]}
  None as the score: {'id': [1, 2, 3, 4], 'score': [0.25, None, None, 1.0]}
  nothing, iterable: TypeError
nothing for [4]: {'id': [1, 2, 3, 4]}
  None as the score: {'id': [1, 2, 3, 4], 'score': [0.25, 0.5, 0.75, None]}
  nothing, iterable: TypeError
nothing for [1]: AttributeError
  None as the score: {'id': [1, 2, 3, 4], 'score': [None, 0.5, 0.75, 1.0]}
  nothing, iterable: TypeError
nothing for [1, 2, 3, 4]: {'id': [1, 2, 3, 4]}
  None as the score: {'id': [1, 2, 3, 4], 'score': [None, None, None, None]}
  nothing, iterable: TypeError
END
