"""Self-play learners for Koi-Koi, with one module per algorithm.

Needs JAX, Flax and Optax: ``pip install "cfrlib[deep]"``.
"""

from cfrlib.core.extras import require

require("cfrlib.koikoi.learners", "deep", "jax", "flax", "optax")

from cfrlib.koikoi.learners.approximate_best_response import ApproximateBestResponse
from cfrlib.koikoi.learners.deep_discounted_cfr import DeepDiscountedCFR
from cfrlib.koikoi.learners.deep_monte_carlo import DeepMonteCarlo
from cfrlib.koikoi.learners.escher import ESCHER
from cfrlib.koikoi.learners.local_best_response import LocalBestResponse
from cfrlib.koikoi.learners.network_player import NetworkPlayer
from cfrlib.koikoi.learners.policy_gradient import MMDPolicyGradient
from cfrlib.koikoi.learners.ppo import PPO
from cfrlib.koikoi.learners.robust_deep_cfr import RobustDeepCFR

__all__ = [
    "ESCHER",
    "PPO",
    "ApproximateBestResponse",
    "DeepDiscountedCFR",
    "DeepMonteCarlo",
    "LocalBestResponse",
    "MMDPolicyGradient",
    "NetworkPlayer",
    "RobustDeepCFR",
]
