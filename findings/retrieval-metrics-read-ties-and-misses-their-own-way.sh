#!/usr/bin/env bash
# Of the same ranking, pytrec_eval says that the right passage is first or last by its name, and a question that found nothing is
# missing from its results, so that the mean rises.
#
# Seen with pytrec-eval-terrier 0.5.11 and ir-measures 0.4.3. Guess: passages with the same score count in the order in which
# they were given, and a question without any passage counts 0. Behaviour: both order equal scores by the name, the last of the
# alphabet first, so that the reciprocal rank of a rerun with other ids is 1 instead of 1/3. pytrec_eval has no result for a
# question without passages, and a mean over its results is 1 where ir-measures, which is built on it, says 0.67. Graders that
# give marks from 1 to 5 make ties everywhere, and a filter that is too strict raises the mean. Break ties by the rank before the
# call, and divide by the number of questions.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pytrec-eval-terrier==0.5.11 ir-measures==0.4.3

cat >rank.py <<'PY'
import ir_measures
import pytrec_eval
from ir_measures import RR


def score(qrels, run):
    results = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    mean = sum(result["recip_rank"] for result in results.values()) / len(results)
    aggregate = ir_measures.calc_aggregate([RR], qrels, run)[RR]
    return f"pytrec_eval {mean:.2f} of {len(results)}, ir-measures {aggregate:.2f}"


marks = {"a": 5.0, "b": 5.0, "c": 5.0}
for right in marks:
    qrels, run = {"q1": {right: 1}}, {"q1": marks}
    given = 1 / (1 + list(marks).index(right))
    print(f"three passages with the same mark, {right} is right: {score(qrels, run)}, in the order given {given:.2f}")
qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
run = {"q1": {"a": 5.0, "b": 4.0}, "q2": {"b": 3.0}}
print(f"three questions, one found nothing: {score(qrels, run)}")
PY
python/bin/python rank.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
three passages with the same mark, a is right: pytrec_eval 0.33 of 1, ir-measures 0.33, in the order given 1.00
three passages with the same mark, b is right: pytrec_eval 0.50 of 1, ir-measures 0.50, in the order given 0.50
three passages with the same mark, c is right: pytrec_eval 1.00 of 1, ir-measures 1.00, in the order given 0.33
three questions, one found nothing: pytrec_eval 1.00 of 2, ir-measures 0.67
END
