"""Benchmark games, from rock–paper–scissors to Leduc poker and Coyote."""

from cfrlib.games.coyote import Coyote
from cfrlib.games.goofspiel import Goofspiel
from cfrlib.games.kuhn import KuhnPoker, kuhn_equilibrium
from cfrlib.games.leduc import LeducPoker
from cfrlib.games.liars_dice import LiarsDice
from cfrlib.games.matrix import ColonelBlotto, MatrixGame, RockPaperScissors

__all__ = [
    "ColonelBlotto",
    "Coyote",
    "Goofspiel",
    "KuhnPoker",
    "LeducPoker",
    "LiarsDice",
    "MatrixGame",
    "RockPaperScissors",
    "kuhn_equilibrium",
]
