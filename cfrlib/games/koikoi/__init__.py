"""Koi-Koi, the Japanese game of flower cards, and small games with the same turns."""

from cfrlib.games.koikoi.cards import DECK, YAKU, Card, Yaku, made
from cfrlib.games.koikoi.rules import KoiKoi, MiniKoiKoi, Position

__all__ = ["DECK", "YAKU", "Card", "KoiKoi", "MiniKoiKoi", "Position", "Yaku", "made"]
