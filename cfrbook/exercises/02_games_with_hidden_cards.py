"""Exercises of chapter 2: counting, reach, a game of one's own, coarse infoset labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from cfrbook.exercises.grading import Unanswered, Unreadable, entries, members, shortened
from cfrbook.exercises.shared import fresh
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib.core.tree import Tree
from cfrlib.core.tree import compile as compile_game
from cfrlib.evaluate import reach, solve_lp
from cfrlib.game import Chance, Decision, Game, GameError, History, Node, Terminal
from cfrlib.games import KuhnPoker
from cfrlib.strategy import Strategy

SIDES = ("heads", "tails")
REPLIES = ("believe", "doubt")


def size(deals: int | None = None, infosets: int | None = None) -> dict[str, int]:
    """Return the size of Kuhn poker with four cards, optionally with wrong counts."""
    tree = compile_game(KuhnPoker(cards=4))
    all_deals = 4 * 3
    histories, ends = (tree.num_histories - 1) // all_deals, tree.num_terminals // all_deals
    deals = all_deals if deals is None else deals
    return {
        "histories": 1 + deals * histories,
        "ends": deals * ends,
        "infosets": tree.num_infosets if infosets is None else infosets,
    }


def reach_factors() -> dict[str, float]:
    """Return the reach of the history in exercise 2.2, and its factors."""
    game = KuhnPoker()
    r = reach(game, Strategy.uniform(game), (("J", "K"), "check", "bet", "call"))
    return {
        "chance": r.chance,
        "player 0": r.players[0],
        "player 1": r.players[1],
        "in all": r.total,
        "all but player 1": r.others(1),
    }


def deal_of(chance: float) -> dict[str, float]:
    """Return the answer of a reader with this probability of the deal: a mistake."""
    right = reach_factors()
    scale = chance / right["chance"]
    changed = ("chance", "in all", "all but player 1")
    return right | {name: scale * right[name] for name in changed}


class Liar(Game):
    """The game of exercise 2.5: player 0 sees a toss and says a side, player 1 replies."""

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        if len(h) == 0:
            return Chance(dict.fromkeys(SIDES, 0.5))
        if len(h) == 1:
            return Decision(0, f"saw {h[0]}", SIDES)
        if len(h) == 2:
            return Decision(1, f"heard {h[1]}", REPLIES)
        right = (h[0] == h[1]) == (h[2] == "believe")
        paid = -1 if right else 1
        return Terminal((paid, -paid))


def liar(lines: Mapping[str, str]) -> Game:
    """Return the game with other lines."""
    return mutant(Liar, lines)()


TOSS = "return Chance(dict.fromkeys(SIDES, 0.5))"
HEARS = 'return Decision(1, f"heard {h[1]}", REPLIES)'  # lines of it
RIGHT = 'right = (h[0] == h[1]) == (h[2] == "believe")'


def require_nodes(game: Game) -> None:
    """Raise `Unanswered` if ``...`` replaces a node or an infoset label."""
    for h in ((), ("heads",), ("heads", "tails"), ("heads", "tails", "believe")):
        node: Any = game.node(h)
        if node is ... or getattr(node, "infoset", "") is ...:
            raise Unanswered(f", the node after {h} is missing")


def size_and_payoffs(answer: Any) -> dict[str, object]:
    """Return the size and the payoffs of a reader's game."""
    game = answer() if isinstance(answer, type) else answer
    if not isinstance(game, Game):
        raise Unreadable("yours is not a cfr.Game")
    require_nodes(game)
    tree, toss, payoffs = compile_game(fresh(game)), game.node(()), {}
    if not isinstance(toss, Chance):
        raise Unreadable("your game does not begin with the toss")
    for h in product(SIDES, SIDES, REPLIES):
        node = game.node(h)
        if not isinstance(node, Terminal):
            raise Unreadable(f"after {h} your game is not at a terminal history")
        if len(node.utilities) != 2 or abs(sum(node.utilities)) > 1e-9:
            raise Unreadable(
                f"after {h} your game pays {node.utilities}: what one player loses, the other "
                "should win"
            )
        payoffs[", ".join(h)] = node.utilities[0]
    return {
        "histories": tree.num_histories,
        "a fair coin": float(np.ptp(list(toss.probabilities.values()))) < 1e-9,
        "what player 0 knows": infosets_of(tree, 0),
        "what player 1 knows": infosets_of(tree, 1),
        "paid to player 0": payoffs,
    }


