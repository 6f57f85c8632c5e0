"""Online outcome sampling in plain Python: one more recursion like those of `cfrlib.plain`."""

from __future__ import annotations

from collections.abc import Mapping

from cfrlib.game import Action, Chance, Game, History, Terminal
from cfrlib.plain import Row, SamplingSolver


class OnlineOutcomeSampling(SamplingSolver):
    """Online outcome sampling (OOS): outcome sampling targeted at an infoset (chapter 9).

    With probability delta a walk is *targeted*: it samples only actions that can still lead to
    the infoset where a player has to act now. Every walk is weighted by q, the probability that
    a walk of either kind comes to its history. Lisý, Lanctot & Bowling (2015), *Online Monte
    Carlo counterfactual regret minimization for search in imperfect information games*.

    Parameters
    ----------
    game, seed
        See `SamplingSolver`.
    target : str
        Label of the infoset; by default walks are targeted at no infoset.
    epsilon : float
        Share of uniform sampling at the traverser's infosets.
    delta : float
        Share of targeted walks, less than 1.

    Attributes
    ----------
    aim : set of histories
        Histories that lead to the target, are in it, or come after it.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> solver = OnlineOutcomeSampling(cfr.games.KuhnPoker(), seed=0, target="Q check-bet")
    >>> len(solver.aim), round(solver.run(10_000)["Q check-bet"]["call"], 3)
    (11, 0.614)
    """

    def __init__(
        self,
        game: Game,
        seed: int = 0,
        target: str = "",
        epsilon: float = 0.4,
        delta: float = 0.5,
    ):
        super().__init__(game, seed)
        self.target, self.epsilon, self.delta = target, epsilon, delta
        self.aim = self.leads(())
        if not self.aim:
            raise ValueError(f"{target!r} is no infoset of {game!r}")

    def leads(self, h: History, past: bool = False) -> set[History]:
        """Return the histories from h on that lead to the target, or are in it or past it."""
        node = self.node(h)
        past = past or not self.target or getattr(node, "infoset", None) == self.target
        found = {h} if past else set()
        if not isinstance(node, Terminal):
            found = found.union(*(self.leads((*h, a), past) for a in node.actions))
        return found | {h} if found else found

    def toward(self, h: History, p: Mapping[Action, float]) -> Row:
        """Return sampling probabilities of the actions at h that can lead to the target."""
        ways = {a: float((*h, a) in self.aim) for a in p}
        left = {a: p[a] * way for a, way in ways.items()}
        total = sum(left.values())
        return {a: x / total for a, x in left.items()} if total > 0 else ways

    def iterate(self) -> None:
        """Sample a traversal for each player, each of them targeted or not."""
        for i in (0, 1):
            self.walk((), i)

    def walk(
        self,
        h: History,
        i: int,
        others: float = 1,
        s1: float = 1,
        s2: float = 1,
        targeted: bool = False,
    ) -> float:
        """Return an estimate of player i's utility at h; add i's regrets, the other's strategy.

        A targeted walk comes to h with probability s1, an ordinary one with s2. `others` is the
        reach of the opponent and chance.
        """
        node = self.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        if not h:
            targeted = bool(self.draw({False: 1 - self.delta, True: self.delta}))
        if isinstance(node, Chance):
            I, own, row = "", False, node.probabilities
        else:
            I, own, row = node.infoset, node.player == i, self.match(node.infoset)
        p2 = row
        if own:
            p2 = {a: self.epsilon / len(row) + (1 - self.epsilon) * x for a, x in row.items()}
        p1 = self.toward(h, p2)
        a = self.draw(p1 if targeted else p2)
        t1, t2 = s1 * p1[a], s2 * p2[a]
        q = self.delta * s1 + (1 - self.delta) * s2
        after = self.delta * t1 + (1 - self.delta) * t2
        reach = others if own else others * row[a]
        u = self.walk((*h, a), i, reach, t1, t2, targeted) * q / after
        mean = row[a] * u
        for b, p in row.items():
            if own:
                self.R[I, b] += (u * (b == a) - mean) * others / q
            elif I:
                self.S[I, b] += p * others / q
        return mean
