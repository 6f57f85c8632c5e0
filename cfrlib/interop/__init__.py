"""Games from other programs, and for them."""

from cfrlib.interop.efg import EfgError, read_efg, write_efg

__all__ = ["EfgError", "read_efg", "write_efg"]
