"""Networks in place of tables: Deep CFR, Double Neural CFR, and self-play of Koi-Koi.

Nothing else of cfrlib imports it, and it alone needs JAX, Flax and Optax:
``pip install "cfrlib[deep]"``.
"""

from cfrlib.deep.afterstates import NetworkPlayer
from cfrlib.deep.deep_cfr import DeepCFR
from cfrlib.deep.double_neural import DoubleNeural
from cfrlib.deep.exploiters import LocalResponder, ResponseLearner
from cfrlib.deep.features import encode, hashed, spell
from cfrlib.deep.memory import Memory
from cfrlib.deep.monte_carlo import MonteCarloLearner
from cfrlib.deep.networks import MLP, Reader, Training
from cfrlib.deep.policy import Policy
from cfrlib.deep.policy_gradient import PolicyLearner
from cfrlib.deep.regrets import RegretLearner, TraversalLearner
from cfrlib.deep.responder import Responder

__all__ = [
    "MLP",
    "DeepCFR",
    "DoubleNeural",
    "LocalResponder",
    "Memory",
    "MonteCarloLearner",
    "NetworkPlayer",
    "Policy",
    "PolicyLearner",
    "Reader",
    "RegretLearner",
    "Responder",
    "ResponseLearner",
    "Training",
    "TraversalLearner",
    "encode",
    "hashed",
    "spell",
]
