"""Exact expectations of sampling schemes, by enumerating all random paths of a traversal.

The kernels are those of cfrlib, run as plain Python. Only the three functions that sample are
replaced by an oracle, which enumerates all outcomes and knows their probabilities. The
expectations are therefore exact up to rounding errors, without statistics.
"""

import inspect
import math
from types import FunctionType, SimpleNamespace

import numpy as np
from inside import inside
from toy_games import TableGame

import cfrlib as cfr
from cfrlib import Chance, Decision, Terminal
from cfrlib.core import rng
from cfrlib.core.sequence import backup, sequence_form
from cfrlib.montecarlo import schemes, traversal, updates
from cfrlib.montecarlo.partial_tree import TreeArrays
from cfrlib.montecarlo.schemes import P
from cfrlib.montecarlo.traversal import ENTRY
from cfrlib.montecarlo.updates import AVERAGING, Lane

# ---- kernels as plain Python ---------------------------------------------------------------


def interpreted(changes=None, **others):
    """Return the kernels as plain Python functions, by name, with `others` in their globals.

    `changes`, {name: (old, new)}, replaces one piece of source code of a kernel.
    """
    space = {**vars(rng), **vars(schemes), **vars(traversal), **vars(updates)}
    kernels = {name: f.py_func for name, f in space.items() if hasattr(f, "py_func")}
    required = {"descend", "ascend", "choose", "evaluate", "apply_batch", "iterate"}
    assert required <= kernels.keys()
    for name, f in kernels.items():
        space[name] = FunctionType(f.__code__, space, name)
    for name, (old, new) in (changes or {}).items():
        source = inspect.getsource(kernels[name])
        assert source.count(old) == 1, f"the source of {name} has changed"
        decorator, source = source.replace(old, new).split("\n", 1)
        assert decorator in ("@inlined", "@inner")
        exec(source, space)
    space.update(others)
    return space


# ---- the oracle ----------------------------------------------------------------------------


class Oracle:
    """A sampler whose successive runs, started by `all_paths`, enumerate all random paths.

    Attributes
    ----------
    probability : float
        Probability of the current path.
    rounding_error : float
        Largest error of the remaining probability that kernels pass to `sample_remaining`.
    """

    def __init__(self):
        self.choices, self.rounding_error = [], 0.0

    def all_paths(self):
        """Yield the number of each path, before the path is run."""
        number = 0
        while number == 0 or self.choices:
            self.at, self.probability = 0, 1.0
            yield number
            number += 1
            while self.choices and self.choices[-1][0] + 1 == self.choices[-1][1]:
                self.choices.pop()
            if self.choices:
                self.choices[-1][0] += 1

    def pick(self, first, weights):
        """Return `first` plus the index of the next positive weight on this path."""
        likely = [(a, p) for a, p in enumerate(weights) if p > 0]
        if self.at == len(self.choices):
            self.choices.append([0, len(likely)])
        a, p = likely[self.choices[self.at][0]]
        self.at += 1
        self.probability *= p / math.fsum(weights)
        return first + a

    def sample_chance(self, state, nodes, start, stop):
        return self.pick(start, [nodes[c].probability for c in range(start, stop)])

    def sample_action(self, state, table, start, stop):
        return self.pick(start, [table[q].sigma for q in range(start, stop)])

    def sample_remaining(self, state, scratch, actions, left):
        weights = [float(p) for p in scratch[P, :actions]]
        self.rounding_error = max(self.rounding_error, abs(left - math.fsum(weights)))
        return self.pick(0, weights)

    def kernels(self, changes=None):
        """Return the kernels with their three sampling functions replaced by the oracle's."""
        samplers = ("sample_chance", "sample_action", "sample_remaining")
        return interpreted(changes, **{name: getattr(self, name) for name in samplers})


# ---- means ---------------------------------------------------------------------------------


