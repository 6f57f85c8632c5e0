"""Deep CFR: networks in place of tables.

Nothing else of cfrlib imports it, and it alone needs JAX, Flax and Optax:
``pip install "cfrlib[deep]"``.
"""

from cfrlib.deep.deep_cfr import DeepCFR
from cfrlib.deep.features import encode, hashed
from cfrlib.deep.memory import Memory
from cfrlib.deep.networks import MLP, Training
from cfrlib.deep.policy import Policy
from cfrlib.deep.responder import Responder

__all__ = ["MLP", "DeepCFR", "Memory", "Policy", "Responder", "Training", "encode", "hashed"]
