"""Networks in place of tables: Deep CFR and Double Neural CFR, for any game.

Needs JAX, Flax and Optax: ``pip install "cfrlib[deep]"``.
"""

from cfrlib.core.extras import require

require("cfrlib.deep", "deep", "jax", "flax", "optax")

from cfrlib.deep.deep_cfr import DeepCFR
from cfrlib.deep.double_neural import DoubleNeural
from cfrlib.deep.features import spell
from cfrlib.deep.memory import Memory
from cfrlib.deep.networks import MLP, Reader, Training
from cfrlib.deep.policy import Policy
from cfrlib.deep.responder import Responder
from cfrlib.words import encode, hashed

__all__ = [
    "MLP",
    "DeepCFR",
    "DoubleNeural",
    "Memory",
    "Policy",
    "Reader",
    "Responder",
    "Training",
    "encode",
    "hashed",
    "spell",
]
