"""Koi-Koi, the Japanese game of flower cards, and small games with the same turns."""

from koikoi import compiled  # noqa: F401  it gives the games rules that compile
from koikoi.cards import DECK, JAPANESE, YAKU, Card, Yaku, made
from koikoi.rules import KoiKoi, MiniKoiKoi, Position
from koikoi.sizes import Estimate, Size, count, estimate

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
