"""`/healthz` and memory beside hostile load, one row for each load of bench/hostile.py."""

import importlib

from reporting.figures import figure

MOST_MS, MOST_MB = 200, 300


def measure(tools):
    script = importlib.import_module("hostile")
    options = tools.having(server=tools.server, seconds=5 if tools.quick else 15, idle=10000, slow=1000)
    if tools.quick:
        options.idle, options.slow = 500, 100
    figures = []
    tools.quiet.wait()
    for name, found, peak in script.measure(options):
        figures += [
            figure(name + ": `/healthz`, 99 of 100 within", "ms", {"ours": [found.health_ms(0.99)]}),
            figure(name + ": `/healthz`, longest", "ms", {"ours": [found.health_ms(1)]}, most=MOST_MS),
            figure(name + ": peak memory", "MB", {"ours": [peak]}, most=MOST_MB),
        ]
    return figures
