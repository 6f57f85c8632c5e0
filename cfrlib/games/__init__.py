"""Games to learn from."""

from cfrlib.games.kuhn import KuhnPoker, kuhn_equilibrium
from cfrlib.games.matrix import MatrixGame, RockPaperScissors

__all__ = ["KuhnPoker", "MatrixGame", "RockPaperScissors", "kuhn_equilibrium"]
