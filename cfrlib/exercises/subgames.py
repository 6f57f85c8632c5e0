"""Exercises on subgames: gadget games, ranges, maxmargin, isomorphic cards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from functools import cache
from itertools import combinations, permutations
from math import comb
from typing import Any

import numpy as np

from cfrlib.core.sequence import sequence_form
from cfrlib.core.tree import CHANCE, TERMINAL, Floats, Tree, compile
from cfrlib.equilibrium import best_response, exploitability
from cfrlib.exercises.grading import Exercise, Mistake, Unreadable, as_number
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.games import LeducPoker
from cfrlib.koikoi import DECK
from cfrlib.solve import solve
from cfrlib.strategy import Strategy

HIDDEN = [  # hidden cards of exercise sub.4; each hand has two
    *("Crane", "Pine-1", "Warbler", "Plum-1", "Plum-2", "Cherry-1", "Cherry-2"),
    *("Wisteria-1", "Wisteria-2", "Iris-1", "Boar", "Clover-1", "Clover-2", "Mum-blue"),
    *("Paulownia-1", "Paulownia-2"),
]

# ---- the coin, and ranges --------------------------------------------------------------------


def coin_utilities(heads: float = 1 / 2, tails: float = -1 / 2) -> dict[str, float]:
    """Return the utility of each coin against the only guess compatible with the gadget.

    If heads is guessed with probability p, heads earns 1 − 2p and tails earns 2p − 1. Neither
    may exceed its price.
    """
    least, most = (1 - heads) / 2, (1 + tails) / 2
    assert least == most
    return {"heads": 1 - 2 * least, "tails": 2 * least - 1, "guess": least}


def hands(drawn: int = 2, held: int = 1) -> list[int]:
    """Return the number of possible hands of the other player at each of the dealer's turns.

    Parameters
    ----------
    drawn : int
        Cards that leave the stock between two turns of the dealer.
    held : int
        1 to count the other player's hand among the unseen cards, 0 to omit it.
    """
    found = []
    for turn in range(1, 9):
        n, stock = 9 - turn, 24 - drawn * (turn - 1)
        found.append(comb(held * n + stock, n))
    return found


def hands_compared_with_poker(drawn: int = 2, held: int = 1) -> dict[str, Any]:
    """Return the numbers of hands, and the first turn with fewer than in Texas hold'em."""
    found = hands(drawn, held)
    fewer = [turn for turn, n in enumerate(found, 1) if n < comb(52, 2)]
    return {"hands": found, "fewer from": fewer[0]}


# ---- re-solving ------------------------------------------------------------------------------


class Gadget(Game):
    """A gadget game: a subgame after a gate, or after the rival's choice of a hand.

    Parameters
    ----------
    tree : Tree
        The full game.
    odds : dict
        Weight of each root history of the subgame.
    rival : int
        The player who may leave the subgame.
    out : dict
        The rival's hand and counterfactual value at each root history.
    margin : bool
        Whether the rival chooses a hand to enter with (maxmargin) instead of passing a gate.
    """

    def __init__(
        self,
        tree: Tree,
        odds: dict[int, float],
        rival: int,
        out: dict[int, tuple[str, float]],
        margin: bool,
    ):
        self.tree, self.odds, self.rival, self.out = tree, odds, rival, out
        self.margin, self.hands = margin, defaultdict(list)
        for k in odds:
            self.hands[out[k][0]].append(k)

    def root(self) -> History:
        """Return the root."""
        return ("deal", None, 0.0)

    def step(self, h: Any, a: Any) -> History:
        """Return the history after an action: stage, history of the tree, value to subtract."""
        stage, k, less = h
        if stage == "deal" and isinstance(a, str):
            return ("hand", a, 0.0)
        if stage in ("deal", "hand"):
            return ("play", a, self.out[a][1]) if self.margin else ("gate", a, 0.0)
        if stage == "gate":
            return ("play" if a == "follow" else "out", k, 0.0)
        return (stage, self.tree.action.index(a, self.tree.first_child[k]), less)

    def node(self, h: Any) -> Node:
        """Return the node of a history."""
        stage, k, less = h
        if stage == "deal" and self.margin:
            return Decision(self.rival, "enter", tuple(self.hands))
        if stage in ("deal", "hand"):
            roots = list(self.odds) if stage == "deal" else self.hands[k]
            total = sum(self.odds[k] for k in roots)
            return Chance({k: self.odds[k] / total for k in roots})
        if stage == "gate":
            return Decision(self.rival, f"gate {self.out[k][0]}", ("follow", "out"))
        if stage == "out":
            return self._terminal(self.out[k][1])
        return self._subgame_node(k, less)

    def _terminal(self, x: float) -> Terminal:
        """Return the terminal node at which the rival earns x."""
        return Terminal((x, -x) if self.rival == 0 else (-x, x))

    def _subgame_node(self, k: int, less: float) -> Node:
        """Return a node of the subgame, with `less` subtracted from the rival's payoffs."""
        tree = self.tree
        if tree.player[k] == TERMINAL:
            return self._terminal(float(tree.utility[k, self.rival]) - less)
        if tree.player[k] == CHANCE:
            first = int(tree.first_child[k])
            children = range(first, first + int(tree.num_children[k]))
            return Chance({tree.action[c]: float(tree.probability[c]) for c in children})
        I = tree.infoset[k]
        return Decision(int(tree.player[k]), tree.infoset_label[I], tree.infoset_actions[I])


