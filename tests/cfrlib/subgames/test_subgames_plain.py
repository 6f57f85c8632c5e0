"""Subgames by enumeration: gifts, payoffs, gates and horizons, without the sequence form."""

from functools import cache

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.games import KuhnPoker, LeducPoker
from cfrlib.subgames import (
    Gadget,
    MaxMargin,
    Part,
    Subgame,
    biased,
    continual,
    depth_limited,
    history_values,
    limited,
    public_tree,
    resolve,
    trunk,
)
from cfrlib.subgames.continual import _Search
from cfrlib.subgames.gadgets import Leaves
from cfrlib.subgames.resolving import _alternatives, _subgame

KUHN, LEDUC = KuhnPoker(), LeducPoker(merge_suits=True)
PUBLIC = public_tree(LEDUC)
FLOP = PUBLIC.find("check", "bet", "raise", "call", "Q")
RANDOM = cfr.Strategy.random(LEDUC, seed=5)


class Enumerated:
    """Reach, values and a best response, history by history.

    `paid` holds what the opponent gets where the game ends early.
    """

    def __init__(self, game, strategy, opponent, paid=None):
        self.game, self.strategy, self.opponent = game, strategy, opponent
        self.paid = paid or {}
        self.tree = cfr.compile(game)
        self.members = {I: [] for I in strategy}
        self.reach = {}  # of chance and the other player
        self.own = {}
        self._visit((), 1.0, 1.0)
        self.value, self.best = cache(self._value), cache(self._best)
        self.worth = cache(self._worth)

    def _visit(self, h, reach, own):
        self.reach[h], self.own[h] = reach, own
        node = self.game.node(h)
        if isinstance(node, cfr.Chance):
            for a, p in node.probabilities.items():
                self._visit((*h, a), reach * p, own)
        elif isinstance(node, cfr.Decision):
            self.members[node.infoset].append(h)
            for a, p in self.strategy[node.infoset].items():
                mine = node.player == self.opponent
                self._visit((*h, a), reach * (1 if mine else p), own * (p if mine else 1))

    def _worth(self, I, a):
        """What an action of the opponent earns on average: by a best response from then on."""
        return self.mean(self.members[I], a)

    def mean(self, histories, *action):
        """What the opponent earns after some histories: the mean weighted by reach, or 0."""
        total = sum(self.reach[h] for h in histories) or 1.0
        return sum(self.reach[h] * self.value((*h, *action)) for h in histories) / total

    def _best(self, I):
        return max(self.strategy[I], key=lambda a: self.worth(I, a))

    def _value(self, h):
        if h in self.paid:
            return self.paid[h]
        node = self.game.node(h)
        if isinstance(node, cfr.Terminal):
            return node.utilities[self.opponent]
        if isinstance(node, cfr.Chance):
            return sum(p * self.value((*h, a)) for a, p in node.probabilities.items())
        if node.player == self.opponent:
            return self.value((*h, self.best(node.infoset)))
        row = self.strategy[node.infoset]
        return sum(p * self.value((*h, a)) for a, p in row.items())

    def gift(self, h):
        """The sum, over the opponent's moves, of the best action's worth less the one taken."""
        total = 0.0
        for n, a in enumerate(h):
            node = self.game.node(h[:n])
            if isinstance(node, cfr.Decision) and node.player == self.opponent:
                best = self.best(node.infoset)
                total += self.worth(node.infoset, best) - self.worth(node.infoset, a)
        return total


def test_a_gift_at_the_first_move():
    """The first of two players moves at the root, history 0."""
    game = cfr.games.MatrixGame([[3, -1], [0, 2], [-4, -4]])
    strategy = cfr.Strategy.random(game, seed=0)
    plain, way = Enumerated(game, strategy, 0), trunk(game, strategy, 1)
    gifts = [plain.gift(plain.tree.history(k)) for k in range(plain.tree.num_histories)]
    assert way.gifts == pytest.approx(gifts, abs=1e-12)
    assert max(gifts) > 4
    assert public_tree(game).states[0].hand_label[0] == [next(iter(strategy))]


def test_a_bias_multiplies_what_is_named():
    found = biased(RANDOM, ["fold", "call"], 3.0)
    for I, row in RANDOM.items():
        new = {a: p * 3 if a in ("fold", "call") else p for a, p in row.items()}
        assert found[I] == pytest.approx({a: p / sum(new.values()) for a, p in new.items()})
    nothing = biased(RANDOM, ["check", "bet", "fold", "call", "raise"], 0.0)
    assert nothing == RANDOM  # where nothing is left, the row stays


