"""The sections of bench/report.py, one module each: `measure(tools)` returns figures, or raises Skipped with the reason.

A section whose module is elsewhere in bench/ is delegated: `figures(tools)` of that module returns its figures.
"""

import importlib

from reporting.tools import Skipped

# In the order of the page.
NAMES = ("executions", "features", "instructions", "memory", "start", "record-bytes", "reading", "background", "evaluation",
         "streams", "hostile", "engine", "peers")
DELEGATED = {"features": "features"}
# Too long, too special or too large for every report: measured by these commands, and written into results.json by hand.
BY_HAND = ("background-engines", "stream-memory", "soak", "faults", "workers", "small-model")


def measure(name, tools):
    return delegated(DELEGATED[name], tools) if name in DELEGATED else own(name, tools)


def own(name, tools):
    return importlib.import_module("sections." + name.replace("-", "_")).measure(tools)


def script(name):
    """A script of bench/, imported."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise Skipped("bench/%s.py is missing" % name) from error


def delegated(name, tools):
    module = script(name)
    if not hasattr(module, "figures"):
        raise Skipped("bench/%s.py has no function `figures(tools)`" % name)
    return module.figures(tools)