def values(tree: Tree, sigma: Floats) -> Floats:
    """Return both players' expected utilities at all histories, shape (histories, 2)."""
    u, p, parent = tree.utility.copy(), tree.probability.copy(), tree.parent
    c = np.flatnonzero(tree.player[parent] >= 0)
    c = c[c > 0]
    p[c] = sigma[tree.sequence[c, tree.player[parent[c]]]]
    for d in range(len(tree.level_start) - 2, 0, -1):
        level = slice(*tree.level_start[d : d + 2])
        np.add.at(u, parent[level], p[level, None] * u[level])
    return u


def cards_and_moves(tree: Tree, k: int) -> tuple[Any, ...]:
    """Return a history of Leduc poker: two private cards, then all public events."""
    deal, *moves = tree.history(k)
    cards: Any = deal.split(" / ") if isinstance(deal, str) else deal
    return (*cards, *moves)


def public_states(tree: Tree) -> list[list[int]]:
    """Return the histories just after Leduc's public card, grouped by public state."""
    found = defaultdict(list)
    for k in np.flatnonzero((tree.player[tree.parent] == CHANCE) & (tree.parent > 0)).tolist():
        found[cards_and_moves(tree, k)[2:]].append(k)
    return list(found.values())


def outs(
    tree: Tree, ks: list[int], weight: Floats, value: Floats, rival: int
) -> dict[int, tuple[str, float]]:
    """Return the rival's hand at each history, and the mean value of the hand."""
    total: dict[str, float] = defaultdict(float)
    earned: dict[str, float] = defaultdict(float)
    hand = {k: str(cards_and_moves(tree, k)[rival]) for k in ks}
    for k in ks:
        total[hand[k]] += weight[k]
        earned[hand[k]] += weight[k] * value[k]
    return {k: (hand[k], earned[hand[k]] / total[hand[k]]) for k in ks if weight[k]}


@cache
def resolved_exploitability(margin: bool, free: bool = False) -> float:
    """Return the exploitability of a blueprint of Leduc poker, re-solved for both players.

    Parameters
    ----------
    margin : bool
        Whether to maximize the smallest margin (maxmargin) instead of using a gate.
    free : bool
        Whether to replace the counterfactual values of all hands by 0, which is wrong.
    """
    game = LeducPoker(merge_suits=True)
    tree, form = compile(game), sequence_form(game)
    blueprint = solve(game, "cfr", 100, progress=False).strategy
    rows: dict[str, Mapping[Hashable, float]] = dict(blueprint)
    reach = form.plans(blueprint.values_by_sequence)[tree.sequence]
    for i, rival in ((0, 1), (1, 0)):
        best = best_response(game, blueprint, rival).strategy.values_by_sequence
        value, mine = values(tree, best)[:, rival], tree.chance_reach * reach[:, i]
        for ks in public_states(tree):
            out = outs(tree, ks, mine, value, rival)
            if free:
                out = {k: (hand, 0.0) for k, (hand, _) in out.items()}
            gadget = Gadget(tree, {k: float(mine[k]) for k in out}, rival, out, margin)
            new = solve(gadget, "cfr+", 1_000, progress=False).strategy
            rows |= {I: new[I] for I in new if I in blueprint and new.player(I) == i}
    return exploitability(game, Strategy(game, rows))


# ---- isomorphic cards ------------------------------------------------------------------------


def card_classes(plain_only: bool = True) -> dict[str, object]:
    """Return the class of each card: equal plain cards of a month, or all cards of a month."""
    return {
        card.name: (card.month, card.kind if card.kind == "plain" else card.name)
        if plain_only
        else card.month
        for card in DECK
    }


