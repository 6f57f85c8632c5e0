"""Golden exploitabilities of all solvers, and the comparison that the tests use."""

import json
from fractions import Fraction
from pathlib import Path

GOLDENS = json.loads(Path(__file__).with_name("goldens.json").read_text())
TOLERANCE = 1e-9

# golden row -> cfrlib's variant and update
RUNS = {
    "cfr": ("cfr", "alternating"),
    "cfr+": ("cfr+", "alternating"),
    "lcfr": ("linear", "alternating"),
    "dcfr": ("dcfr", "alternating"),
    "pcfr+": ("pcfr+", "alternating"),
    "cfr simultaneous": ("cfr", "simultaneous"),
}

# On Leduc, the discounts of lcfr and dcfr amplify rounding errors at rarely reached infosets:
# doubles agree to 1e-11 up to iteration 50, but only to 1e-6 and 1e-5 at iteration 100, where
# even the order of actions matters. These rows are therefore compared with numbers computed
# with 60 digits (by reference.py with Decimal). The goldens at iteration 100 have errors of
# 2e-7 and 5e-6; their tolerance is ten times the difference between orders of addition.
SIXTY_DIGITS = {
    "lcfr": {20: 0.25597780680552185, 30: 0.14479782518531667, 50: 0.06899518451957234},
    "dcfr": {20: 0.16679681798943974, 30: 0.06377842416221628, 50: 0.022921832285666424},
}
UNSTABLE = {"lcfr": 1e-5, "dcfr": 1e-4}


def row(game, name, up_to=100):
    """Return the golden exploitability by iteration, up to iteration `up_to`."""
    golden = GOLDENS["exploitability"][game][name]
    return {int(t): e for t, e in golden.items() if int(t) <= up_to}


def number(golden):
    """Return a golden as a float; some are stored as strings such as "-1/18"."""
    return float(Fraction(golden)) if isinstance(golden, str) else float(golden)


def misses(actual, expected, tolerance=TOLERANCE):
    """Return the iterations at which a run misses its golden row."""
    assert actual.keys() == expected.keys()
    return [t for t in expected if not abs(actual[t] - expected[t]) <= tolerance]
