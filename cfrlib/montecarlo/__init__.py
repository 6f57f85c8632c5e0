"""Monte Carlo CFR: sampling schemes, traversals, MCCFR and online outcome sampling."""

from cfrlib.montecarlo.mccfr import MCCFR
from cfrlib.montecarlo.oos import OOS
from cfrlib.montecarlo.schemes import (
    SAMPLINGS,
    ChanceSampling,
    ExternalSampling,
    OutcomeSampling,
    RobustSampling,
    inclusion_probabilities,
)

__all__ = [
    "MCCFR",
    "OOS",
    "SAMPLINGS",
    "ChanceSampling",
    "ExternalSampling",
    "OutcomeSampling",
    "RobustSampling",
    "inclusion_probabilities",
]