def as_objects(records):
    """Return an object with attributes for each record."""
    names = records.dtype.names
    return [SimpleNamespace(**dict(zip(names, r.item(), strict=True))) for r in records]


class Means:
    """Exact expectations over all traversals of a sampling scheme.

    Attributes
    ----------
    regret : array, shape (sequences,)
        Expected sampled regrets, each over the traversals of its player.
    square : array, shape (sequences,)
        Expected squares of the sampled regrets.
    mass : array, shape (infosets,)
        Expected weight of an infoset's strategy in the strategy sum, over the traversals of
        its player or, under the rule "opponent", over those of the other player.
    paths : int
        Number of random paths, summed over the players.
    probability : list of float
        Sum of the probabilities of all paths, for each player.
    """

    def __init__(
        self, game, scheme, sigma, rule="opponent", baseline=None, proposal=None,
        correct=None, changes=None,
    ):  # fmt: skip
        # The rule "opponent" needs two players, and traversals do not depend on the rule.
        run = cfr.MCCFR(game, sampling=scheme, proposal=proposal, averaging="stochastic")
        self.form, game_tree, players = inside(run).form, inside(run).tree, game.num_players
        self.oracle = Oracle()
        kernels = self.oracle.kernels(changes)
        baseline = np.zeros((players, 0)) if baseline is None else baseline
        if correct is not None:  # importance weights of chance outcomes, as a function of p
            game_tree.nodes.correction[:] = correct(game_tree.nodes.probability)
        inside(run).tables.table.sigma[:] = sigma
        nodes, infosets = as_objects(game_tree.nodes), as_objects(game_tree.infosets)
        table = as_objects(inside(run).tables.table)
        walk = as_objects(np.zeros(inside(run).lanes.walk.shape[1], ENTRY))
        tree = TreeArrays(nodes, game_tree.utility, infosets, game_tree.owner)
        tables = inside(run).tables._replace(table=table, baseline=baseline)
        empty, scratch = np.zeros((1, 0, 2)), inside(run).lanes.scratch[0]
        self.regret, self.square = (
            np.zeros(len(game_tree.owner)),
            np.zeros(len(game_tree.owner)),
        )
        self.mass = np.zeros(len(infosets))
        self.paths, self.probability = 0, [0.0] * players
        owner = game_tree.infosets.player
        for i in range(players):
            counted = owner != i if rule == "opponent" else owner == i
            for _ in self.oracle.all_paths():
                sampled_regret, count = np.zeros(len(table)), np.zeros(2, np.int64)
                blank = {"mass": 0.0, "touched": 0, "is_touched": False}
                sums = [SimpleNamespace(**blank) for _ in infosets]
                lane = Lane(walk, scratch, None, sampled_regret, sums, empty, count)
                kernels["enter"](walk[0], 0, 1.0, 1.0, 1.0)
                done, n = kernels["descend"](
                    tree, table, inside(run).settings.scheme, i, lane, 0, 1
                )
                assert done == n
                kernels["ascend"](tree, tables, AVERAGING.index(rule), i, lane, n)
                p = self.oracle.probability
                mass = np.array([s.mass for s in sums])
                assert not mass[~counted].any()
                self.regret += p * sampled_regret
                self.square += p * sampled_regret**2
                self.mass += p * mass
                self.probability[i] += p
                self.paths += 1


# ---- exact values on the whole tree --------------------------------------------------------


def exact_regrets(game, sigma):
    """Return r(I, a) = v(I, a) − v(I) of all players, from the whole tree."""
    form = sequence_form(game)
    t, v, r = form.treeplexes, form.gradients(form.plans(sigma)), np.zeros(form.num_sequences)
    for i in range(game.num_players):
        backup(t, i, sigma, v)
    for I in range(len(t.infoset_start)):
        q = slice(t.infoset_start[I], t.infoset_stop[I])
        r[q] = v[q] - sigma[q] @ v[q]
    return r


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
