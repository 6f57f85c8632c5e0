"""The numbers every solver is held to, and the one comparison that holds it to them."""

import json
from fractions import Fraction
from pathlib import Path

GOLDENS = json.loads(Path(__file__).with_name("goldens.json").read_text())
TOLERANCE = 1e-9

# the goldens say lcfr; cfrlib calls the variant by its word
RUNS = {
    "cfr": ("cfr", "alternating"),
    "cfr+": ("cfr+", "alternating"),
    "lcfr": ("linear", "alternating"),
    "dcfr": ("dcfr", "alternating"),
    "pcfr+": ("pcfr+", "alternating"),
    "cfr simultaneous": ("cfr", "simultaneous"),
}


def row(game, name, up_to=100):
    """Return the golden exploitability at each iteration, up to one."""
    wanted = GOLDENS["exploitability"][game][name]
    return {int(t): e for t, e in wanted.items() if int(t) <= up_to}


def number(golden):
    """Return a golden as a float; some are fractions in quotes."""
    return float(Fraction(golden)) if isinstance(golden, str) else float(golden)


def misses(found, wanted):
    """Return the iterations at which a run misses its golden row: none, if it is right."""
    assert found.keys() == wanted.keys()
    return [t for t in wanted if not abs(found[t] - wanted[t]) <= TOLERANCE]
