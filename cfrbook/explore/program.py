"""Programs with holes: a reader chooses each piece, and the page runs what they have built."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from html import escape
from math import prod
from operator import add
from typing import Any

from cfrbook import museum
from cfrbook.explore.explorable import asset, number_text
from cfrbook.explore.javascript import pieces
from cfrbook.museum.mutant import source
from cfrlib import game as cfr  # as much of it as programs need

CURVE = (1, 2, 3, 6, 10, 18, 32, 56, 100, 178, 316, 562, 1_000)


class Program:
    """A short program with holes, each with two to four fillings, which runs on its page.

    The page shows the program, runs it as its reader fills it, names the bug if the museum has
    it, and steps through its lines. All of that works without a kernel: the program is
    translated into JavaScript.

    Parameters
    ----------
    *parts : function or str
        Functions and lines of text that make up the program.
    holes : sequence of dict
        For each hole, its fillings, the right one first: a piece that the program has once.
        Each filling comes with the name of its bug in `cfrbook.museum`, or "".
    run : str
        An expression that runs the program and measures its result: a dict of numbers. Of
        `iterations`, if it occurs, the page plots the first number against its values.
    caption : str
        What to fill and what to look at.
    **given
        Other names that the program uses: numbers, words, lists, dicts and games.

    Raises
    ------
    ValueError
        If the program does not have the piece of a hole exactly once, if two holes are in one
        statement, if the museum does not have a bug, or if the program uses more of Python than
        is translated.

    Examples
    --------
    >>> half = Program("y = x / 2", holes=[{"x / 2": "", "2 / x": ""}], run='{"y": y}',
    ...                caption="Which way round?", x=8)
    >>> half
    Program(1 line, 1 hole, 2 combinations)
    >>> half.text((1,)), half.result((0,)), half.result((1,))
    ('y = 2 / x', {'y': 4.0}, {'y': 0.25})
    >>> "<dt>y</dt><dd>4.0000</dd>" in half.page()
    True
    """

    def __init__(
        self,
        *parts: Callable[..., Any] | str,
        holes: Sequence[Mapping[str, str]],
        run: str,
        caption: str,
        **given: Any,
    ):
        texts = (part if isinstance(part, str) else source(part) for part in parts)
        self.holes, self.expression, self.caption, self.given = holes, run, caption, given
        self.right = (0,) * len(holes)
        self._marked = text = "\n\n".join(text.strip("\n") for text in texts)
        for k, hole in enumerate(holes):
            right = next(iter(hole))
            if (times := text.count(right)) != 1:
                raise ValueError(f"the program has the piece {right!r} {times} times, not once")
            self._marked = self._marked.replace(right, f"\0{k}\0")

    def __repr__(self) -> str:
        counts = {
            "line": self._marked.count("\n") + 1,
            "hole": len(self.holes),
            "combination": prod(map(len, self.holes)),
        }
        words = (f"{n:,} {word}{'s' * (n > 1)}" for word, n in counts.items())
        return f"Program({', '.join(words)})"

    def text(self, choice: Sequence[int]) -> str:
        """Return the program with the chosen fillings, given by their numbers."""
        text = self._marked
        for k, n in enumerate(choice):
            text = text.replace(f"\0{k}\0", list(self.holes[k])[n])
        return text

    def result(self, choice: Sequence[int], iterations: int = CURVE[-1]) -> dict[str, float]:
        """Run the program with the chosen fillings in Python, and measure its result."""
        names = {"cfr": cfr, "defaultdict": defaultdict, "measure": measure, **self.given}
        names["sum"] = in_order
        exec(self.text(choice), names)
        found: dict[str, float] = eval(self.expression, names | {"iterations": iterations})
        return found

    def _data(self) -> dict[str, Any]:
        """Return all that the page's script needs, as JSON."""
        hidden = f"{source(earned)}\n{source(measure)}"
        shown = self._marked.count("\n") + 1

        def translated(choice: Sequence[int]) -> list[str]:
            return pieces(f"{self.text(choice)}\n{hidden}", shown, self.expression)

        script: list[Any] = translated(self.right)
        for k, hole in enumerate(self.holes):
            versions = [
                translated([*self.right[:k], n, *self.right[k + 1 :]]) for n in range(len(hole))
            ]
            pieces_of_hole = list(zip(*versions, strict=True))
            places = [at for at, fillings in enumerate(pieces_of_hole) if len({*fillings}) > 1]
            if len(places) != 1 or not isinstance(script[places[0]], str):
                raise ValueError(
                    f"the hole {next(iter(hole))!r} must change one statement, which no other "
                    "hole changes"
                )
            script[places[0]] = [k, pieces_of_hole[places[0]]]
        lines = [line.split("\0") for line in self._marked.split("\n")]
        bugs = {bug for hole in self.holes for bug in hole.values() if bug}
        curve = CURVE if "iterations" in self.expression else ()
        return {
            "lines": [[int(x) if k % 2 else x for k, x in enumerate(line)] for line in lines],
            "holes": [list(hole.items()) for hole in self.holes],
            "symptoms": {bug: museum.find(bug).symptom for bug in sorted(bugs)},
            "script": script,
            "given": {name: encoded(value) for name, value in self.given.items()},
            "curve": curve,
            "right": [next(iter(self.result(self.right, t).values())) for t in curve],
        }

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the same HTML for a page and a notebook."""
        return {"text/plain": repr(self), "text/html": self.page()}

    def page(self) -> str:
        """Return the program as HTML: the right one and its result, until the script runs."""
        text = json.dumps(self._data(), ensure_ascii=False, separators=(",", ":"))
        text = text.replace("</", "<\\/").replace("<!", "\\u003c!")
        numbers = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{number_text(value)}</dd></div>"
            for name, value in self.result(self.right).items()
        )
        return (
            f"<style>{asset('page.css')}</style><style>{asset('program.css')}</style>"
            '<figure class="cfr-figure cfr-program"><div class="cfr-explore">'
            f'<div class="cfr-right"><pre tabindex="0">{escape(self.text(self.right))}</pre>'
            f'<dl class="cfr-numbers">{numbers}</dl></div></div>'
            f"<figcaption>{escape(self.caption)}</figcaption>"
            f'<script type="application/json">{text}</script></figure>'
            f"<script>{asset('program.js')}</script>"
        )


def in_order(numbers: Iterable[float]) -> float:
    """Add numbers as JavaScript does. Since Python 3.12, `sum` rounds only at the end."""
    return reduce(add, numbers, 0)


def encoded(value: Any) -> Any:
    """Return what a program is given, as JSON that `program.js` decodes."""
    if isinstance(value, cfr.Game):
        return {"game": [[h, encoded(value.node(h))] for h in histories(value, ())]}
    if isinstance(value, (cfr.Terminal, cfr.Chance, cfr.Decision)):
        parts = {name: encoded(getattr(value, name)) for name in value.__slots__}
        return {"kind": type(value).__name__, **parts}
    if isinstance(value, Mapping):
        return {"dict": [[key, encoded(x)] for key, x in value.items()]}
    return value


def histories(game: cfr.Game, h: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return all histories of a small game from h on."""
    node = game.node(h)
    if isinstance(node, cfr.Terminal):
        return [h]
    actions = node.probabilities if isinstance(node, cfr.Chance) else node.actions
    return [h, *(z for a in actions for z in histories(game, (*h, a)))]


