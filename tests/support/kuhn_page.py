"""What the page "Play Kuhn" computes when it is built: its code, run here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cfrlib as cfr

PAGE = Path(__file__).parents[2] / "book" / "play_kuhn.md"
HIDDEN_CELL = re.compile(
    r"```\{code-cell\} python\n:tags: \[remove-input\]\n(.*?)```", re.DOTALL
)


def namespace() -> dict[str, Any]:
    """Return the names that the cells behind the game define: game, losses, table, …"""
    names: dict[str, Any] = {}
    cells = HIDDEN_CELL.findall(PAGE.read_text("utf-8"))
    assert cells
    for cell in cells:
        exec(cell, names)
    return names


def leak(game: cfr.Game, sheet: cfr.Strategy, counts: dict[str, dict[str, int]]) -> float:
    """Return what the counted strategy loses per hand to `sheet`, seats alternating.

    By cfrlib's best response, not by the page's table. Where nothing was counted the reader
    is taken to play a best response.
    """
    gains = []
    for player in (0, 1):
        best = cfr.best_response(game, sheet, player).strategy
        mine = {
            infoset: frequencies(row) if sum(row.values()) else best[infoset]
            for infoset, row in counts.items()
            if sheet.player(infoset) == player
        }
        gains.append(cfr.best_response(game, sheet.replace(mine), player).gain)
    return sum(gains) / 2


def frequencies(row: dict[str, int]) -> dict[str, float]:
    return {action: n / sum(row.values()) for action, n in row.items()}
