"""Import and export: Gambit's .efg files, and games and policies of OpenSpiel."""

from cfrlib.interop.efg import EfgError, read_efg, write_efg
from cfrlib.interop.open_spiel import from_open_spiel, from_open_spiel_policy, to_open_spiel

__all__ = [
    "EfgError",
    "from_open_spiel",
    "from_open_spiel_policy",
    "read_efg",
    "to_open_spiel",
    "write_efg",
]
