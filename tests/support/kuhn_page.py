"""The build-time code of the page "Play Kuhn", run for the tests."""

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
    """Return the names defined by the page's hidden cells: game, losses, table, …"""
    names: dict[str, Any] = {}
    cells = HIDDEN_CELL.findall(PAGE.read_text("utf-8"))
    assert cells
    for cell in cells:
        exec(cell, names)
    return names


def leak(game: cfr.Game, sheet: cfr.Strategy, counts: dict[str, dict[str, int]]) -> float:
    """Return the loss per hand of the empirical strategy against `sheet`, averaged over seats.

    It uses cfrlib's best response instead of the page's table. At infosets without counts the
    reader is assumed to play a best response.
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
