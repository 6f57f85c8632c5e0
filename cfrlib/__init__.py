"""cfrlib: counterfactual regret minimization you can read.

The companion package of the book. Games are one method, strategies are dictionaries::

    import cfrlib as cfr

    game = cfr.games.KuhnPoker()
    solution = cfr.solve(game, "cfr", iterations=10_000)
    solution.strategy["Q check-bet"]
    cfr.exploitability(game, solution.strategy)
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from cfrlib import games, wings
from cfrlib.cfr import CFR
from cfrlib.core import compiling
from cfrlib.core.tree import compile
from cfrlib.evaluate import (
    best_response,
    cce_gaps,
    expected_utility,
    exploitability,
    nash_conv,
    reach,
    solve_lp,
)
from cfrlib.game import Chance, Decision, Game, GameError, Terminal
from cfrlib.montecarlo import (
    MCCFR,
    SAMPLINGS,
    Certificate,
    ChanceSampling,
    ExternalSampling,
    OutcomeSampling,
    RobustSampling,
    certify,
    every_path,
    inclusion_probabilities,
)
from cfrlib.regret import VARIANTS, RegretMinimizer, Variant, play, regret_matching
from cfrlib.solution import Solution, Trace
from cfrlib.solve import solve
from cfrlib.strategy import PartialStrategy, Strategy

if TYPE_CHECKING:  # what is loaded when first used
    from cfrlib.interop import (
        from_open_spiel,
        from_open_spiel_policy,
        read_efg,
        read_nfg,
        to_open_spiel,
        write_efg,
        write_nfg,
    )
    from cfrlib.large import Rules, check_rules
    from cfrlib.online import OOS
    from cfrlib.playing import (
        LocalBestResponse,
        TrainedResponse,
        best_response_bound,
        exploitability_bound,
        match,
        simulate,
    )

__version__ = "0.1.0"

SUBMODULES = sorted(
    module.name for module in pkgutil.iter_modules(__path__) if module.name != "core"
)
compiling.announce()

__all__ = [
    "CFR",
    "MCCFR",
    "OOS",
    "SAMPLINGS",
    "VARIANTS",
    "Certificate",
    "Chance",
    "ChanceSampling",
    "Decision",
    "ExternalSampling",
    "Game",
    "GameError",
    "LocalBestResponse",
    "OutcomeSampling",
    "PartialStrategy",
    "RegretMinimizer",
    "RobustSampling",
    "Rules",
    "Solution",
    "Strategy",
    "Terminal",
    "Trace",
    "TrainedResponse",
    "Variant",
    "best_response",
    "best_response_bound",
    "cce_gaps",
    "certify",
    "check_rules",
    "compile",
    "every_path",
    "expected_utility",
    "exploitability",
    "exploitability_bound",
    "from_open_spiel",
    "from_open_spiel_policy",
    "games",
    "inclusion_probabilities",
    "match",
    "nash_conv",
    "play",
    "reach",
    "read_efg",
    "read_nfg",
    "regret_matching",
    "simulate",
    "solve",
    "solve_lp",
    "to_open_spiel",
    "write_efg",
    "write_nfg",
]


def __getattr__(name: str) -> Any:
    """Load a wing when one of its names is first used: JAX, for one, takes seconds to load."""
    if name in SUBMODULES:
        return importlib.import_module(f"cfrlib.{name}")
    if name in __all__:
        found = globals()[name] = wings.load(name)
        return found
    raise AttributeError(f"module 'cfrlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *SUBMODULES, *__all__})
