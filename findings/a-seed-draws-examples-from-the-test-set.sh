#!/usr/bin/env bash
# The few examples that one library draws with seed 42 are all in the test set that another library splits off with seed 42.
#
# Seen with scikit-learn 1.9.1, pandas 3.1.1, datasets 5.2.0, polars 2.1.0 and numpy 2.4.6. Guess: a sample and a split of two
# functions, or of two libraries, are independent draws, so that 16 demonstrations share about 3 with a test set of 20 of 100.
# Behaviour: a split is the start of a permutation, and the test set comes first. `DataFrame.sample` of pandas starts at the same
# end of the same permutation as `train_test_split` and the first fold of `KFold` of scikit-learn, and `shuffle` of datasets as
# its `train_test_split`. Each demonstration in the prompt is then a test example, with its answer, and the score says how well
# the model copies. Use another seed for each step, or draw from the part for training.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet scikit-learn==1.9.1 pandas==3.1.1 datasets==5.2.0 polars==2.1.0 numpy==2.4.6
export HF_HOME="$place/cache" HF_HUB_OFFLINE=1

cat >draw.py <<'PY'
import datasets
import numpy as np
import pandas as pd
import polars as pl
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

datasets.disable_progress_bars()
N = 100
frame = pd.DataFrame({"id": range(N), "label": [i % 2 for i in range(N)]})
table = datasets.Dataset.from_pandas(frame)


def draws(seed):
    return {
        "pandas sample": frame.sample(16, random_state=seed)["id"],
        "datasets shuffle": table.shuffle(seed=seed).select(range(16))["id"][:],
        "numpy permutation": np.random.default_rng(seed).permutation(N)[:16],
        "polars sample": pl.from_pandas(frame).sample(16, seed=seed)["id"],
    }


tests = {
    "scikit-learn train_test_split": train_test_split(frame, test_size=0.2, random_state=42)[1]["id"],
    "scikit-learn KFold, first fold": next(KFold(5, shuffle=True, random_state=42).split(frame))[1],
    "scikit-learn StratifiedKFold, first fold":
        next(StratifiedKFold(5, shuffle=True, random_state=42).split(frame, frame["label"]))[1],
    "datasets train_test_split": table.train_test_split(test_size=0.2, seed=42)["test"]["id"][:],
}
for seed in (42, 43):
    for test, ids in tests.items():
        known = {int(i) for i in ids}
        shared = {name: len(known & {int(i) for i in drawn}) for name, drawn in draws(seed).items()}
        print(f"{test}, sample of seed {seed}: " + ", ".join(f"{name} {count}" for name, count in shared.items()))
PY
python/bin/python draw.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
scikit-learn train_test_split, sample of seed 42: pandas sample 16, datasets shuffle 2, numpy permutation 2, polars sample 1
scikit-learn KFold, first fold, sample of seed 42: pandas sample 16, datasets shuffle 2, numpy permutation 2, polars sample 1
scikit-learn StratifiedKFold, first fold, sample of seed 42: pandas sample 4, datasets shuffle 3, numpy permutation 3, polars sample 3
datasets train_test_split, sample of seed 42: pandas sample 3, datasets shuffle 16, numpy permutation 16, polars sample 4
scikit-learn train_test_split, sample of seed 43: pandas sample 2, datasets shuffle 3, numpy permutation 3, polars sample 2
scikit-learn KFold, first fold, sample of seed 43: pandas sample 2, datasets shuffle 3, numpy permutation 3, polars sample 2
scikit-learn StratifiedKFold, first fold, sample of seed 43: pandas sample 4, datasets shuffle 4, numpy permutation 4, polars sample 1
datasets train_test_split, sample of seed 43: pandas sample 1, datasets shuffle 1, numpy permutation 1, polars sample 3
END
