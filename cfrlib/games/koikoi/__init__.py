"""Koi-Koi, the Japanese game of flower cards, and small games with the same turns."""

from cfrlib.games.koikoi.cards import DECK, YAKU, Card, Yaku, made

__all__ = ["DECK", "YAKU", "Card", "Yaku", "made"]
