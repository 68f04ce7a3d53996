#!/usr/bin/env bash
# The weighted kappa of scikit-learn counts grades by their rank among those that occur: if no one gave a 3, a 2 and a 4 are
# neighbours, and the same grades agree less, or more, than they do.
#
# Seen with scikit-learn 1.9.1 and statsmodels 0.15.0. Guess: with quadratic weights, the agreement of a judge and a person
# depends on the distance of their grades, so it is the same whether grades are 1 to 5 or 1, 2, 4, 5. Behaviour: the weights are
# made of positions in the list of labels, which by default are those that occur. Of the same ten pairs the kappa is 0.86 or
# 0.93; one more pair of threes changes it by more than the pair does. `labels` with the whole scale fixes it. statsmodels takes
# a table, and pandas.crosstab leaves out the same grades. Judges are chosen by thresholds like 0.8 on fifty examples.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet scikit-learn==1.9.1 statsmodels==0.15.0

cat >agree.py <<'PY'
import pandas as pd
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

SCALE = [1, 2, 3, 4, 5]


def by_definition(judge, person):
    """1 - the mean square of the differences, divided by that of all pairs."""
    pairs = [(a, b) for a in judge for b in person]
    observed = sum((a - b) ** 2 for a, b in zip(judge, person)) / len(judge)
    return 1 - observed / (sum((a - b) ** 2 for a, b in pairs) / len(pairs))


def with_statsmodels(judge, person, scale):
    table = pd.crosstab(judge, person)
    return cohens_kappa(table.reindex(index=scale, columns=scale, fill_value=0).values, wt="quadratic").kappa


for name, judge, person in [
    ("no threes", [1, 1, 2, 5, 5, 4, 1, 2, 5, 4], [1, 2, 2, 5, 4, 4, 1, 1, 5, 5]),
    ("no threes, no fours", [1, 1, 2, 5, 5] * 4, [1, 2, 2, 5, 2] * 4),
]:
    for more, extra in (("", []), (", and one agreed three", [3])):
        a, b = judge + extra, person + extra
        occur = sorted({*a, *b})
        print(f"{name}{more}: by definition {by_definition(a, b):.3f}")
        print(f"  scikit-learn {cohen_kappa_score(a, b, weights='quadratic'):.3f}, "
              f"with labels {cohen_kappa_score(a, b, weights='quadratic', labels=SCALE):.3f}, "
              f"statsmodels with what occurs {with_statsmodels(a, b, occur):.3f}, with the scale {with_statsmodels(a, b, SCALE):.3f}")
PY
python/bin/python agree.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
no threes: by definition 0.929
  scikit-learn 0.862, with labels 0.929, statsmodels with what occurs 0.862, with the scale 0.929
no threes, and one agreed three: by definition 0.929
  scikit-learn 0.929, with labels 0.929, statsmodels with what occurs 0.929, with the scale 0.929
no threes, no fours: by definition 0.627
  scikit-learn 0.667, with labels 0.627, statsmodels with what occurs 0.667, with the scale 0.627
no threes, no fours, and one agreed three: by definition 0.628
  scikit-learn 0.653, with labels 0.628, statsmodels with what occurs 0.653, with the scale 0.628
END
