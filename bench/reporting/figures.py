"""Figures, and bench/results.json, which has the newest of each. Knows neither how one is measured nor how a page shows it.

A figure has the values of one or several programs (`ours`, `before`, `forwarder`, a peer), each with the median, the lowest
and the highest of its rounds, and the ratios of ours to each other program. Rounds of programs are pairs: the ratio is that
of each round. A target bounds ours, or one of the ratios.
"""

import json
import pathlib
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "bench/results.json"
OURS = "ours"


def spread(values):
    """Median, lowest and highest; the median alone if there is one value."""
    values = list(values)
    found = [statistics.median(values)]
    if len(values) > 1:
        found += [min(values), max(values)]
    return [rounded(value) for value in found]


def rounded(value):
    """Four significant digits: more are noise, and change the file for nothing."""
    return float("%.4g" % value)


def ratios(rounds):
    """Ours to every other program."""
    found = {}
    for program, values in rounds.items():
        if program == OURS or OURS not in rounds:
            continue
        pairs = list(zip(rounds[OURS], values))
        if pairs and all(other for _, other in pairs):
            found[program] = spread(own / other for own, other in pairs)
    return found


def figure(name, unit, rounds, most=None, least=None, of=OURS):
    """The figure of {program: [the value of each round]}. `of` is what the target bounds: ours, or the program of a ratio."""
    rounds = {program: values for program, values in rounds.items() if values}
    found = {"name": name, "unit": unit, "values": {program: spread(values) for program, values in rounds.items()}}
    beside = ratios(rounds)
    if beside:
        found["ratios"] = beside
    if most is not None or least is not None:
        found["target"] = {"of": of, **({"most": most} if most is not None else {"least": least})}
        found["met"] = is_met(found)
    return found


def is_met(found):
    """Whether the median meets the target; None if it was not measured."""
    target = found["target"]
    values = found["values"].get(OURS) if target["of"] == OURS else found.get("ratios", {}).get(target["of"])
    if not values:
        return None
    return values[0] <= target["most"] if "most" in target else values[0] >= target["least"]


def load(path=RESULTS):
    return json.loads(path.read_text(encoding="utf-8"))


def save(results, path=RESULTS):
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def find(results, section, name):
    """The figure of that name; a KeyError names what is missing."""
    for found in results[section]["figures"]:
        if found["name"] == name:
            return found
    raise KeyError("no figure `%s` in section `%s` of bench/results.json" % (name, section))


def replace(results, section, measured):
    """Puts a section in place of its earlier form; returns the figures of that form, with its date and commit."""
    before = results.get(section)
    results[section] = measured
    if before is None or before == measured:
        return []
    return [(before["date"], before["commit"], section, found) for found in before["figures"]]
