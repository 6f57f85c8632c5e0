"""Counterfactual regret minimization in plain Python: CFR, CFR+, DCFR, MCCFR, OOS.

Each solver is one recursion over the histories of a game, with the names of the paper. They are
the programs of chapters 4 to 9 with one table format in common. `cfrbook.museum` lists what
happens if one of their lines is wrong; so every line here does one thing. None of them is fast:
use `cfrlib.solve`.

======================== ====================================================================
`Vanilla`                CFR (Zinkevich et al., 2007), simultaneous updates
`Family`                 CFR, CFR+, linear, discounted and predictive CFR, alternating updates
`ExternalSamplingSolver` external sampling MCCFR (Lanctot et al., 2009)
`OutcomeSamplingSolver`  outcome sampling MCCFR (Lanctot et al., 2009)
`RobustSamplingSolver`   robust sampling MCCFR (Li et al., 2020)
`OnlineOutcomeSampling`  OOS (Lisý, Lanctot & Bowling, 2015): in `cfrlib.online.plain`
======================== ====================================================================
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from math import inf
from random import Random

from cfrlib.core.tree import compile
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal

Row = dict[Action, float]  # a number for each action of an infoset


class Plain:
    """Tables, regret matching and the average strategy, as all solvers need them.

    Parameters
    ----------
    game : Game
        A game that `cfrlib.compile` accepts.

    Attributes
    ----------
    R, S : dict from (infoset, action) to float
        Cumulative regrets and strategy sums.
    sigma : dict from infoset to Row
        The current strategy of solvers that visit the whole tree; uniform at first.
    actions : dict from infoset to tuple of actions
        All infosets of the game.
    owner : dict from infoset to int
        The player who moves there.
    """

    def __init__(self, game: Game):
        tree = compile(game)
        labels = tree.infoset_label
        self.game, self.node = game, cache(game.node)
        self.actions = dict(zip(labels, tree.infoset_actions, strict=True))
        self.owner = dict(zip(labels, map(int, tree.infoset_player), strict=True))
        self.R: dict[tuple[str, Action], float] = defaultdict(float)
        self.S: dict[tuple[str, Action], float] = defaultdict(float)
        self.sigma = {I: self.match(I) for I in self.actions}

    def match(self, I: str) -> Row:
        """Return the strategy in proportion to the positive regrets at an infoset."""
        return shares({a: max(self.R[I, a], 0) for a in self.actions[I]})

    def average(self) -> dict[str, Row]:
        """Return the average strategy by infoset."""
        return {I: shares({a: self.S[I, a] for a in A}) for I, A in self.actions.items()}

    def iterate(self) -> None:
        """Run one iteration, which updates every player once."""
        raise NotImplementedError

    def run(self, iterations: int) -> dict[str, Row]:
        """Run so many more iterations and return the average strategy."""
        for _ in range(iterations):
            self.iterate()
        return self.average()


def shares(weights: Row) -> Row:
    """Return weights divided by their sum, or a uniform row if the sum is 0.

    Examples
    --------
    >>> shares({"fold": 1, "call": 3}), shares({"fold": 0, "call": 0})
    ({'fold': 0.25, 'call': 0.75}, {'fold': 0.5, 'call': 0.5})
    """
    total = sum(weights.values())
    return {a: x / total if total > 0 else 1 / len(weights) for a, x in weights.items()}


class Vanilla(Plain):
    """Vanilla CFR for two-player zero-sum games, one traversal for both players (chapter 4).

    Zinkevich, Johanson, Bowling & Piccione (2007), *Regret minimization in games with
    incomplete information*.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker()
    >>> round(cfr.exploitability(kuhn, Vanilla(kuhn).run(100)), 5)
    0.02567
    """

    def iterate(self) -> None:
        """Traverse the tree once, then match regrets at every infoset."""
        self.walk((), 1, 1, 1)
        self.sigma = {I: self.match(I) for I in self.actions}

    def walk(self, h: History, pi0: float, pi1: float, pic: float) -> float:
        """Return player 0's expected utility at h; add regrets and strategies on the way."""
        node = self.node(h)
        if isinstance(node, Terminal):
            return node.utilities[0]
        if isinstance(node, Chance):
            outcomes = node.probabilities.items()
            return sum(f * self.walk((*h, a), pi0, pi1, pic * f) for a, f in outcomes)
        I, first = node.infoset, node.player == 0
        row = self.sigma[I]
        sign, own, others = (1, pi0, pi1 * pic) if first else (-1, pi1, pi0 * pic)
        u = {}
        for a, p in row.items():
            reach = (pi0 * p, pi1, pic) if first else (pi0, pi1 * p, pic)
            u[a] = sign * self.walk((*h, a), *reach)
        mean = sum(p * u[a] for a, p in row.items())
        for a, p in row.items():
            self.R[I, a] += others * (u[a] - mean)
            self.S[I, a] += own * p
        return sign * mean


