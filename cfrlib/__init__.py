"""cfrlib: counterfactual regret minimization you can read.

The companion package of the book. Games are one method, strategies are dictionaries::

    import cfrlib as cfr

    game = cfr.games.KuhnPoker()
    solution = cfr.solve(game, "cfr", iterations=10_000)
    solution.strategy["Q check-bet"]
    cfr.exploitability(game, solution.strategy)
"""

from cfrlib import games
from cfrlib.cfr import CFR, solve
from cfrlib.equilibrium import (
    best_response,
    expected_utility,
    exploitability,
    nash_conv,
    reach,
    solve_lp,
)
from cfrlib.game import Chance, Decision, Game, GameError, Terminal
from cfrlib.interop import (
    from_open_spiel,
    from_open_spiel_policy,
    read_efg,
    to_open_spiel,
    write_efg,
)
from cfrlib.regret import VARIANTS, Variant, play, regret_matching
from cfrlib.solution import Solution, Trace
from cfrlib.strategy import Strategy
from cfrlib.tree import compile

__version__ = "0.1.0"

__all__ = [
    "CFR",
    "VARIANTS",
    "Chance",
    "Decision",
    "Game",
    "GameError",
    "Solution",
    "Strategy",
    "Terminal",
    "Trace",
    "Variant",
    "best_response",
    "compile",
    "expected_utility",
    "exploitability",
    "from_open_spiel",
    "from_open_spiel_policy",
    "games",
    "nash_conv",
    "play",
    "reach",
    "read_efg",
    "regret_matching",
    "solve",
    "solve_lp",
    "to_open_spiel",
    "write_efg",
]
