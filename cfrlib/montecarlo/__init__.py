"""Monte Carlo CFR: sampling schemes, walks, batches, MCCFR, certificates."""

from cfrlib.montecarlo.certify import Certificate, certify, every_path
from cfrlib.montecarlo.mccfr import MCCFR
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