class Family(Plain):
    """CFR+, discounted and predictive CFR with alternating updates (chapters 5 and 6).

    Tammelin (2014), *Solving large imperfect information games using CFR+*; Brown & Sandholm
    (2019), *Solving imperfect-information games via discounted regret minimization*; Farina,
    Kroer & Sandholm (2021), *Faster game solving via predictive Blackwell approachability*.

    Parameters
    ----------
    game : Game
        A game that `cfrlib.compile` accepts, for any number of players.
    alpha, beta, gamma, prediction : float
        The exponents of `cfrlib.Variant`, and the weight of the latest regret when it predicts
        the next one. By default, vanilla CFR.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from math import inf
    >>> kuhn = cfr.games.KuhnPoker()
    >>> plus = Family(kuhn, inf, -inf, 1)  # CFR+
    >>> mine, ours = plus.run(20), cfr.solve(kuhn, "cfr+", 20).strategy
    >>> ours.max_difference(mine) < 1e-12
    True
    """

    def __init__(
        self,
        game: Game,
        alpha: float = inf,
        beta: float = inf,
        gamma: float = 0.0,
        prediction: float = 0.0,
    ):
        self.alpha, self.beta, self.gamma, self.prediction = alpha, beta, gamma, prediction
        self.t = 0
        self.own: dict[str, float] = {}  # a player's own reach of their infosets
        self.r: dict[tuple[str, Action], float] = defaultdict(float)  # of this iteration
        super().__init__(game)

    def iterate(self) -> None:
        """Traverse the tree for each player in turn, and update the player's infosets."""
        self.t += 1
        self.seen = self.sigma
        for i in range(self.game.num_players):
            self.r.clear()
            self.walk((), i, 1, 1)
            self.update(i)

    def walk(self, h: History, i: int, own: float, others: float) -> float:
        """Return player i's expected utility at h; add i's regrets of this iteration to r."""
        node = self.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        row = node.probabilities if isinstance(node, Chance) else self.seen[node.infoset]
        if isinstance(node, Chance) or node.player != i:
            return sum(p * self.walk((*h, a), i, own, p * others) for a, p in row.items())
        I, u = node.infoset, {}
        self.own[I] = own
        for a, p in row.items():
            u[a] = self.walk((*h, a), i, p * own, others)
        mean = sum(p * u[a] for a, p in row.items())
        for a in row:
            self.r[I, a] += others * (u[a] - mean)
        return mean

    def update(self, i: int) -> None:
        """Store player i's regrets, add to i's strategy sums, and match i's regrets."""
        for (I, a), x in self.r.items():
            self.store(I, a, x)
        weight = self.t**self.gamma
        for I in (I for I, player in self.owner.items() if player == i):
            new = self.match(I)
            for a, p in self.sigma[I].items():
                self.S[I, a] += weight * self.own[I] * p
            self.sigma[I] = new

    def store(self, I: str, a: Action, x: float) -> None:
        """Add a regret to the cumulative one and discount the sum."""
        total = self.R[I, a] + x
        self.R[I, a] = total * self.factor(self.alpha if total > 0 else self.beta)

    def factor(self, exponent: float) -> float:
        """Return t^e / (t^e + 1), with its limits for infinite e."""
        if abs(exponent) == inf:
            return float(exponent > 0)
        return float(self.t**exponent / (self.t**exponent + 1))

    def match(self, I: str) -> Row:
        """Return the next strategy, from the regrets plus the predicted ones."""
        guess = {a: self.R[I, a] + self.prediction * self.r[I, a] for a in self.actions[I]}
        return shares({a: max(x, 0) for a, x in guess.items()})


class SamplingSolver(Plain):
    """What Monte Carlo CFR solvers share (chapters 7 to 9): one sampled traversal per player.

    Parameters
    ----------
    game : Game
        A two-player game that `cfrlib.compile` accepts.
    seed : int
        Seed of the samples.
    """

    def __init__(self, game: Game, seed: int = 0):
        super().__init__(game)
        self.rng = Random(seed)

    def draw(self, row: Mapping[Action, float]) -> Action:
        """Return a random action, sampled in proportion to its weight."""
        return self.rng.choices(list(row), list(row.values()))[0]

    def iterate(self) -> None:
        """Sample a traversal for each player."""
        for i in (0, 1):
            self.walk((), i)

    def walk(self, h: History, i: int) -> float:
        """Return an estimate of player i's utility at h."""
        raise NotImplementedError

    def collect(self, node: Decision, row: Row, q: float = 1) -> None:
        """Add the opponent's strategy to the strategy sums."""
        for a, p in row.items():
            self.S[node.infoset, a] += p / q


