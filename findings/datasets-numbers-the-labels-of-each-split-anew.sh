#!/usr/bin/env bash
# `class_encode_column` of Hugging Face's datasets gives one label two numbers, one in the training set and another one in the
# test set, if the test set lacks a label.
#
# Seen with datasets 5.2.0 against scikit-learn 1.9.1. Guess: called for all splits at once, it makes one list of labels for all.
# Behaviour: it lists and sorts the labels of each split on its own. A small test set often lacks a rare label, and the numbers
# after it are shifted: predictions that are all right have an accuracy of 0. Cast to a `ClassLabel` with all names, which is then
# the same for each split.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet datasets==5.2.0 scikit-learn==1.9.1
export HF_HOME="$place/cache" HF_HUB_OFFLINE=1

cat >encode.py <<'PY'
import datasets
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import LabelEncoder

datasets.disable_progress_bars()
train = ["billing", "abuse", "refund", "shipping", "billing"]
test = ["billing", "refund", "shipping", "shipping"]


def splits():
    return datasets.DatasetDict(
        {"train": datasets.Dataset.from_dict({"label": train}), "test": datasets.Dataset.from_dict({"label": test})}
    )


def show(name, numbers_of_train, numbers_of_test):
    learned = dict(zip(train, numbers_of_train))
    right = [learned[label] for label in test]
    print(f"{name}: train {dict(sorted(learned.items()))}, test {list(map(int, numbers_of_test))}, "
          f"accuracy of right predictions {accuracy_score(numbers_of_test, right)}")


encoded = splits().class_encode_column("label")
show("class_encode_column", encoded["train"]["label"][:], encoded["test"]["label"][:])
cast = splits().cast_column("label", datasets.ClassLabel(names=sorted(set(train))))
show("cast to ClassLabel", cast["train"]["label"][:], cast["test"]["label"][:])
encoder = LabelEncoder().fit(train)
show("LabelEncoder", encoder.transform(train).tolist(), encoder.transform(test))
PY
python/bin/python encode.py >seen 2>warnings
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
class_encode_column: train {'abuse': 0, 'billing': 1, 'refund': 2, 'shipping': 3}, test [0, 1, 2, 2], accuracy of right predictions 0.0
cast to ClassLabel: train {'abuse': 0, 'billing': 1, 'refund': 2, 'shipping': 3}, test [1, 2, 3, 3], accuracy of right predictions 1.0
LabelEncoder: train {'abuse': 0, 'billing': 1, 'refund': 2, 'shipping': 3}, test [1, 2, 3, 3], accuracy of right predictions 1.0
END
