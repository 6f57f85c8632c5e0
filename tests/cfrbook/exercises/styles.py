"""Right programs in many styles, for the exercises that ask for an algorithm."""

from __future__ import annotations

import itertools
from collections import defaultdict
from functools import partial

import numpy as np

import cfrlib as cfr
from cfrbook.museum import DealtBackward


def shares(row):
    total = sum(row.values())
    return {a: x / total if total > 0 else 1 / len(row) for a, x in row.items()}


def plus_of(row):
    return shares({a: max(x, 0) for a, x in row.items()})


def row_of(node, sigma):
    return node.probabilities if isinstance(node, cfr.Chance) else sigma[node.infoset]


def histories(game):
    """Every history before those below it."""
    found = [()]
    for h in found:
        node = game.node(h)
        if not isinstance(node, cfr.Terminal):
            found += [(*h, a) for a in node.actions]
    return found


# ---- 1.8 -------------------------------------------------------------------------------------


def with_arrays(payoff, theirs):
    payoff, regret, played = np.array(payoff), np.zeros(len(payoff)), []
    for b in theirs:
        played.append(cfr.regret_matching(regret))
        regret += payoff[:, b] - played[-1] @ payoff[:, b]
    return np.mean(played, axis=0)


# ---- 3.7 -------------------------------------------------------------------------------------


def by_groups(game, strategy, player):
    """A recursion over what the player knows: weighted histories, never a single one."""

    def value(group):
        total, at = 0.0, defaultdict(list)
        while group:
            h, w = group.pop()
            node = game.node(h)
            if isinstance(node, cfr.Terminal):
                total += w * node.utilities[player]
            elif isinstance(node, cfr.Decision) and node.player == player:
                at[node.infoset, node.actions].append((h, w))
            else:
                group += [((*h, a), w * p) for a, p in row_of(node, strategy).items()]
        for (_, actions), members in at.items():
            total += max(value([((*h, a), w) for h, w in members]) for a in actions)
        return total

    return value([((), 1.0)])


# ---- 4.7 and 5.6: solvers with the changes of CFR+ as a switch ----------


class Spot:
    """An infoset that learns by itself."""

    def __init__(self, actions, plus):
        self.actions, self.plus = actions, plus
        self.R, self.r, self.S = ([0.0] * len(actions) for _ in range(3))
        self.row = [1 / len(actions)] * len(actions)

    def learn(self):
        self.R = [x + y for x, y in zip(self.R, self.r, strict=True)]
        if self.plus:
            self.R = [max(x, 0) for x in self.R]
        self.r = [0.0] * len(self.r)
        self.row = list(plus_of(dict(enumerate(self.R))).values())


def as_objects(game, iterations, plus=False):
    """An object for each infoset; the nodes are visited without a recursion."""
    order = histories(game)
    nodes = {h: game.node(h) for h in order}
    spots, owner = {}, {}
    for node in nodes.values():
        if isinstance(node, cfr.Decision) and node.infoset not in spots:
            spots[node.infoset], owner[node.infoset] = Spot(node.actions, plus), node.player

    def row(h):
        node = nodes[h]
        if isinstance(node, cfr.Chance):
            return list(node.probabilities.values())
        return spots[node.infoset].row

    def traverse(players, weight):
        reach, value = {(): (1.0, 1.0, 1.0)}, {}
        for h in order:
            if isinstance(nodes[h], cfr.Terminal):
                value[h] = nodes[h].utilities[0]
                continue
            who = 2 if isinstance(nodes[h], cfr.Chance) else nodes[h].player
            for a, p in zip(nodes[h].actions, row(h), strict=True):
                reach[*h, a] = tuple(x * p if j == who else x for j, x in enumerate(reach[h]))
        for h in reversed(order):
            if h not in value:
                worth = [value[*h, a] for a in nodes[h].actions]
                value[h] = sum(p * x for p, x in zip(row(h), worth, strict=True))
                if getattr(nodes[h], "player", None) in players:
                    i, spot = nodes[h].player, spots[nodes[h].infoset]
                    others, sign = reach[h][1 - i] * reach[h][2], 1 - 2 * i
                    for k, x in enumerate(worth):
                        spot.r[k] += others * sign * (x - value[h])
                        spot.S[k] += weight * reach[h][i] * spot.row[k]
        for I, spot in spots.items():
            if owner[I] in players:
                spot.learn()

    for t in range(1, iterations + 1):
        for players in ((0,), (1,)) if plus else ((0, 1),):
            traverse(players, t if plus else 1)
    return {I: [x / sum(spot.S) for x in spot.S] for I, spot in spots.items()}