def test_every_method_says_which_games_it_solves():
    game, nobody = cfr.games.MatrixGame([[1, 2]], [[1, 0]]), []
    uniform = cfr.Strategy.uniform(game)
    for solve in (
        lambda: continual(game, 0),
        lambda: resolve(game, uniform, 0, nobody),
        lambda: depth_limited(game, uniform, 0, nobody),
    ):
        with pytest.raises(ValueError, match="not a zero-sum game of two players"):
            solve()


def turn(game, h):
    node = game.node(h)
    return node.player if isinstance(node, cfr.Decision) else None


@pytest.mark.parametrize("player", [0, 1])
def test_trunk_equals_enumeration(player):
    plain, way = Enumerated(LEDUC, RANDOM, 1 - player), trunk(LEDUC, RANDOM, player)
    several = 0
    for k in range(plain.tree.num_histories):
        h = plain.tree.history(k)
        found = way.weights[k], way.opponent_reach[k], way.values[k], way.gifts[k]
        expected = plain.reach[h], plain.own[h], plain.value(h), plain.gift(h)
        assert found == pytest.approx(expected, abs=1e-12), h
        moves = [n for n in range(len(h)) if turn(plain.game, h[:n]) == 1 - player]
        several += len(moves) > 1 and expected[3] > 0
    assert several > 100  # gifts at two or more infosets


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("reach", [False, True])
def test_alternatives_are_means_over_the_hand(player, reach):
    plain, way = Enumerated(LEDUC, RANDOM, 1 - player), trunk(LEDUC, RANDOM, player)
    found = _alternatives(FLOP, way, 1 - player, reach)
    for c in range(len(found)):
        hand = FLOP.histories[FLOP.hand[1 - player] == c]
        hs = [plain.tree.history(k) for k in hand]
        w = [plain.reach[h] for h in hs]
        x = [plain.value(h) + (plain.gift(h) if reach else 0) for h in hs]
        assert found[c] == pytest.approx(np.average(x, weights=w), abs=1e-12)


def played(part, sigma):
    """Return player 0's payoff in a subgame, and the number of ends, history by history."""

    def value(h):
        node = part.node(h)
        if isinstance(node, cfr.Terminal):
            assert node.utilities[0] == -node.utilities[1]
            return node.utilities[0]
        row = node.probabilities if isinstance(node, cfr.Chance) else sigma(node)
        return sum(p * value(part.step(h, a)) for a, p in row.items() if p)

    return value(part.root())


@pytest.mark.parametrize("opponent", [0, 1])
def test_the_beginnings_pay_what_they_promise(opponent):
    values = history_values(PUBLIC.tree, RANDOM.values_by_sequence)
    weights = np.random.default_rng(0).random(len(FLOP.histories))
    worth, out = values[FLOP.histories], np.array([0.5, -2.0, 1.5])

    def strategy(**gates):
        def row(node):
            if node.infoset.startswith(("gate", "enter")):
                return dict.fromkeys(node.actions, 0.0) | gates
            return RANDOM[node.infoset]

        return row

    mean = np.average(worth[:, 0], weights=weights)
    assert played(Subgame(PUBLIC, FLOP, weights), strategy()) == pytest.approx(mean)
    gadget = Gadget(PUBLIC, FLOP, weights, opponent, out)
    assert played(gadget, strategy(follow=1.0)) == pytest.approx(mean)
    stayed = np.average(out[FLOP.hand[opponent]], weights=weights)
    sign = 1 if opponent == 0 else -1
    assert played(gadget, strategy(out=1.0)) == pytest.approx(sign * stayed)
    margin = MaxMargin(PUBLIC, FLOP, weights, opponent, out)
    for c, label in enumerate(FLOP.hand_label[opponent]):
        hand = FLOP.hand[opponent] == c
        earned = np.average(worth[hand, opponent], weights=weights[hand])
        found = played(margin, lambda n, a=label: strategy(**{a: 1.0})(n))
        assert sign * found == pytest.approx(earned - out[c])


def test_nobody_comes_where_no_weight_is():
    way = trunk(LEDUC, RANDOM, 0)
    never = way._replace(weights=0 * way.weights)
    for method in ("unsafe", "gadget", "maxmargin"):
        assert _subgame(PUBLIC, FLOP, never, method, np.zeros(3), 0) is None
    part = _subgame(PUBLIC, FLOP, way, "unsafe", np.zeros(3), 0)
    both = (way.weights * way.opponent_reach)[FLOP.histories]
    assert list(part.dealt.values()) == pytest.approx(both / both.sum())
    safe = _subgame(PUBLIC, FLOP, way, "gadget", np.zeros(3), 0)
    mine = way.weights[FLOP.histories]
    assert list(safe.dealt.values()) == pytest.approx(mine / mine.sum())
    assert (safe.opponent, type(safe)) == (1, Gadget)