# ---- measured by the page as well, so in the same small part of Python -----------------------


def earned(
    game: cfr.Game, strategy: Mapping[str, Any], i: int, start: list[Any], best: bool
) -> float:
    """Return what player i earns from histories with these reaches, at best or as they play."""
    total, own, waiting = 0.0, {}, list(start)  # type: ignore[var-annotated]
    for h, reach in waiting:  # which grows
        node = game.node(h)
        if isinstance(node, cfr.Terminal):
            total += reach * node.utilities[i]
        elif best and isinstance(node, cfr.Decision) and node.player == i:
            own.setdefault(node.infoset, []).append((h, reach))
        else:
            dealt = isinstance(node, cfr.Chance)
            row = node.probabilities if dealt else strategy[node.infoset]  # type: ignore[union-attr]
            for a, p in row.items():
                waiting.append(((*h, a), reach * p))
    for infoset in own:
        total += max(
            earned(game, strategy, i, [((*h, a), p) for h, p in own[infoset]], best)
            for a in strategy[infoset]
        )
    return total


def measure(game: cfr.Game, strategy: Mapping[str, Any]) -> dict[str, float]:
    """Return what a page reports of a strategy for Kuhn poker.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker()
    >>> even = cfr.Strategy.uniform(kuhn)
    >>> found = measure(kuhn, even)
    >>> abs(found["exploitability"] - cfr.exploitability(kuhn, even)) < 1e-12
    True
    """
    best = [earned(game, strategy, i, [((), 1)], True) for i in (0, 1)]
    return {
        "exploitability": (best[0] + best[1]) / 2,
        "value": earned(game, strategy, 0, [((), 1)], False),
        "α of the average": strategy["J"]["bet"],
    }