def deals(plain_only: bool = True, order: bool = False, both: bool = True) -> dict[str, int]:
    """Return the numbers of deals before and after merging isomorphic cards."""
    face, merged = card_classes(plain_only), set()
    total = 0
    for mine in (permutations if order else combinations)(HIDDEN, 2):
        rest = [card for card in HIDDEN if card not in mine]
        for theirs in (permutations if order else combinations)(rest, 2):
            total += 1
            hands = [tuple(sorted(str(face[card]) for card in hand)) for hand in (mine, theirs)]
            merged.add(tuple(hands) if both else tuple(sorted(hands)))
    return {"told apart": total, "merged": len(merged)}


def two_numbers(answer: Any) -> dict[str, float]:
    """Return both exploitabilities as numbers."""
    if not isinstance(answer, Mapping) or set(answer) != {"gate", "margin"}:
        raise Unreadable("its keys must be 'gate' and 'margin'")
    return {key: as_number(x) for key, x in answer.items()}


EXERCISES = (
    Exercise(
        "sub.1",
        "The coin again",
        "a dictionary with what 'heads' and 'tails' earn if played, and the 'guess' that the "
        "gate leaves, as a probability of heads",
        coin_utilities,
        (
            Mistake(
                lambda: coin_utilities() | {"guess": 1 / 2},
                "Even guesses are as good as any *in the subgame*. But then tails earns more "
                "if played than its price: the gate forbids that.",
            ),
            Mistake(
                lambda: coin_utilities() | {"guess": 3 / 4},
                "That is the probability of tails.",
            ),
            Mistake(
                lambda: {"heads": -1 / 2, "tails": 1 / 2, "guess": 1 / 4},
                "Those are the gains of the player who guesses. The gate pays the coin's "
                "owner.",
            ),
        ),
        takeaway="Two bounds meet in one guess. Without the gate, no guess was better.",
        advice="If heads is guessed with p, what does a coin showing heads earn? And tails?",
    ),
    Exercise(
        "sub.2",
        "When is it like poker?",
        "a dictionary with 'hands', eight numbers, and 'fewer from', the first turn with fewer "
        "hands than in Texas hold'em",
        hands_compared_with_poker,
        (
            Mistake(
                lambda: hands_compared_with_poker(drawn=1),
                "Between two turns of the dealer, the other player also draws.",
            ),
            Mistake(
                lambda: hands_compared_with_poker(held=0),
                "The cards that you do not see are the stock *and* the other player's hand.",
            ),
            Mistake(
                lambda: hands_compared_with_poker() | {"fewer from": 5},
                "The numbers are right. How many pairs can be made of 52 cards?",
            ),
        ),
        takeaway="Late in a round, ranges are smaller than in poker.",
        advice="Choose the other's hand among all cards that you do not see.",
    ),
    Exercise(
        "sub.3",
        "As large a margin as possible",
        "a dictionary with the exploitability of Leduc's blueprint of 100 iterations, solved "
        "again with the 'gate' and with the largest 'margin'",
        lambda: {
            "gate": resolved_exploitability(False),
            "margin": resolved_exploitability(True),
        },
        (
            Mistake(
                lambda: {
                    "gate": resolved_exploitability(True),
                    "margin": resolved_exploitability(False),
                },
                "You have gate and margin the wrong way round.",
            ),
            Mistake(
                lambda: {
                    "gate": resolved_exploitability(False),
                    "margin": resolved_exploitability(True, free=True),
                },
                "Your opponent enters with the hand that earns most. It should be the hand "
                "that earns most *beyond its out*: subtract that from every payoff.",
            ),
        ),
        see=two_numbers,
        points=3,
        takeaway="A safe solution may do better than safe.",
        advice="Only the beginning of the game and its payoffs differ from the gate's.",
    ),
    Exercise(
        "sub.4",
        "Open: four turns",
        "a dictionary with the number of deals, 'told apart' and 'merged'",
        deals,
        (
            Mistake(
                lambda: deals(plain_only=False),
                "You merged all cards of a month. A light or a ribbon is worth more than a "
                "plain card.",
            ),
            Mistake(
                lambda: deals(order=True),
                "A hand has no order: each was counted several times.",
            ),
            Mistake(
                lambda: deals(both=False),
                "It matters which player holds which hand.",
            ),
        ),
        points=2,
        takeaway="That is the gain from merging hands alone; solving four turns is open.",
        advice="Two of the sixteen for you, two of the rest for the other; the rest is "
        "the stock.",
    ),
)
