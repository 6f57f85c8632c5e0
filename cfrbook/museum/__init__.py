"""A museum of bugs: plain solvers, and what happens if one of their lines is wrong.

Every bug replaces one line of one solver in plain Python. The catalog has the line, the line
with the bug, what one sees, who published it, and which check finds it::

    from cfrbook import museum

    bug = museum.find("sign of today")
    print(bug.line, bug.broken)
    solver = bug.wrong(cfr.games.KuhnPoker())
    cfr.exploitability(solver.game, solver.run(300))
"""

from cfrbook.museum.catalog import BUGS, Bug, find, program
from cfrbook.museum.checks import CHECKS, caught
from cfrbook.museum.ladder import LADDER, DealtBackward, LateCoin, TwoBets
from cfrbook.museum.mutant import changed, mutant

__all__ = [
    "BUGS",
    "CHECKS",
    "LADDER",
    "Bug",
    "DealtBackward",
    "LateCoin",
    "TwoBets",
    "caught",
    "changed",
    "find",
    "mutant",
    "program",
]
