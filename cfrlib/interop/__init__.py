"""Import and export: Gambit's .efg and .nfg files, and games and policies of OpenSpiel."""

from cfrlib.interop.efg import EfgError, read_efg, write_efg
from cfrlib.interop.nfg import NfgError, read_nfg, write_nfg
from cfrlib.interop.open_spiel import from_open_spiel, from_open_spiel_policy, to_open_spiel

__all__ = [
    "EfgError",
    "NfgError",
    "from_open_spiel",
    "from_open_spiel_policy",
    "read_efg",
    "read_nfg",
    "to_open_spiel",
    "write_efg",
    "write_nfg",
]
