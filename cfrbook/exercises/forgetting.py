"""Kuhn poker with imperfect recall: CFR with merged infosets, and the best guarantee.

The package rejects games with imperfect recall, since CFR's regret bound does not cover them.
The fifth project of the appendix measures CFR on them, so here plain CFR gets other labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from cfrbook.exercises.grading import Unreadable, shortened
from cfrlib import games
from cfrlib.core.tree import compile
from cfrlib.evaluate import best_response, expected_utility
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.plain import Vanilla
from cfrlib.strategy import Strategy

Rows = Mapping[str, Mapping[Any, float]]

STEPS = 60  # of the grid search for the best guarantee


class Weather(Game):
    """Kuhn poker in which rain multiplies all payoffs; only player 0 sees the weather.

    Parameters
    ----------
    factor : float
        The factor of the payoffs in rain.
    """

    def __init__(self, factor: float = 2.0):
        self.factor, self.kuhn = factor, games.KuhnPoker()

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        if not h:
            return Chance({"sun": 0.5, "rain": 0.5})
        node = self.kuhn.node(h[1:])
        if isinstance(node, Terminal) and h[0] == "rain":
            return Terminal(tuple(self.factor * u for u in node.utilities))
        if isinstance(node, Decision) and node.player == 0:
            return Decision(0, f"{h[0]} {node.infoset}", node.actions)
        return node


FORGET_WEATHER = {
    f"{weather} {card} check-bet": f"{card} check-bet"
    for weather in ("sun", "rain")
    for card in "JQK"
}


class Outcome(NamedTuple):
    """Result of CFR with merged infosets.

    Attributes
    ----------
    rows : dict
        Average strategy on the infosets of the original game.
    hindsight : float
        Utility of player 0's best pure strategy of the abstraction against the average.
    regret : float
        `hindsight` minus the mean utility of the iterations.
    immediate : float
        Sum of the positive counterfactual regrets of player 0's infosets, per iteration.
    reached : float
        Utility of player 0's average strategy against a best response.
    """

    rows: dict[str, dict[Any, float]]
    hindsight: float
    regret: float
    immediate: float
    reached: float


class Merged(Vanilla):
    """Vanilla CFR with merged infosets.

    Parameters
    ----------
    game : Game
    merge : mapping from label to label
        New labels; infosets with the same label are merged, others keep their label.
    """

    def __init__(self, game: Game, merge: Mapping[str, str]):
        super().__init__(game)
        self.merge, self.total_utility = merge, 0.0
        self.node = cache(self.merged)
        self.actions = {merge.get(I, I): A for I, A in self.actions.items()}
        self.owner = {merge.get(I, I): player for I, player in self.owner.items()}
        self.sigma = {I: self.match(I) for I in self.actions}

    def merged(self, h: History) -> Node:
        """Return the node of a history, with its new label."""
        node: Node = self.game.node(h)
        if not isinstance(node, Decision):
            return node
        return Decision(node.player, self.merge.get(node.infoset, node.infoset), node.actions)

    def iterate(self) -> None:
        """Run one iteration, and add up player 0's utility."""
        self.total_utility += self.walk((), 1, 1, 1)
        self.sigma = {I: self.match(I) for I in self.actions}

    def outcome(self, iterations: int) -> Outcome:
        """Run some iterations and return the outcome."""
        average = self.run(iterations)
        rows = {I: average[self.merge.get(I, I)] for I in Strategy.uniform(self.game)}
        positive = [
            max(*(self.R[I, a] for a in A), 0.0)
            for I, A in self.actions.items()
            if self.owner[I] == 0
        ]
        best = best_in_hindsight(self.game, self.merge, rows)
        return Outcome(
            rows,
            best,
            best - self.total_utility / iterations,
            sum(positive) / iterations,
            0.0 - best_response(self.game, rows, 1).value,
        )


