"""What the exercises of several pages share: types, plain programs, and games of readers."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cfrbook.exercises.grading import Unreadable, as_list, as_number, require_function
from cfrbook.museum import DealtBackward, mutant
from cfrlib import games
from cfrlib.core.tree import compile
from cfrlib.game import Chance, Decision, Game, Terminal
from cfrlib.plain import Plain

Weights = Mapping[Any, float]  # of outcomes; they need not add up to 1
Draw = Callable[[Weights], Any]
Table = dict[Any, float]  # by infoset and action
Sums = dict[str, list[float]]  # strategy sums of the actions, by infoset
Solver = Callable[[Game, int], Sums]

# The infosets of Kuhn poker, in the order in which the traversals of both players leave them
KUHN_INFOSETS = (
    *(f"{card}{moves}" for card in "JQK" for moves in (" check-bet", "")),
    *(f"{card} {move}" for card in "QKJ" for move in ("check", "bet")),
)


def solver(
    program: type[Plain], lines: Mapping[str, str] = MappingProxyType({}), **settings: float
) -> Solver:
    """Return a plain program as readers write it: a function that returns the strategy sums.

    Parameters
    ----------
    program : class
        A solver of `cfrlib.plain`, or one like them.
    lines : mapping
        Lines to replace, as in `cfrbook.museum.mutant`; by default none, so it is right.
    **settings : float
        Arguments of the class.
    """

    def solve(game: Game, iterations: int) -> Sums:
        run = mutant(program, lines)(game, **settings)
        run.run(iterations)
        return {I: [run.S[I, a] for a in A] for I, A in run.actions.items()}

    return solve


def strategy_sums(solve: Any, game: Game, iterations: int) -> Mapping[str, Any]:
    """Run a reader's solver and return its strategy sums S."""
    require_function(solve)
    sums = solve(game, iterations)
    if not isinstance(sums, Mapping):
        raise Unreadable("your function does not return S")
    return sums


def average(sums: Mapping[str, Any], I: str) -> list[float]:
    """Return the average strategy at an infoset with two actions."""
    if I not in sums:
        raise Unreadable(f"your S has no row for the infoset {I!r}")
    row = [as_number(x) for x in as_list(sums[I], 2)]
    return [x / (sum(row) or 1) for x in row]


def as_rows(game: Game, strategy: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reader's strategy with its numbers read; a list has the order of the actions."""
    tree = compile(game)
    actions = dict(zip(tree.infoset_label, tree.infoset_actions, strict=True))
    rows = {}
    for I, row in strategy.items():
        if I in actions and isinstance(row, list | tuple | np.ndarray):
            row = dict(zip(actions[I], as_list(row, len(actions[I])), strict=True))
        rows[I] = {a: as_number(x) for a, x in row.items()} if isinstance(row, Mapping) else row
    return rows


def largest_gap(found: Sequence[Table], wanted: Sequence[Table]) -> float:
    """Return the largest difference between two lists of tables."""
    return max(
        abs(mean[key] - exact[key])
        for mean, exact in zip(found, wanted, strict=True)
        for key in mean.keys() | exact.keys()
    )


def in_both_orders(solve: Any, iterations: int) -> dict[str, Mapping[str, Any]]:
    """Return a reader's strategy sums for both orders of Kuhn poker's deals."""
    orders = {"as dealt": games.KuhnPoker(), "backward": DealtBackward()}
    return {name: strategy_sums(solve, game, iterations) for name, game in orders.items()}


# ---- games of readers ------------------------------------------------------------------------


def fresh(game: Any) -> Any:
    """Copy a reader's game without its compiled tree, which may be older than its rules."""
    return copy.copy(game)


def knows_own_card(game: Game) -> bool:
    """Return whether the labels of Kuhn poker say the player's own card and the moves only.

    The number of infosets does not tell: with the *other's* card in each label there are as
    many, and by symmetry the game has the same value. Whose card is whose follows from the
    payoffs. Cards that cannot be read off the deals are given the benefit of the doubt.
    """
    earned: dict[Any, float] = {}  # by player 0 over all ends, by deal
    seen: dict[Any, set[Any]] = {}  # deals and moves, by player and label
    stack: list[Any] = [(game.root(), (), ())]
    while stack:
        h, deal, moves = stack.pop()
        node, cards = game.node(h), two_cards(deal)
        if cards is None and not isinstance(node, Chance):
            return True
        if isinstance(node, Terminal):
            earned[cards] = earned.get(cards, 0.0) + node.utilities[0]
            continue
        if isinstance(node, Decision):
            seen.setdefault((node.player, node.infoset), set()).add((cards, moves))
        for a in node.actions:
            path = ((*deal, a), moves) if isinstance(node, Chance) else (deal, (*moves, a))
            stack.append((game.step(h, a), *path))
    first = 0 if sum(x * (rank(a) > rank(b)) for (a, b), x in earned.items()) > 0 else 1
    known = [{(cards[first ^ i], moves) for cards, moves in of} for (i, _), of in seen.items()]
    players = [i for i, _ in seen]
    distinct = {(i, *item) for i, items in zip(players, known, strict=True) for item in items}
    return all(len(items) == 1 for items in known) and len(distinct) == len(seen)


def two_cards(deal: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """Return the two cards of a deal: of two chance events, or of one, or None."""
    if len(deal) == 1 and isinstance(deal[0], str):
        words = re.findall(r"[^\W_]+", deal[0])
        deal = tuple(words[0] if len(words) == 1 else words)
    elif len(deal) == 1 and isinstance(deal[0], tuple):
        deal = deal[0]
    return (deal[0], deal[1]) if len(deal) == 2 else None


def rank(card: Any) -> tuple[int, Any]:
    """Return what orders cards: jack, queen and king by initial, others by themselves."""
    return "JQK".find(str(card)[:1].upper()), card
