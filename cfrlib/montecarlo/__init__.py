"""Monte Carlo CFR: sampling schemes, traversals, MCCFR, online search, certificates."""

from cfrlib.montecarlo.certify import Certificate, certify, every_path
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
    "Certificate",
    "ChanceSampling",
    "ExternalSampling",
    "OutcomeSampling",
    "RobustSampling",
    "certify",
    "every_path",
    "inclusion_probabilities",
]
