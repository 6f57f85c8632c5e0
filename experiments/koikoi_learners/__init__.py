"""Learners for Koi-Koi that the experiments compare with those of `koikoi.learners`."""

from koikoi_learners.argmax_player import ArgmaxPlayer
from koikoi_learners.deep_discounted_cfr import DeepDiscountedCFR
from koikoi_learners.escher import ESCHER
from koikoi_learners.local_best_response import LocalBestResponse
from koikoi_learners.policy_gradient import MMDPolicyGradient
from koikoi_learners.robust_deep_cfr import RobustDeepCFR

__all__ = [
    "ESCHER",
    "ArgmaxPlayer",
    "DeepDiscountedCFR",
    "LocalBestResponse",
    "MMDPolicyGradient",
    "RobustDeepCFR",
]
