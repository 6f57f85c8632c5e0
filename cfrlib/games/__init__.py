"""Benchmark games, from rock–paper–scissors to Leduc poker and Coyote."""

from typing import TYPE_CHECKING, Any

from cfrlib import wings
from cfrlib.games.goofspiel import Goofspiel
from cfrlib.games.kuhn import KuhnPoker, kuhn_equilibrium
from cfrlib.games.leduc import LeducPoker
from cfrlib.games.liars_dice import LiarsDice
from cfrlib.games.matrix import ColonelBlotto, MatrixGame, RockPaperScissors

if TYPE_CHECKING:
    from cfrlib.games.coyote import Coyote

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


def __getattr__(name: str) -> Any:
    if name == "Coyote":  # the largest, and no game of chapters 1 to 8
        return wings.load(name)
    raise AttributeError(f"module 'cfrlib.games' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "Coyote"})
