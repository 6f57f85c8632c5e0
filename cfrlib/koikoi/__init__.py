"""Koi-Koi, the Japanese game of flower cards, and small games with the same turns."""

from cfrlib.koikoi.cards import DECK, JAPANESE, YAKU, Card, Yaku, made
from cfrlib.koikoi.rules import KoiKoi, MiniKoiKoi, Position
from cfrlib.koikoi.sizes import Estimate, Size, count, estimate

__all__ = [
    "DECK",
    "JAPANESE",
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
