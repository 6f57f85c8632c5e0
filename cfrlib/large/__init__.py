"""Games too large to compile: no tree, but tables of the infosets that walks met.

`MCCFR` loads this wing for such a game. Its rules, in Python or as functions that compile
(:class:`cfrlib.Rules`), are called along each walk.
"""

from cfrlib.large.rules import Rules, check_rules

__all__ = ["Rules", "check_rules"]
