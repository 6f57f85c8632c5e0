"""Exact expectations of sampling schemes, by enumerating all random paths of a traversal.

The oracle is that of `cfrlib.certify`; here a kernel may be changed before it is run.
"""

import inspect

import numpy as np
from toy_games import TableGame

import cfrlib as cfr
from cfrlib import Chance, Decision, Terminal
from cfrlib.core import jit, rng
from cfrlib.core.sequence import sequence_form
from cfrlib.montecarlo import schemes, traversal, updates
from cfrlib.montecarlo.certify import KernelWalk, every_path, regrets_of

# ---- kernels as plain Python ---------------------------------------------------------------


def interpreted(changes=None, **others):
    """Return the kernels as plain Python functions, by name, with `others` in their globals.

    `changes`, {name: (old, new)}, replaces one piece of source code of a kernel.
    """
    modules = rng, schemes, traversal, updates
    space = jit.interpreted(*modules)
    for name, (old, new) in (changes or {}).items():
        source = inspect.getsource(
            next(vars(m)[name].py_func for m in modules if name in vars(m))
        )
        assert source.count(old) == 1, f"the source of {name} has changed"
        decorator, source = source.replace(old, new).split("\n", 1)
        assert decorator in ("@inlined", "@inner")
        exec(source, space)
    space.update(others)
    return space


# ---- means ---------------------------------------------------------------------------------


class Means:
    """Exact expectations over all traversals of a sampling scheme.

    Attributes
    ----------
    regret : array, shape (sequences,)
        Expected sampled regrets, each over the traversals of its player.
    square : array, shape (sequences,)
        Expected squares of the sampled regrets.
    total : array, shape (sequences,)
        Expected increments of the strategy sums.
    paths : int
        Number of random paths, summed over the players.
    probability : list of float
        Sum of the probabilities of all paths, for each player.
    """

    def __init__(
        self,
        game,
        scheme,
        sigma,
        rule="opponent",
        baseline=None,
        proposal=None,
        correct=None,
        changes=None,
    ):
        self.form = sequence_form(game)
        run = cfr.MCCFR(
            game,
            sampling=scheme,
            proposal=proposal,
            averaging=rule,
            baseline=None if baseline is None else 0,
        )
        if baseline is not None:
            run._tables.baseline[:] = baseline
        if correct is not None:  # importance weights of chance outcomes, as a function of p
            nodes = run._tree.nodes
            nodes.correction[:] = correct(nodes.probability)
        self.walk = KernelWalk(run, sigma, interpreted(changes))
        self.regret, self.square, self.total = np.zeros((3, self.form.num_sequences))
        self.paths, self.probability = 0, [0.0] * game.num_players
        for i in range(game.num_players):
            for p, sample in every_path(lambda choose, i=i: self.walk(i, choose)):
                self.regret += p * sample.regret
                self.square += p * sample.regret**2
                self.total += p * sample.total
                self.probability[i] += p
                self.paths += 1

    @property
    def mass(self):
        """Expected weight of an infoset's strategy in the strategy sum, shape (infosets,)."""
        t = self.form.treeplexes
        rows = zip(t.infoset_start, t.infoset_stop, strict=True)
        return np.array([self.total[start:stop].sum() for start, stop in rows])


# ---- exact values on the whole tree --------------------------------------------------------


def exact_regrets(game, sigma):
    """Return r(I, a) = v(I, a) − v(I) of all players, from the whole tree."""
    return regrets_of(sequence_form(game), sigma)


def own_reach(game, sigma):
    """Return π_i(I) for every infoset."""
    form = sequence_form(game)
    return form.plans(sigma)[form.treeplexes.infoset_parent]


def sum_by_infoset(game, values):
    """Sum `values`, shape (histories,), over the histories of each infoset."""
    tree = cfr.compile(game)
    decision = tree.infoset >= 0
    infosets, weights = tree.infoset[decision], np.array(values, float)[decision]
    return np.bincount(infosets, weights, tree.num_infosets)


def counterfactual_reach(game, sigma):
    """Return π_c(h), and π_-i(h) for the player i who acts at h, by history."""
    tree, x = cfr.compile(game), sequence_form(game).plans(sigma)
    others = tree.chance_reach.copy()
    for h in range(tree.num_histories):
        for j in range(game.num_players):
            if j != tree.player[h]:
                others[h] *= x[tree.sequence[h, j]]
    return tree.chance_reach, others


def random_strategy(game, seed, zeros=False):
    """Return a random strategy by sequence; with `zeros`, some probabilities are 0."""
    rng, form = np.random.default_rng(seed), sequence_form(game)
    sigma = form.uniform()
    for start, stop in zip(
        form.treeplexes.infoset_start, form.treeplexes.infoset_stop, strict=True
    ):
        row = rng.dirichlet(np.ones(int(stop - start)))
        if zeros:
            row *= rng.random(len(row)) < 0.6
            row[rng.integers(len(row))] += 0.25
        sigma[start:stop] = row / row.sum()
    return sigma


# ---- games ---------------------------------------------------------------------------------


def uneven():
    """Return a small game without symmetries.

    Chance acts twice, with unequal probabilities. Player 0 observes part of the first
    outcome and acts twice, first with three actions. Player 1 has an infoset of six histories.
    Payoffs are not zero-sum.
    """
    rng, nodes = np.random.default_rng(5), {}

    def end(*h):
        nodes[h] = Terminal(rng.normal(size=2).round(3))

    nodes[()] = Chance({"a": 0.5, "b": 0.3, "c": 0.2})
    for c in "abc":
        observed = "a" if c == "a" else "b or c"
        nodes[c,] = Decision(0, f"0: {observed}", ("left", "middle", "right"))
        for first in ("left", "middle", "right"):
            infoset = "1: right" if first == "right" else "1: left or middle"
            nodes[c, first] = Decision(1, infoset, ("x", "y"))
        for first in ("left", "middle"):
            end(c, first, "x")
        nodes[c, "left", "y"] = Decision(0, f"0: {observed}, left, y", ("up", "down"))
        end(c, "left", "y", "up")
        end(c, "left", "y", "down")
        nodes[c, "middle", "y"] = Decision(1, "1: y after left or middle", ("on", "off"))
        end(c, "middle", "y", "on")
        end(c, "middle", "y", "off")
        nodes[c, "right", "x"] = Chance({"rain": 0.9, "sun": 0.1})
        end(c, "right", "x", "rain")
        end(c, "right", "x", "sun")
        end(c, "right", "y")
    return TableGame(nodes, name="uneven()")
