"""Games and strategies in and out: what other programs read and write."""

from cfrlib.interop.open_spiel import from_open_spiel, from_open_spiel_policy, to_open_spiel

__all__ = ["from_open_spiel", "from_open_spiel_policy", "to_open_spiel"]