def best_in_hindsight(game: Game, merge: Mapping[str, str], rows: Rows) -> float:
    """Return the utility of player 0's best pure strategy of the abstraction against `rows`."""
    uniform = Strategy.uniform(game)
    mine: dict[str, list[str]] = {}
    for I in uniform:
        if uniform.player(I) == 0:
            mine.setdefault(merge.get(I, I), []).append(I)
    best = -np.inf
    for choice in product(*(list(uniform[group[0]]) for group in mine.values())):
        pure = {
            I: {a: 1.0} for group, a in zip(mine.values(), choice, strict=True) for I in group
        }
        best = max(best, float(expected_utility(game, {**rows, **pure})[0]))
    return float(best)


def merged_groups(merge: Mapping[str, str]) -> dict[str, list[int]]:
    """Return player 0's infosets of Kuhn poker by new label; check the merge."""
    tree = compile(games.KuhnPoker())
    labels = tree.infoset_label[: tree.player_infosets[1]]
    unknown = set(merge) - set(labels)
    if unknown:
        raise Unreadable(
            f"'merge' renames {sorted(unknown)}; the infosets of player 0 in cfr.games."
            f"KuhnPoker() are {labels}"
        )
    groups: dict[str, list[int]] = {}
    for I, label in enumerate(labels):
        groups.setdefault(str(merge.get(label, label)), []).append(I)
    for name, group in groups.items():
        if len({tree.infoset_actions[I] for I in group}) > 1:
            raise Unreadable(f"{shortened(name)} joins infosets with different actions")
    return groups


def forgetful(merge: Mapping[str, str]) -> list[list[int]]:
    """Return the groups of merged infosets with different merged_groups of player 0."""
    tree = compile(games.KuhnPoker())
    label = {I: name for name, group in merged_groups(merge).items() for I in group}

    def past(I: int) -> str:
        k = int(tree.infoset_parent[I]) - 1  # two actions at every infoset
        return f"{label[k // 2]} {k % 2}" if k >= 0 else ""

    return [
        group for group in merged_groups(merge).values() if len({past(I) for I in group}) > 1
    ]


def best_guarantee(merge: Mapping[str, str]) -> float:
    """Return player 0's maximin value with merged infosets of Kuhn poker.

    At infosets with imperfect recall, the probability of the second action is searched on a
    grid; for each value, a linear program solves the rest.
    """
    forgets = forgetful(merge)
    mixes = np.linspace(0, 1, STEPS + 1) if forgets else [0.0]
    alike = [group for group in merged_groups(merge).values() if group not in forgets]
    return max(guarantee(alike, forgets, float(mix)) for mix in mixes)


def guarantee(alike: list[list[int]], forgets: list[list[int]], mix: float) -> float:
    """Return the maximin value for a fixed probability at the infosets that forget."""
    from scipy.optimize import linprog

    tree = compile(games.KuhnPoker())
    n, m = int(tree.player_sequences[1]), tree.num_infosets - int(tree.player_infosets[1])
    replies, flow = np.zeros((2 * m, n + m)), [np.eye(n + m)[0]]
    for k in np.flatnonzero(tree.num_children == 0):
        mine, theirs = (int(q) for q in tree.sequence[k])
        replies[theirs - n - 1, mine] -= tree.chance_reach[k] * tree.utility[k, 0]
    for row in range(2 * m):  # the value at an infoset is at most that of each reply
        replies[row, n + row // 2] = 1.0
    for I in range(int(tree.player_infosets[1])):
        start, parent = int(tree.infoset_start[I]), int(tree.infoset_parent[I])
        flow.append(np.eye(n + m)[start] + np.eye(n + m)[start + 1] - np.eye(n + m)[parent])
        if any(I in group for group in forgets):
            flow.append(np.eye(n + m)[start + 1] - mix * np.eye(n + m)[parent])
    for group in alike:
        a, *others = (int(tree.infoset_start[I]) for I in group)
        flow += [np.eye(n + m)[a + k] - np.eye(n + m)[b + k] for b in others for k in (0, 1)]
    found = linprog(
        np.r_[np.zeros(n), -np.ones(m)],
        A_ub=replies, b_ub=np.zeros(2 * m),
        A_eq=np.array(flow), b_eq=np.r_[1.0, np.zeros(len(flow) - 1)],
        bounds=[(0, None)] * n + [(None, None)] * m,
    )  # fmt: skip
    if found.fun is None:  # infeasible
        return -np.inf
    return -float(found.fun)