def as_stream(game, iterations, plus=False):
    """Updates come from a generator; the tables are filled afterward."""

    def walk(h, i, own, others, sigma):
        node = game.node(h)
        if isinstance(node, cfr.Terminal):
            return node.utilities[i]
        if isinstance(node, cfr.Decision):
            sigma.setdefault(node.infoset, dict.fromkeys(node.actions, 1 / len(node.actions)))
        mine, u = getattr(node, "player", None) == i, {}
        for a, p in reversed(row_of(node, sigma).items()):
            step = (own * p, others) if mine else (own, others * p)
            u[a] = yield from walk((*h, a), i, *step, sigma)
        mean = sum(p * u[a] for a, p in row_of(node, sigma).items())
        if mine:
            for a, p in sigma[node.infoset].items():
                yield node.infoset, a, others * (u[a] - mean), own * p
        return mean

    R, S, sigma = {}, {}, {}
    for t in range(1, iterations + 1):
        for players in ((0,), (1,)) if plus else ((0, 1),):
            updates = [x for i in players for x in walk((), i, 1, 1, sigma)]
            for I, a, r, s in updates:
                R.setdefault(I, dict.fromkeys(sigma[I], 0.0))[a] += r
                S.setdefault(I, dict.fromkeys(sigma[I], 0.0))[a] += s * (t if plus else 1)
            for I in {I for I, *_ in updates}:
                if plus:
                    R[I] = {a: max(x, 0) for a, x in R[I].items()}
                sigma[I] = plus_of(R[I])
    return {I: shares(row) for I, row in S.items()}


def as_pairs(game, iterations, plus=False):
    """One table, whose keys are infosets with an action; Kuhn poker from the last deal on."""
    game = DealtBackward() if isinstance(game, cfr.games.KuhnPoker) else game
    found = as_stream(game, iterations, plus)
    return {(I, a): p for I, row in found.items() for a, p in row.items()}


ENGINES = (as_objects, as_pairs)

# ---- 7.6 and 8.7: walks that try k of their actions, or all ----------


def some(actions, k, choose):
    """Try k actions, as one choice among all sets of them."""
    sets = list(itertools.combinations(actions, min(k, len(actions))))
    return sets[choose([1.0] * len(sets))] if len(sets) > 1 else sets[0]


def leave_out(actions, k, choose):
    """Choose the actions that are *not* tried."""
    left = list(actions)
    while len(left) > k:
        left.pop(choose([1] * len(left)))
    return left


def pure(game, i, sigma, choose, k=99):
    """No table is changed: a walk returns its value and what it adds."""

    def walk(h, q):
        node = game.node(h)
        if isinstance(node, cfr.Terminal):
            return node.utilities[i], {}, {}
        if isinstance(node, cfr.Chance):
            return walk((*h, choose(node.probabilities)), q)
        I, row = node.infoset, sigma[node.infoset]
        if node.player != i:
            u, r, S = walk((*h, choose(row)), q)
            return u, r, {**S, I: {a: p / q for a, p in row.items()}}
        tried = some(tuple(row), k, choose)
        rho = len(tried) / len(row)
        found = {a: walk((*h, a), q * rho) for a in tried}
        u = {a: found[a][0] / rho if a in found else 0 for a in row}
        mean = sum(p * u[a] for a, p in row.items())
        r, S = {I: {a: (x - mean) / q for a, x in u.items()}}, {}
        for _, below, sums in found.values():
            r.update(below)
            S.update(sums)
        return mean, r, S

    return walk((), 1)[1:]