class ExternalSamplingSolver(SamplingSolver):
    """External sampling MCCFR: try all actions of one's own, sample the others' (chapter 7).

    Lanctot, Waugh, Zinkevich & Bowling (2009), *Monte Carlo sampling for regret minimization in
    extensive games*.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker()
    >>> round(cfr.exploitability(kuhn, ExternalSamplingSolver(kuhn, seed=0).run(2_000)), 3)
    0.011
    """

    def walk(self, h: History, i: int) -> float:
        """Return an estimate of player i's utility at h; add i's sampled regrets."""
        node = self.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        if isinstance(node, Chance):
            card = self.draw(node.probabilities)
            return self.walk((*h, card), i)
        row, theirs = self.match(node.infoset), node.player != i
        if theirs:  # the average
            self.collect(node, row)
        if theirs:  # the sample
            a = self.draw(row)
            return self.walk((*h, a), i)
        u = {a: self.walk((*h, a), i) for a in row}
        mean = sum(p * u[a] for a, p in row.items())
        for a in row:
            self.R[node.infoset, a] += u[a] - mean
        return mean


class OutcomeSamplingSolver(SamplingSolver):
    """Outcome sampling MCCFR: one trajectory at a time, with exploration (chapter 7).

    Lanctot, Waugh, Zinkevich & Bowling (2009), as external sampling.

    Parameters
    ----------
    game, seed
        See `SamplingSolver`.
    epsilon : float
        Share of uniform sampling at the traverser's infosets.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker()
    >>> round(cfr.exploitability(kuhn, OutcomeSamplingSolver(kuhn, seed=0).run(10_000)), 3)
    0.017
    """

    def __init__(self, game: Game, seed: int = 0, epsilon: float = 0.6):
        super().__init__(game, seed)
        self.epsilon = epsilon

    def walk(self, h: History, i: int, q: float = 1) -> float:
        """Return an estimate of player i's utility at h, which i sampled with probability q."""
        node = self.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        if isinstance(node, Chance):
            return self.walk((*h, self.draw(node.probabilities)), i, q)
        row = self.match(node.infoset)
        even = self.epsilon / len(row)
        p = {a: even + (1 - self.epsilon) * x for a, x in row.items()}
        if node.player != i:
            self.collect(node, row, q)
            return self.walk((*h, self.draw(row)), i, q)
        drawn, u = self.draw(p), dict.fromkeys(row, 0.0)
        u[drawn] = self.walk((*h, drawn), i, q * p[drawn]) / p[drawn]
        mean = sum(x * u[a] for a, x in row.items())
        for a in row:
            self.R[node.infoset, a] += (u[a] - mean) / q
        return mean


class RobustSamplingSolver(SamplingSolver):
    """Robust sampling MCCFR: try k actions of one's own, sampled evenly (chapter 8).

    With k = 1 it samples outcomes, with as many as there are actions, it is external sampling.
    Li, Hu, Zhang, Xie, Qi & Zhang (2020), *Double neural counterfactual regret minimization*.

    Parameters
    ----------
    game, seed
        See `SamplingSolver`.
    k : int
        Number of actions to try; all, where there are fewer.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker()
    >>> solver = RobustSamplingSolver(kuhn, seed=0, k=1)
    >>> round(cfr.exploitability(kuhn, solver.run(10_000)), 3)
    0.019
    """

    def __init__(self, game: Game, seed: int = 0, k: int = 2):
        super().__init__(game, seed)
        self.k = k

    def some(self, actions: Iterable[Action]) -> list[Action]:
        """Return k different actions, each set of k with the same probability."""
        left = dict.fromkeys(actions, 1.0)
        tried: list[Action] = []
        while left and len(tried) < self.k:
            tried.append(self.draw(left))
            del left[tried[-1]]
        return tried

    def walk(self, h: History, i: int, q: float = 1) -> float:
        """Return an estimate of player i's utility at h, which i sampled with probability q."""
        node = self.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        if isinstance(node, Chance):
            return self.walk((*h, self.draw(node.probabilities)), i, q)
        row = self.match(node.infoset)
        if node.player != i:
            self.collect(node, row, q)
            return self.walk((*h, self.draw(row)), i, q)
        tried, u = self.some(row), dict.fromkeys(row, 0.0)
        share = len(tried) / len(row)
        for a in tried:
            u[a] = self.walk((*h, a), i, q * share) / share
        mean = sum(p * u[a] for a, p in row.items())
        for a in row:
            self.R[node.infoset, a] += (u[a] - mean) / q
        return mean


SOLVERS: dict[str, type[Plain]] = {
    "Vanilla": Vanilla,
    "Family": Family,
    "External": ExternalSamplingSolver,
    "Outcome": OutcomeSamplingSolver,
    "Robust": RobustSamplingSolver,
}
