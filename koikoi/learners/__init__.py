"""Self-play learners for Koi-Koi, with one module per algorithm.

Needs JAX, Flax and Optax: ``pip install "cfrlib[deep]"``.
"""

from cfrlib.core.extras import require

require("koikoi.learners", "deep", "jax", "flax", "optax")

from koikoi.learners.approximate_best_response import ApproximateBestResponse
from koikoi.learners.deep_monte_carlo import DeepMonteCarlo
from koikoi.learners.look_ahead import LookAheadPlayer
from koikoi.learners.network_player import NetworkPlayer

__all__ = ["ApproximateBestResponse", "DeepMonteCarlo", "LookAheadPlayer", "NetworkPlayer"]