def with_stack(game, i, sigma, choose, k=99):
    """Down with a list, which also says what to try; then up."""
    nodes, below, values, S = [((), 1.0)], {}, {}, {}
    for h, q in nodes:
        node = game.node(h)
        if isinstance(node, cfr.Terminal):
            continue
        if isinstance(node, cfr.Decision) and node.player == i:
            below[h] = list(leave_out(node.actions, k, choose))
        elif isinstance(node, cfr.Decision):
            S[node.infoset] = [p / q for p in sigma[node.infoset].values()]
            below[h] = [choose(sigma[node.infoset])]
        else:
            below[h] = [choose(dict(node.probabilities))]
        mine = getattr(node, "player", None) == i
        rho = len(below[h]) / len(node.actions) if mine else 1
        nodes += [((*h, a), q * rho) for a in below[h]]
    r = {}
    for h, q in reversed(nodes):
        node = game.node(h)
        if isinstance(node, cfr.Terminal):
            values[h] = node.utilities[i]
        elif getattr(node, "player", None) == i:
            row, rho = sigma[node.infoset], len(below[h]) / len(node.actions)
            u = {a: values[*h, a] / rho if a in below[h] else 0.0 for a in row}
            values[h] = sum(p * u[a] for a, p in row.items())
            for a in row:
                r[node.infoset, a] = r.get((node.infoset, a), 0) + (u[a] - values[h]) / q
        else:
            values[h] = values[*h, *below[h]]
    return r, S


def with_zeros(game, i, sigma, choose, k=99):
    """Tables that have a row for every infoset, and lists in place of dictionaries."""
    r, S = pure(game, i, sigma, choose, k)
    return [
        {I: [table.get(I, {}).get(a, 0) for a in row] for I, row in sigma.items()}
        for table in (r, S)
    ]


def with_odds(game, i, sigma, choose, k=99):
    """Weights in another unit."""
    return with_stack(game, i, sigma, lambda w: choose(scaled(w)), k)


def scaled(weights):
    if isinstance(weights, dict):
        return {a: 60 * w for a, w in weights.items()}
    return [60 * w for w in weights]


WALKS = (with_zeros, with_odds)


def all_of_them(walk):
    return lambda game, i, sigma, choose: walk(game, i, sigma, choose)


# ---- 10.6 ------------------------------------------------------------------------------------


def deep(walks, iterations, best=False, together=False, form=dict):
    """Rows are kept, and a table is fitted to them by least squares."""
    rows, played, table = {0: [], 1: []}, [], {}

    def sigma(I, actions):
        row = table.get(I, [0.0] * len(actions))
        positive = [max(x, 0.0) for x in row]
        if sum(positive) > 0:
            return form(zip(actions, [x / sum(positive) for x in positive], strict=True))
        top = row.index(max(row))
        even = [float(k == top) if best else 1 / len(row) for k in range(len(row))]
        return form(zip(actions, even, strict=True))

    def fit(data):
        at = defaultdict(list)
        for t, I, row in data:
            at[I].append((t, list(row.values())))
        return {
            I: np.average([x for _, x in seen], axis=0, weights=[t for t, _ in seen]).tolist()
            for I, seen in at.items()
        }

    for t in range(1, iterations + 1):
        for i in (0, 1):
            new, strategies = walks(i, t, sigma)
            rows[i] += [(t, I, row) for I, row in new]
            played += [(t, I, row) for I, row in strategies]
            if not together:
                table.update(fit(rows[i]))
        if together:
            table.update(fit(rows[0] + rows[1]))
    return fit(played)


def row_as_array(pairs):
    return np.array([p for _, p in pairs])


def row_backward(pairs):
    return dict(reversed(list(pairs)))


STYLES = {
    "1.8": (with_arrays,),
    "3.7": (by_groups,),
    "4.7": ENGINES,
    "5.6": tuple(partial(engine, plus=True) for engine in ENGINES),
    "7.6": tuple(map(all_of_them, WALKS)),
    "8.7": WALKS,
    "10.6": tuple(partial(deep, form=form) for form in (row_as_array, row_backward)),
}
# accepted as well, with a sentence that says what is different
OTHERS = {
    "4.7": [
        (lambda game, n: cfr.CFR(game, update="alternating").run(n).average, "in turn"),
    ],
    "10.6": [
        (partial(deep, best=True), "plays the best action"),
        (partial(deep, together=True), "both networks after the walks"),
        (partial(deep, best=True, together=True), "and play the best action"),
    ],
}