class LastMoveKuhn(KuhnPoker):
    """Kuhn poker whose infoset labels contain only the last move.

    Parameters
    ----------
    owned : bool
        Whether labels contain the player.
    """

    def __init__(self, owned: bool):
        super().__init__()
        self.owned = owned

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        node = super().node(h)
        if not isinstance(node, Decision):
            return node
        who = f"{node.player}: " if self.owned else ""
        last = "".join(h[1:][-1:])
        return Decision(node.player, f"{who}{h[0][node.player]} {last}", node.actions)


def infosets_of(tree: Tree, player: int) -> set[frozenset[History]]:
    """Return the sets of a player's histories with the same label."""
    members: dict[int, set[History]] = {}
    for k, I in enumerate(tree.infoset.tolist()):
        if I >= 0 and tree.infoset_player[I] == player:
            members.setdefault(I, set()).add(tree.history(k))
    return {frozenset(histories) for histories in members.values()}


def check_labels() -> dict[str, object]:
    """Return the answer to exercise 2.4."""
    try:
        compile_game(LastMoveKuhn(owned=False))
        compiles = True
    except GameError:
        compiles = False
    tree, kuhn = compile_game(LastMoveKuhn(owned=True)), compile_game(KuhnPoker())
    return {
        "compiles": compiles,
        "infosets": tree.num_infosets,
        "same game": all(infosets_of(tree, i) == infosets_of(kuhn, i) for i in (0, 1)),
    }


class CoarseKuhn(KuhnPoker):
    """Kuhn poker with five cards; player 0 sees only the group of their own card.

    Parameters
    ----------
    groups : iterable of str
        Cards of each group.
    """

    def __init__(self, groups: Iterable[str]):
        super().__init__(cards=5)
        self.groups = tuple(groups)

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        node = super().node(h)
        if not isinstance(node, Decision) or node.player == 1:
            return node
        own = h[0][0]
        seen = next(group for group in self.groups if own in group)
        return Decision(0, node.infoset.replace(own, seen), node.actions)


@cache
def cost(groups: frozenset[str]) -> float:
    """Return the loss of value to player 0 from seeing only groups of cards."""
    return solve_lp(KuhnPoker(cards=5)).value - solve_lp(CoarseKuhn(groups)).value


def check_groups(answer: Any) -> dict[str, object]:
    """Return a reader's groups and their cost."""
    deck = KuhnPoker(cards=5).deck
    parts = members(answer) if isinstance(answer, str) else entries(answer)
    if len(parts) != 3:
        raise Unreadable(f"{shortened(answer)} is not a list of three groups")
    parts = [cards_of(part) for part in parts]
    if sorted("".join(parts)) != sorted(deck) or not all(parts):
        raise Unreadable(
            f"your groups do not contain each of {', '.join(deck)} once (T is the ten)"
        )
    groups = frozenset("".join(sorted(part, key=deck.index)) for part in parts)
    return {"groups": set(groups), "cost": cost(groups)}


def cards_of(group: Any) -> str:
    """Return the cards of a reader's group, of which 9 may be a number and T a ten.

    Examples
    --------
    >>> cards_of("9T"), cards_of(("9", "10")), cards_of(9), cards_of("t, j")
    ('9T', '9T', '9', 'TJ')
    """
    text = str(group) if isinstance(group, str | int) else " ".join(map(str, entries(group)))
    return re.sub(r"[\s,+/-]", "", text.upper().replace("10", "T"))


def cheapest_groups() -> list[str]:
    """Return the three groups with the least cost."""
    deck = KuhnPoker(cards=5).deck
    partitions = {
        frozenset("".join(c for c, g in zip(deck, of, strict=True) if g == k) for k in range(3))
        for of in product(range(3), repeat=len(deck))
        if len(set(of)) == 3
    }
    costs = {groups: cost(groups) for groups in partitions}
    best = min(costs, key=costs.__getitem__)
    return sorted(best)


# ---- 2.3 -------------------------------------------------------------------------------------


def how_many_strategies(player: int = 0) -> dict[str, int]:
    """Return the numbers that make a strategy of Kuhn poker with five cards, and its kinds."""
    tree = compile_game(KuhnPoker(cards=5))
    first, last = (int(i) for i in tree.player_infosets[player : player + 2])
    below: dict[int, list[int]] = {}
    for I in range(first, last):
        below.setdefault(int(tree.infoset_parent[I]), []).append(int(tree.infoset_start[I]))

    def plans(sequence: int) -> int:
        """Return in how many ways a pure strategy can go on after a sequence."""
        return prod(plans(start) + plans(start + 1) for start in below.get(sequence, []))

    infosets = last - first
    root = int(tree.player_sequences[player])
    return {"numbers": infosets, "pure": 2**infosets, "played": plans(root)}


EXERCISES = read(__file__, globals())
