"""The wings of the companion: what chapters 1 to 8 do without, loaded when first used.

This is the one place where the companion names them. Their first lines say what they are.
"""

from __future__ import annotations

import importlib
from typing import Any

# Public names, and those that the companion itself asks for, by the module that holds them
HOLDS = {
    "cfrlib.games.coyote": "Coyote",
    "cfrlib.interop": "from_open_spiel from_open_spiel_policy to_open_spiel "
    "read_efg read_nfg write_efg write_nfg",
    "cfrlib.large": "Rules check_rules",
    "cfrlib.large.batch": "RulesBatch",
    "cfrlib.large.games": "goofspiel_rules liars_dice_rules",
    "cfrlib.large.partial_tree": "no_infosets",
    "cfrlib.large.replicas": "SharedBatch",
    "cfrlib.last_iterate": "MirrorDescent RegretMatching",
    "cfrlib.online": "OOS",
    "cfrlib.playing": "match simulate "
    "LocalBestResponse TrainedResponse best_response_bound exploitability_bound",
}
MODULE = {name: module for module, names in HOLDS.items() for name in names.split()}


def load(name: str) -> Any:
    """Return what a wing holds under a name.

    Examples
    --------
    >>> load("match").__module__
    'cfrlib.playing.matches'
    """
    return getattr(importlib.import_module(MODULE[name]), name)
