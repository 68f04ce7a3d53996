#!/usr/bin/env bash
# Math-Verify reads 6.02e23 as 6.02 and 1e-05 as 1: a right answer with an exponent is wrong, and a wrong one is right if only the
# exponent differs. Python itself prints such gold answers.
#
# Seen with math-verify 0.9.0. Guess: `verify(parse(gold), parse(answer))` compares the numbers; what it cannot read is no match.
# Behaviour: outside of LaTeX the expression for numbers ends before the `e`, and the rest is text; between dollar signs or in
# `\boxed`, `e` is Euler's number. `str(0.00001)` is "1e-05" in Python, JSON and pandas, so gold answers of a computed data set are
# 1 from one value on, and each answer of a model whose mantissa fits, 1e-07 or 1, is right. An integer with underscores and a
# mixed fraction without LaTeX lose a part, too. Nothing is logged. A reward that is made of this trains a model to leave
# exponents out. Write gold answers as decimals or as `6.02 \times 10^{23}`, and compare numbers with `float` first.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages math-verify==0.9.0 sympy==1.14.0
export PYTHONPATH="$place/packages"

cat >grade.py <<'PY'
from math_verify import parse, verify

PAIRS = [(str(0.00001), "0.00001"), (str(0.00001), "1"), (str(0.00001), "1e-07"), (str(6.02e23), "$6.02 \\times 10^{23}$"),
         (str(6.02e23), "6.02"), (str(0.0001), "0.0001"), ("0.00001", "The answer is \\boxed{1e-05}."), ("1000000", "1_000_000"),
         ("3.5", "3 1/2"), ("3.5", "$3\\frac{1}{2}$"), ("0.00001", "$1 \\times 10^{-5}$"), ("0.00001", "10^-5")]
for gold, answer in PAIRS:
    read, given = parse(gold), parse(answer)
    verdict = "right" if verify(read, given) else "wrong"
    print(f"{gold} is read as {read[0]}, {answer} as {given[0]}: {verdict}")
PY
python3 grade.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
1e-05 is read as 1, 0.00001 as 0.0000100000000000000: wrong
1e-05 is read as 1, 1 as 1: right
1e-05 is read as 1, 1e-07 as 1: right
6.02e+23 is read as 6.02000000000000, $6.02 \times 10^{23}$ as 6.02*10**23: wrong
6.02e+23 is read as 6.02000000000000, 6.02 as 6.02000000000000: right
0.0001 is read as 0.000100000000000000, 0.0001 as 0.000100000000000000: right
0.00001 is read as 0.0000100000000000000, The answer is \boxed{1e-05}. as -5 + 1*E: wrong
1000000 is read as 1000000, 1_000_000 as 1: wrong
3.5 is read as 3.50000000000000, 3 1/2 as 1: wrong
3.5 is read as 3.50000000000000, $3\frac{1}{2}$ as 7/2: right
0.00001 is read as 0.0000100000000000000, $1 \times 10^{-5}$ as 1/10**5: right
0.00001 is read as 0.0000100000000000000, 10^-5 as 10**(-5): right
END
