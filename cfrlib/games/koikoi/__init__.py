"""Koi-Koi, the Japanese game of flower cards, and small games with the same turns."""

from cfrlib.games.koikoi.cards import DECK, YAKU, Card, Yaku, made
from cfrlib.games.koikoi.rules import KoiKoi, MiniKoiKoi, Position
from cfrlib.games.koikoi.sizes import Estimate, Size, count, estimate

__all__ = [
    "DECK",
    "YAKU",
    "Card",
    "Estimate",
    "KoiKoi",
    "MiniKoiKoi",
    "Position",
    "Size",
    "Yaku",
    "count",
    "estimate",
    "made",
]