def test_leaves_are_paid_and_picked():
    """With two continuations, their chooser, who sees one card, picks between both."""
    public = public_tree(KUHN)
    bet = public.find("bet").histories.tolist()
    pay = {k: np.array([[n, -n], [10.0 + n, -10 - n]]) for n, k in enumerate(bet)}
    part = Subgame(
        public, public.states[0], np.ones(1), Leaves(pay, 1, {k: str(k) for k in bet})
    )
    picked = {f"continue {k}": {n % 2: 1.0, 1 - n % 2: 0.0} for n, k in enumerate(bet)}
    rows = picked | {I: {a: float(a == "bet") for a in ("check", "bet")} for I in "JQK"}
    found = played(part, lambda node: rows[node.infoset])
    assert found == pytest.approx(np.mean([0, 11, 2, 13, 4, 15]))


@pytest.mark.parametrize("player", [0, 1])
def test_a_depth_limit_pays_what_the_continuations_earn(player, monkeypatch):
    """Entry n of a leaf: the opponent plays continuation n, the player the blueprint."""
    seen = {}
    monkeypatch.setattr(limited, "own_rows", lambda part, *_: seen.update(part=part) or {})
    other, end = cfr.Strategy.random(LEDUC, seed=6), PUBLIC.find("check", "bet")
    assert depth_limited(LEDUC, RANDOM, player, [end], [other]) == RANDOM
    rows = {I: (RANDOM if RANDOM.player(I) == player else other)[I] for I in RANDOM}
    mixed = cfr.Strategy(LEDUC, rows).values_by_sequence
    leaves = seen["part"].leaves
    assert leaves.chooser == 1 - player and sorted(leaves.payoffs) == end.histories.tolist()
    first, second = (history_values(PUBLIC.tree, s) for s in (RANDOM.values_by_sequence, mixed))
    for k, pay in leaves.payoffs.items():
        np.testing.assert_allclose(pay, [first[k], second[k]])
        card = PUBLIC.tree.history(k)[0][1 - player]
        assert leaves.hand[k].startswith(card)


# ---- parts with ranges -----------------------------------------------------------------------


def averaged(game, iterations, start=None):
    """CFR+ whose iteration t counts t, by the strategies after each update."""
    run, form, total = cfr.CFR(game, "cfr+"), sequence_form(game), 0.0
    if start is not None:
        sigma = start.values_by_sequence
        run._tables = run._new_tables(sigma, form.plans(sigma))
    for t in range(1, iterations + 1):
        run.run(1, progress=False)
        total = total + t * form.plans(run.current.values_by_sequence)
    sigma = np.empty(len(total))
    behavior(form.treeplexes, total, sigma)
    return cfr.Strategy.from_vector(form, sigma)


@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=repr)
@pytest.mark.parametrize("iterations", [1, 2, 13])
def test_a_part_from_the_root_is_cfr_plus(game, iterations):
    public, one = public_tree(game), np.ones(1)
    sigma = Part(public, public.states[0]).solve((one, one), iterations).sigma
    theirs = averaged(game, iterations).values_by_sequence
    known = ~np.isnan(sigma)
    np.testing.assert_allclose(sigma[known], theirs[known], atol=1e-9)
    assert known.sum() == len(sigma) - 2


def assert_rows(game, sigma, rows):
    """Check rows against a strategy by sequence, as far as infosets are known in the game."""
    form = sequence_form(game)
    starts = dict(zip(form.tree.infoset_label, form.treeplexes.infoset_start, strict=True))
    for I, row in rows.items():
        found = sigma[int(starts[I]) : int(starts[I]) + len(row)]
        assert list(row.values()) == pytest.approx(found, abs=1e-9), I


@pytest.mark.parametrize("iterations", [1, 3, 20])
def test_ranges_deal_like_chance(iterations):
    """Positive ranges are the weights of a subgame that chance deals."""
    rng = np.random.default_rng(iterations)
    a, b = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))
    sigma = Part(PUBLIC, FLOP).solve((a, b), iterations).sigma
    reach = PUBLIC.tree.chance_reach[FLOP.histories]
    part = Subgame(PUBLIC, FLOP, reach * a[FLOP.hand[0]] * b[FLOP.hand[1]])
    rows = averaged(part, iterations)
    assert len(rows) > 10
    assert_rows(LEDUC, sigma, rows)


