#!/usr/bin/env bash
# evalica gives every candidate the same Bradley-Terry score if one of them never lost, or never won, and its `eigen` ranks the
# worst candidate first.
#
# Seen with evalica 0.4.2 against choix 0.4.1. Guess: functions that return scores of pairwise comparisons under one interface put
# the same clear winner on top, or fail where no estimate exists. Behaviour: without a loss the estimate of Bradley and Terry is
# infinite. It is replaced, and at the end each score is the tolerance, 0.000001: a tie of all, in an order of chance, with
# no warning. choix raises an error. `newman` does the same for a winner without losses, but not for a loser without wins. `eigen`
# returns the reverse of the order, on ordinary data too, and with one draw `pagerank` puts an unbeaten candidate second. A judge
# that compares a good prompt with bad ones makes such tables often. Use `average_win_rate`, or add half a win to both sides of
# each pair, and compare the order with the counts of wins.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages evalica==0.4.2 choix==0.4.1 numpy==2.4.6 \
  pandas==3.1.1 scipy==1.17.1
export PYTHONPATH="$place/packages"

cat >rank.py <<'PY'
import choix
import evalica
from evalica import Winner


def games(table):
    """Names, names and winners of the pairs (a, b, wins of a, wins of b, draws)."""
    rows = [(a, b, winner) for a, b, *counts in table
            for winner, count in zip((Winner.X, Winner.Y, Winner.Draw), counts) for _ in range(count)]
    return [list(column) for column in zip(*rows)]


tables = {
    "A better than B better than C": [("A", "B", 7, 3, 0), ("B", "C", 7, 3, 0), ("A", "C", 8, 2, 0)],
    "A never lost": [("A", "B", 10, 0, 0), ("B", "C", 7, 3, 0), ("A", "C", 10, 0, 0)],
    "A never lost, one draw": [("A", "B", 9, 0, 1), ("B", "C", 7, 3, 0), ("A", "C", 10, 0, 0)],
    "C never won": [("A", "B", 7, 3, 0), ("B", "C", 10, 0, 0), ("A", "C", 10, 0, 0)],
}
for name, table in tables.items():
    print(name)
    first, second, winners = games(table)
    for rank in (evalica.average_win_rate, evalica.elo, evalica.bradley_terry, evalica.newman, evalica.eigen, evalica.pagerank):
        scores = rank(first, second, winners).scores
        values = sorted(set(scores.round(4)), reverse=True)
        order = " > ".join(" = ".join(sorted(scores.index[scores.round(4) == value])) for value in values)
        print(f"  {rank.__name__}: {order}" + (f", each {scores.iloc[0]:f}" if len(values) == 1 else ""))
    pairs = [("ABC".index(x), "ABC".index(y)) if winner == Winner.X else ("ABC".index(y), "ABC".index(x))
             for x, y, winner in zip(first, second, winners) if winner != Winner.Draw]
    try:
        found = choix.ilsr_pairwise(3, pairs)
        print("  choix:", " > ".join("ABC"[at] for at in sorted(range(3), key=lambda at: -found[at])))
    except ValueError:
        print("  choix: ValueError")
PY
python3 rank.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
A better than B better than C
  average_win_rate: A > B > C
  elo: A > B > C
  bradley_terry: A > B > C
  newman: A > B > C
  eigen: C > B > A
  pagerank: A > B > C
  choix: A > B > C
A never lost
  average_win_rate: A > B > C
  elo: A > B > C
  bradley_terry: A = B = C, each 0.000001
  newman: A = B = C, each 0.000001
  eigen: C > B > A
  pagerank: A > B > C
  choix: ValueError
A never lost, one draw
  average_win_rate: A > B > C
  elo: A > B > C
  bradley_terry: A > B > C
  newman: A > B > C
  eigen: C > B > A
  pagerank: B > A > C
  choix: ValueError
C never won
  average_win_rate: A > B > C
  elo: A > B > C
  bradley_terry: A = B = C, each 0.000001
  newman: A > B > C
  eigen: C > A = B
  pagerank: A = B > C
  choix: ValueError
END
