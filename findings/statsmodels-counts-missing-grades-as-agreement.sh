#!/usr/bin/env bash
# statsmodels counts grades that nobody gave as agreement: the kappa of three judges who guess is 0, and 0.6 if half of
# the examples were not graded at all.
#
# Seen with statsmodels 0.15.0, scikit-learn 1.9.1 and krippendorff 0.9.0. Guess: a grade that is NaN, what pandas has for
# a missing one, is left out of an agreement, or refused. Behaviour: `aggregate_raters` makes NaN a category of its own, so that
# judges who all gave nothing agree perfectly, and one of three who graded disagrees with the others; Fleiss' kappa is of that
# table. The same happens in `cohen_kappa_score` of scikit-learn once a missing grade is a text such as "", while it refuses NaN.
# Krippendorff's alpha leaves them out. Judges that failed on the same long examples seem reliable. Drop the rows without a
# grade of each judge, or use krippendorff.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages statsmodels==0.15.0 scikit-learn==1.9.1 \
  krippendorff==0.9.0 numpy==2.4.6 pandas==3.1.1 scipy==1.17.1
export PYTHONPATH="$place/packages"

cat >agree.py <<'PY'
import krippendorff
import numpy as np
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

# Each of three judges says 0 or 1, and each of the eight combinations occurs five times: the agreement is that of chance.
guesses = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 5, dtype=float)


def agreement(name, grades):
    table, categories = aggregate_raters(grades)
    alpha = krippendorff.alpha(reliability_data=grades.T, level_of_measurement="nominal")
    print(f"{name}: categories {categories}, Fleiss of statsmodels {fleiss_kappa(table):.2f}, alpha {alpha:.2f}")
    try:
        cohen_kappa_score(grades[:, 0], grades[:, 1])
    except ValueError:
        print("  scikit-learn, two judges, NaN: ValueError")
    texts = np.where(np.isnan(grades), "", grades.astype(str))
    graded = grades[~np.isnan(grades[:, :2]).any(axis=1)]
    print(f"  scikit-learn, two judges: texts {cohen_kappa_score(texts[:, 0], texts[:, 1]):.2f}, "
          f"only what both graded {cohen_kappa_score(graded[:, 0], graded[:, 1]):.2f}")


agreement("all graded", guesses)
failed = guesses.copy()
failed[:16] = np.nan
agreement("16 of 40 graded by nobody", failed)
failed[:24] = np.nan
agreement("24 of 40 graded by nobody", failed)
alone = guesses.copy()
alone[:24, 1:] = np.nan
agreement("24 of 40 graded by one", alone)
PY
python3 agree.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
all graded: categories [0. 1.], Fleiss of statsmodels 0.00, alpha 0.01
  scikit-learn, two judges: texts 0.00, only what both graded 0.00
16 of 40 graded by nobody: categories [ 0.  1. nan], Fleiss of statsmodels 0.55, alpha 0.01
  scikit-learn, two judges, NaN: ValueError
  scikit-learn, two judges: texts 0.55, only what both graded 0.00
24 of 40 graded by nobody: categories [ 0.  1. nan], Fleiss of statsmodels 0.64, alpha 0.02
  scikit-learn, two judges, NaN: ValueError
  scikit-learn, two judges: texts 0.64, only what both graded 0.00
24 of 40 graded by one: categories [ 0.  1. nan], Fleiss of statsmodels 0.09, alpha 0.02
  scikit-learn, two judges, NaN: ValueError
  scikit-learn, two judges: texts 0.00, only what both graded 0.00
END