@pytest.mark.parametrize("opponent", [0, 1])
@pytest.mark.parametrize("iterations", [2, 3, 20])
def test_a_gate_is_a_gadget_game(opponent, iterations):
    """A hand's gate starts at 1/2; its counterfactual price is the weighted alternative."""
    mine = np.random.default_rng(1).dirichlet(np.ones(3))
    reach = PUBLIC.tree.chance_reach[FLOP.histories]
    weights = reach * mine[FLOP.hand[1 - opponent]]
    paid = np.array([-1.5, 0.3, 2.0])
    prices = FLOP.by_hand(opponent, weights) * paid
    ranges, outs = [mine, mine], [np.empty(0), np.empty(0)]
    ranges[opponent], outs[opponent] = np.full(3, 0.5), prices
    sigma = Part(PUBLIC, FLOP).solve(tuple(ranges), iterations, alternatives=tuple(outs)).sigma
    gadget = Gadget(PUBLIC, FLOP, weights, opponent, paid)
    rows = {I: row for I, row in averaged(gadget, iterations).items() if I in RANDOM}
    assert len(rows) > 10
    assert_rows(LEDUC, sigma, rows)


@pytest.mark.parametrize("iterations", [1, 2, 25])
def test_values_at_the_horizon_belong_to_the_average_strategy(iterations):
    """Values that are linear in the other's range average to those of the average range."""
    public, rng = public_tree(KUHN), np.random.default_rng(0)
    matrices, end = (rng.normal(size=(3, 3)), rng.normal(size=(3, 3))), public.find("check")
    deep = public.find("check", "bet")

    def linear(states, ranges):
        return [(matrices[0] @ b, matrices[1] @ a) for a, b in ranges]

    a, b = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))
    for stop in (end, deep):
        part = Part(public, public.states[1], [stop])
        solved = part.solve((a, b), iterations, values=linear)
        plans = [np.zeros(3), np.zeros(3)]
        tree = public.tree
        for k, *hands in zip(stop.histories.tolist(), *stop.hand, strict=True):
            cards = public.states[1].hand
            at = k
            while tree.parent[at] != 0:
                at = int(tree.parent[at])
            n = public.states[1].histories.tolist().index(at)
            for i, given in ((0, a), (1, b)):
                q, p = int(tree.sequence[k, i]), given[cards[i][n]]
                empty = q == int(tree.player_sequences[i])
                plans[i][hands[i]] = p if empty else p * solved.sigma[q]
        found = solved.ends[stop.number]
        np.testing.assert_allclose(found[0], matrices[0] @ plans[1], atol=1e-12)
        np.testing.assert_allclose(found[1], matrices[1] @ plans[0], atol=1e-12)


def by_fixed_play(tree, worth):
    """Return the value function of a fixed play, from both players' payoffs by history."""

    def values(states, ranges):
        found = []
        for end, (a, b) in zip(states, ranges, strict=True):
            reach, u = tree.chance_reach[end.histories], worth[end.histories]
            first = end.by_hand(0, reach * u[:, 0] * b[end.hand[1]])
            found.append((first, end.by_hand(1, reach * u[:, 1] * a[end.hand[0]])))
        return found

    return values


@pytest.mark.parametrize("label", [("check",), ("bet",), ("check", "bet")])
def test_values_at_the_horizon_are_what_leaves_pay(label):
    """A fixed play below the horizon: as a value function, and as payoffs of a smaller game."""
    public, fixed = public_tree(KUHN), cfr.Strategy.random(KUHN, seed=1)
    end, root = public.find(*label), public.states[0]
    worth = history_values(public.tree, fixed.values_by_sequence)
    values = by_fixed_play(public.tree, worth)
    pay = {k: worth[k][None] for k in end.histories.tolist()}
    game = Subgame(public, root, np.ones(1), Leaves(pay, 1, dict.fromkeys(pay, "any")))
    one = np.ones(1)
    solved = Part(public, root, [end]).solve((one, one), 9, values=values)
    assert_rows(KUHN, solved.sigma, averaged(game, 9))


# ---- continual re-solving --------------------------------------------------------------------


BONUS = 1e-3


@pytest.fixture
def untied(monkeypatch):
    """Pay every hand a little more for staying out.

    If the opponent folded last time, staying out pays the same as following and folding, and
    rounding would decide which of the two has a positive regret.
    """
    solve = _Search.solve

    def paid(search, state, out):
        if len(out):
            reach = search.public.tree.chance_reach[state.histories]
            own = search._ranges(state)[search.player][state.hand[search.player]]
            out = out + BONUS * state.by_hand(1 - search.player, reach * own)
        return solve(search, state, out)

    monkeypatch.setattr(_Search, "solve", paid)


