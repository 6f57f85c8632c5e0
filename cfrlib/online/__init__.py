"""Search while playing: online outcome sampling."""

from cfrlib.online.oos import OOS

__all__ = ["OOS"]