class Continual:
    """Continual re-solving with gadget games, history by history.

    An alternative value is what a hand of the opponent expects, not weighted by any reach.
    `worth` holds both players' payoffs at every history if a fixed strategy is played from
    there on; it ends a solve at the public states of the horizon.
    """

    def __init__(self, game, player, safe, iterations, horizon=(), worth=None):
        self.game, self.public = game, public_tree(game)
        self.player, self.other = player, 1 - player
        self.safe, self.iterations, self.worth = safe, iterations, worth
        self.horizon = {state.number for state in horizon}
        self.rows = dict(cfr.Strategy.uniform(game))
        self.visit(0, None, {})

    def visit(self, n, out, paid):
        state = self.public.states[n]
        if n == 0 or state.player == self.player:
            paid = self.solve(state, out)
        plain = Enumerated(self.game, self.rows, self.other, paid)
        for c in self.public.children[n]:
            child, below = self.public.states[c], {}
            for k, hand in zip(child.histories.tolist(), child.hand[self.other], strict=True):
                below.setdefault(int(hand), []).append(self.public.tree.history(k))
            if state.player == self.other:
                of = dict(zip(state.histories.tolist(), state.hand[self.other], strict=True))
                parents = [self.public.tree.find(hs[0][:-1]) for _, hs in sorted(below.items())]
                values = [out[of[k]] for k in parents]
            else:
                values = [plain.mean(hs) for _, hs in sorted(below.items())]
            self.visit(c, values, paid)

    def solve(self, state, out):
        """Replace the rows from a state to the end or the horizon; return payoffs there."""
        ahead, ends = [state.number], []
        for n in ahead:
            for c in self.public.children[n]:
                (ends if c in self.horizon else ahead).append(c)
        stops = [int(k) for n in ends for k in self.public.states[n].histories]
        pay = {k: self.worth[k][None] for k in stops}
        leaves = Leaves(pay, 0, dict.fromkeys(pay, "any"))
        plain = Enumerated(self.game, self.rows, self.other)
        hs = [self.public.tree.history(k) for k in state.histories]
        mine, theirs = (np.array([r[h] for h in hs]) for r in (plain.reach, plain.own))
        new = {}
        if self.safe and out is not None and mine.any():
            part = Gadget(self.public, state, mine, self.other, np.add(out, BONUS), leaves)
            start = cfr.Strategy.uniform(part)
            follow = {I: {"follow": 1.0, "out": 0.0} for I in start if I.startswith("gate")}
            new = averaged(part, self.iterations, start.replace(follow))
        elif (mine * theirs).any():
            part = Subgame(self.public, state, mine * theirs, leaves)
            new = averaged(part, self.iterations)
        tree = self.public.tree
        for k in np.flatnonzero(np.isin(self.public.state_of, ahead) & (tree.infoset >= 0)):
            I = tree.infoset_label[tree.infoset[k]]
            actions = tree.infoset_actions[tree.infoset[k]]
            self.rows[I] = new.get(I, dict.fromkeys(actions, 1 / len(actions)))
        return {tree.history(k): self.worth[k][self.other] for k in stops}


def assert_same(found, *arguments):
    plain = Continual(*arguments)
    for I, row in plain.rows.items():
        if found.player(I) == plain.player:
            assert list(found[I].values()) == pytest.approx(list(row.values()), abs=1e-8), I


CASES = [(KUHN, 1), (KUHN, 4), (KUHN, 25), pytest.param(LEDUC, 3, marks=pytest.mark.slow)]


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize(("game", "iterations"), CASES)
@pytest.mark.usefixtures("untied")
def test_continual_resolving_plays_gadget_games(game, iterations, safe, player):
    found = continual(game, player, safe=safe, iterations=iterations)
    assert_same(found, game, player, safe, iterations)


@pytest.mark.usefixtures("untied")
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    ("game", "labels"),
    [
        (KUHN, [("check",), ("bet",)]),
        (KUHN, [("check", "bet")]),
        pytest.param(LEDUC, "flops", marks=pytest.mark.slow),
    ],
)
def test_continual_resolving_takes_alternatives_from_the_horizon(game, labels, player):
    public, tree = public_tree(game), public_tree(game).tree
    worth = history_values(tree, cfr.Strategy.random(game, seed=2).values_by_sequence)
    if labels == "flops":
        ends = [s for s in public.states if s.actions[-1:] in (("J",), ("Q",), ("K",))]
    else:
        ends = [public.find(*label) for label in labels]

    values = by_fixed_play(tree, worth)
    found = continual(game, player, iterations=4, horizon=ends, values=values)
    assert_same(found, game, player, True, 4, ends, worth)
