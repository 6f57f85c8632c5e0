"""Online outcome sampling: unbiased, targeted, the same compiled or on demand."""

import math
from functools import reduce

import numpy as np
import pytest
from toy_games import TableGame, random_game

import cfrlib as cfr
from cfrlib import Chance, Decision, Terminal
from cfrlib.core import jit, rng
from cfrlib.core.sequence import sequence_form
from cfrlib.games import KuhnPoker, LeducPoker, LiarsDice
from cfrlib.montecarlo import schemes, traversal, updates
from cfrlib.montecarlo.certify import every_path, regrets_of
from cfrlib.online import targeting
from cfrlib.online.targeting import IN, OUT, TOWARD, UNKNOWN, P
from cfrlib.regret import discount

KUHN = KuhnPoker()

# ---- kernels in plain Python, with an oracle in place of random numbers ----------------------


def plain_kernels(choose):
    """Return the kernels as Python functions that sample by `choose`."""
    names = jit.interpreted(rng, schemes, traversal, updates, targeting)

    def sample_chance(state, nodes, start, stop):
        return start + choose(nodes[start:stop].probability)

    def sample_targeted(state, marks, start, stop):
        mass = np.diff(marks[start:stop].cumulative, prepend=0.0)
        assert all((marks[start:stop].mark == OUT) == (mass == 0))
        return start + choose(mass / mass.sum())

    def sample_remaining(state, scratch, actions, left):
        p = scratch[P, :actions] / left
        assert abs(p.sum() - 1) < 1e-12
        return choose(p)

    def sample_scenario(state, delta):
        return delta > 0 and bool(choose([1 - delta, delta]))

    samplers = sample_chance, sample_targeted, sample_remaining, sample_scenario
    names |= {f.__name__: f for f in samplers} | {"begin": lambda *_: None}
    return names


def walk(player, kernels, i):
    """Run one walk of player i; return whether targeted, its path, and its two updates."""
    tree, target, workspace = player._tree.arrays, player._target, player._workspace
    tables = player._tables._make(array.copy() for array in player._tables)
    table = tables.table.view(np.recarray)
    tables = tables._replace(table=table)
    kernels["begin_iteration"](tables.progress, player._settings, 1)
    targeted = kernels["sample_scenario"](workspace.state, target.delta)
    kernels["begin_at_root"](workspace.path)
    k = kernels["descend_to_target"](
        tree, table, target.marks, player.epsilon, targeted, i, workspace, 0
    )
    workspace.path[k].value = tree.utility[workspace.path[k].node, i]
    before = table.copy()
    kernels["ascend_from_target"](tree, tables, player._settings, target.delta, i, workspace, k)
    path = workspace.path[: k + 1].copy()
    return targeted, path, table.regret - before.regret, table.total - before.total


def expectation(player, i):
    """Return the expected updates of regrets and strategy sums, and the number of walks."""
    n = player._tree.num_sequences
    regret, total, mass, walks, targeted_mass = np.zeros(n), np.zeros(n), 0.0, 0, 0.0
    marks, delta = player._target.marks, player._target.delta
    for p, found in every_path(lambda choose: walk(player, plain_kernels(choose), i)):
        targeted, path, r, s = found
        regret, total, mass, walks = regret + p * r, total + p * s, mass + p, walks + 1
        ends_in = marks[path[-1].node].mark == IN
        if targeted:
            targeted_mass += p
            assert ends_in
        if not delta or not ends_in:  # only an ordinary walk ends here
            assert abs((1 - delta) * path[-1].s2 - p) < 1e-12
    assert abs(mass - 1) < 1e-12
    assert abs(targeted_mass - delta) < 1e-12
    return regret, total, walks


def exact(game, sigma, i):
    """Return the exact regrets of player i, and the realization plans."""
    form = sequence_form(game)
    owner = np.repeat(-1, form.num_sequences)
    for I, start in enumerate(form.treeplexes.infoset_start):
        owner[start : form.treeplexes.infoset_stop[I]] = form.tree.infoset_player[I]
    return np.where(owner == i, regrets_of(form, sigma), 0), form.plans(sigma)


def with_strategy(game, sigma, **options):
    """Return a searcher whose current strategy is `sigma`."""
    player = cfr.OOS(game, **options)
    player._tables.table.sigma[:] = sigma
    return player


def random_sigma(game, seed, zeros=True):
    """Return a random strategy, with some probabilities 0 if `zeros`."""
    form, rng = sequence_form(game), np.random.default_rng(seed)
    sigma = np.ones(form.num_sequences)
    t = form.treeplexes
    for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
        row = rng.random(stop - start) * (1 if not zeros else rng.random(stop - start) < 0.7)
        if row.sum() == 0:
            row[0] = 1
        sigma[start:stop] = row / row.sum()
    return sigma


def asymmetric():
    """A game with unequal chance, also after a decision, and an impossible outcome."""
    nodes = {(): Chance({"l": 0.2, "r": 0.7, "m": 0.1, "never": 0.0})}
    for deal in ("l", "r", "m", "never"):
        nodes[(deal,)] = Decision(0, "A m" if deal == "m" else "A lr", ("x", "y", "z"))
        for a in "xyz":
            nodes[deal, a] = Decision(1, "B x" if a == "x" else f"B {deal}", ("u", "v"))
            nodes[deal, a, "u"] = Chance({"h": 0.25, "t": 0.75})
            for n, c in enumerate("ht"):
                h = (deal, a, "u", c)
                nodes[h] = Decision(0, f"C {a}{c}" + " m" * (deal == "m"), ("p", "q"))
                for k, b in enumerate("pq"):
                    pay = len(deal) * (2 * n - 1) + k * (ord(a) - ord("y")) * 3 + (deal == "r")
                    nodes[(*h, b)] = Terminal((pay, -pay))
            pay = 2 - ord(a) + ord("y") - 3 * (deal == "m")
            nodes[deal, a, "v"] = Terminal((pay, -pay))
    return TableGame(nodes, name="asymmetric()")


GAMES = [KUHN, asymmetric(), random_game(3, depth=4, zero_sum=True)]


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=repr)
@pytest.mark.parametrize(("delta", "epsilon"), [(0.0, 0.1), (0.3, 0.6), (0.9, 0.4), (0.5, 1.0)])
def test_updates_are_unbiased(game, delta, epsilon):
    tree = cfr.compile(game)
    rng = np.random.default_rng(0)
    for n, label in enumerate([None, *tree.infoset_label]):
        if n > 2 and rng.random() < 0.6:
            continue
        sigma = random_sigma(game, seed=n)
        player = with_strategy(game, sigma, delta=delta, epsilon=epsilon)
        player._set_target(label)
        for i in (0, 1):
            regret, total, _ = expectation(player, i)
            right, x = exact(game, sigma, i)
            scale = max(1, np.abs(right).max())
            np.testing.assert_allclose(regret, right, rtol=0, atol=1e-12 * scale)
            # strategy sum: plan times one constant for each infoset of the opponent
            for I, owner in enumerate(tree.infoset_player):
                start = tree.infoset_start[I]
                row = slice(start, start + len(tree.infoset_actions[I]))
                chance = 0 if owner == i else tree.chance_reach[tree.infoset == I].sum()
                np.testing.assert_allclose(total[row], chance * x[row], atol=1e-12)


def test_number_of_walks_of_kuhn_poker():
    uniform = sequence_form(KUHN).uniform()
    player = with_strategy(KUHN, uniform, delta=0)
    assert [expectation(player, i)[2] for i in (0, 1)] == [30, 30]  # terminal histories
    player = with_strategy(KUHN, uniform, delta=0.5)
    player._set_target("Q check-bet")
    # ordinary: 30; targeted: 2 deals, check, bet, 2 answers
    assert [expectation(player, i)[2] for i in (0, 1)] == [34, 34]


def test_wrong_weight_of_targeted_walks_is_biased():
    """The weight needs both sampling probabilities, in the ratio of δ."""
    sigma = random_sigma(KUHN, 1, zeros=False)
    right = exact(KUHN, sigma, 0)[0]
    for wrong in (0.0, 0.99):
        player = with_strategy(KUHN, sigma, delta=0.5)
        player._set_target("Q check-bet")

        def with_wrong_delta(choose, player=player, wrong=wrong):
            kernels = plain_kernels(choose)
            ascend = kernels["ascend_from_target"]
            kernels["ascend_from_target"] = lambda *args: ascend(*args[:3], wrong, *args[4:])
            return walk(player, kernels, 0)[2]

        found = sum(p * r for p, r in every_path(with_wrong_delta))
        assert np.abs(found - right).max() > 0.05


# ---- targets ---------------------------------------------------------------------------------


def leads_by_definition(game, label):
    """Return the marks of all histories, from the definition."""
    tree = cfr.compile(game)
    target = tree.infoset == tree.infoset_label.index(label)
    inside, above = target.copy(), target.copy()
    for k in range(1, tree.num_histories):
        inside[k] |= inside[tree.parent[k]]
    for k in range(tree.num_histories - 1, 0, -1):
        above[tree.parent[k]] |= above[k]
    return np.where(inside, IN, np.where(above, TOWARD, OUT))


@pytest.mark.parametrize("game", [KUHN, LiarsDice(3), random_game(5, depth=5)], ids=repr)
def test_marks_match_their_definition(game):
    for label in cfr.compile(game).infoset_label:
        player = cfr.OOS(game, delta=0.5)
        player._set_target(label)
        np.testing.assert_array_equal(
            player._target.marks.mark, leads_by_definition(game, label), label
        )


@pytest.mark.parametrize("game", [KUHN, LeducPoker(), LiarsDice(4)], ids=repr)
def test_every_targeted_walk_reaches_the_target(game):
    labels = cfr.compile(game).infoset_label
    player = cfr.OOS(game, delta=0.7, seed=1)
    for label in labels[:: max(1, len(labels) // 20)]:
        found = player.search(label, iterations=300)
        assert found.walks == 600
        assert found.targeted <= found.reached
        assert abs(found.targeted / found.walks - 0.7) < 0.1
        assert found.nodes > found.walks


def test_search_without_target_or_with_delta_0_is_outcome_sampling():
    for game, n in ((KUHN, 1_000), (LeducPoker(), 2_000)):
        other = cfr.MCCFR(game, sampling=cfr.OutcomeSampling(0.4), seed=3).run(n)
        label = cfr.compile(game).infoset_label[-1]
        for delta, at in ((0.9, None), (0.0, None), (0.0, label)):
            player = cfr.OOS(game, delta=delta, seed=3)
            assert player.search(at, iterations=n).targeted == 0
            assert player.nodes == other.nodes
            assert player.average.max_difference(other.average) < 1e-9
            assert player.current.max_difference(other.current) < 1e-6


@pytest.mark.parametrize(
    ("variant", "target", "most"),
    [("cfr", None, 0.01), ("cfr", "Q check-bet", 0.01), ("cfr+", None, 0.03)],
)
def test_search_converges(variant, target, most):
    player = cfr.OOS(KUHN, variant, seed=0, delta=0.5)
    player.search(target, iterations=300_000)
    assert cfr.exploitability(KUHN, player.average) < most


# ---- compiled and on demand ------------------------------------------------------------------


def rows(player):
    known = player._tree
    table = player._tables.table
    return {
        label: [table[q].tolist() for q in range(*known.infosets[I][["start", "stop"]])]
        for I, label in enumerate(known.labels[: known.num_infosets])
    }


@pytest.mark.parametrize("game", [KUHN, asymmetric(), LiarsDice(2)], ids=repr)
@pytest.mark.parametrize("variant", ["cfr", "cfr+", "dcfr"])
def test_search_on_demand_equals_compiled_bit_for_bit(game, variant):
    whole = cfr.OOS(game, variant, seed=5, delta=0.6)
    lazy = cfr.OOS(game, variant, seed=5, delta=0.6, on_demand=True, playout=False)
    # without a target they agree from the first walk on …
    for n in (1, 2, 7, 40, 500):
        one, other = whole.search(iterations=n), lazy.search(iterations=n)
        assert one[:5] == other[:5]
        everything, some = rows(whole), rows(lazy)
        for label, row in some.items():
            assert row == everything[label]
        for label in set(everything) - set(some):  # not visited: not updated
            assert all(r[0] == r[2] == 0 for r in everything[label])
    # … and with one as soon as the same histories are expanded
    expand_all(lazy)
    for label in list(rows(whole))[::5]:
        assert whole.search(label, iterations=100)[:5] == lazy.search(label, iterations=100)[:5]
        assert rows(lazy) == rows(whole)


def expand_all(player):
    """Expand all histories, without a walk."""
    while player._tree._history:
        player._expand(next(iter(player._tree._history)))
    player._make_room(20)


@pytest.mark.slow
def test_marks_on_demand_converge_to_their_definition():
    game = LiarsDice(2)
    tree = cfr.compile(game)
    for I, label in list(enumerate(tree.infoset_label))[::3]:
        lazy = cfr.OOS(game, delta=0.8, seed=0, on_demand=True, playout=False)
        history = tree.history(tree.infoset.tolist().index(I))
        lazy.search(history, iterations=1_000)
        known, whole = lazy._tree, leads_by_definition(game, label)
        for k in range(known.num_histories):
            path, n = [], k
            while n > 0:
                path.append(known.action[n])
                n = known.parent[n]
            at = tree.find(tuple(reversed(path)))
            mark = lazy._target.marks[k].mark
            if whole[at] != OUT:  # no history that leads there is OUT
                children = known.nodes.player[known.nodes[k].first_child :]
                around = known.nodes[k].player, *children[: known.nodes[k].num_children]
                assert mark == whole[at] or UNKNOWN in around
        # all targeted walks reach the target by now
        reached = lazy.search(history, iterations=200)
        assert reached.targeted <= reached.reached


@pytest.mark.slow
def test_updates_are_unbiased_on_demand():
    """The marks of a walk are those before it, whatever has been expanded."""
    game = LiarsDice(2)
    whole = cfr.OOS(game, delta=0.8, seed=0)
    lazy = cfr.OOS(game, delta=0.8, seed=0, on_demand=True, playout=False)
    history = (("1", "2"), "1x1", "1x2")
    label = game.node(history).infoset
    sums = []
    for seed in range(1_000):  # in the first iteration nothing is expanded
        one = lazy.copy(seed)
        one.search(history, iterations=1)
        row = np.zeros(2)
        if "1" in one._tree.infoset_of_label:
            start = one._tree.infosets[one._find("1")].start
            row = one._tables.table.regret[start : start + 2]
        sums.append(row.copy())
    right = exact(game, sequence_form(game).uniform(), 0)[0]
    start = sequence_form(game).treeplexes.infoset_start[whole._find("1")]
    error = np.std(sums, axis=0) / math.sqrt(len(sums))
    off = np.mean(sums, axis=0) - right[start : start + 2]
    assert (np.abs(off) < 4 * error).all(), (off, error, label)


# ---- a game too large to compile -------------------------------------------------------------


@pytest.fixture(scope="module")
def large():
    return LiarsDice(6, 2)


@pytest.mark.slow
def test_search_of_a_large_game(large):
    player = cfr.OOS(large, seed=0)
    history = (("12", "36"), "1x1", "2x2", "2x5")
    first = player.search(history, nodes=30_000)
    assert 30_000 <= first.nodes < 30_100
    assert first.targeted > 0.85 * first.walks
    again = player.search(history, nodes=30_000)
    assert again.reached > 0.85 * again.walks  # more of the tree is marked by now
    label = large.node(history).infoset
    row = player.policy(label)
    assert abs(sum(row.values()) - 1) < 1e-12 and "liar" in row
    assert isinstance(player.average, cfr.PartialStrategy)
    assert player.average[label] == row
    assert player.current.player(label) == 1
    assert "infosets visited" in repr(player)
    # each walk adds at most one infoset
    assert player.num_infosets <= first.walks + again.walks


def test_walks_with_playouts_add_one_infoset_each(large):
    one, all_ = (cfr.OOS(large, seed=0, on_demand=True, playout=p) for p in (True, False))
    for player in (one, all_):
        player.search(iterations=50)
    assert one.num_infosets <= 100 < all_.num_infosets


@pytest.mark.slow
def test_matches_on_a_large_game(large):
    player = cfr.OOS(large, seed=0, on_demand=True)
    match = player.match({}, games=4, nodes=1_500, seed=1)
    assert [game.seat for game in match] == [0, 1, 0, 1]
    assert player.nodes == 0
    for game in match:
        end = large.node(reduce(large.step, game.history, large.root()))
        assert isinstance(end, Terminal)
        assert end.utilities == game.payoffs
    again = player.match({}, games=4, nodes=1_500, seed=1)
    assert again == match


# ---- play ------------------------------------------------------------------------------------


def test_seed_determines_the_policies():
    found = []
    for seed in (4, 4, 5):
        player = cfr.OOS(KUHN, seed=seed)
        player.search("Q", nodes=1_000)
        player.search("Q check-bet", nodes=1_000)
        found.append(player.average)
    assert found[0] == found[1] != found[2]


def test_target_may_be_a_label_or_any_history_of_the_infoset():
    found = []
    for at in ("Q check-bet", (("Q", "J"), "check", "bet"), [("Q", "K"), "check", "bet"]):
        player = cfr.OOS(KUHN, seed=0)
        player.search(at, iterations=500)
        found.append(player.average)
    assert found[0].max_difference(found[1]) == found[0].max_difference(found[2]) == 0


def test_search_in_parts_equals_one_search():
    one, parts = cfr.OOS(KUHN, seed=0), cfr.OOS(KUHN, seed=0)
    one.search("K", iterations=1_000)
    for n in (1, 9, 90, 900):
        parts.search("K", iterations=n)
    assert one.average.max_difference(parts.average) == 0
    assert one.nodes == parts.nodes


def test_search_ends_at_its_limits():
    player = cfr.OOS(KUHN, seed=0)
    found = player.search("Q", nodes=777)
    assert 777 <= found.nodes < 777 + 10
    found = player.search("Q", nodes=10**9, seconds=0.05)
    assert found.seconds >= 0.05 and found.nodes < 10**9
    assert player.search("Q", iterations=3, nodes=10**6).iterations == 3


def test_copies_are_independent():
    player = cfr.OOS(KUHN, seed=0)
    player.search("Q", iterations=100)
    same, other = player.copy(), player.copy(seed=9)
    before = player.average
    same.search("K", iterations=100)
    other.search("K", iterations=100)
    assert player.average.max_difference(before) == 0
    player.search("K", iterations=100)
    assert player.average.max_difference(same.average) == 0
    assert player.average.max_difference(other.average) > 0
    lazy = cfr.OOS(KUHN, seed=0, on_demand=True)
    lazy.search("Q" and (("Q", "K"),), iterations=20)
    twin, known = lazy.copy(), lazy._tree.num_histories
    twin.search((("J", "K"), "bet"), iterations=200)
    assert twin._tree.num_histories > known == lazy._tree.num_histories


def test_match_against_a_fixed_strategy():
    opponent = cfr.Strategy.uniform(KUHN)
    player = cfr.OOS(KUHN, seed=0)
    match = player.match(opponent, games=40, nodes=500, seed=7)
    assert len(match) == len(match.payoffs) == 40
    for game in match:
        assert game.payoffs == KUHN.node(game.history).utilities
        assert [move.action for move in game.moves] == list(game.history[1:])
        for n, move in enumerate(game.moves):
            node = KUHN.node(game.history[: n + 1])
            assert (move.player, move.infoset) == (node.player, node.infoset)
            assert abs(sum(move.probabilities.values()) - 1) < 1e-12
            if move.player != game.seat:
                assert move.probabilities == opponent[move.infoset]
    assert match == player.match(opponent, games=40, nodes=500, seed=7)
    match = player.match(opponent, 3, iterations=2, seat=1, seed=0)
    assert [game.seat for game in match] == [1, 1, 1]


def test_match_between_searchers():
    strong, weak = cfr.OOS(KUHN, seed=0), cfr.OOS(KUHN, seed=0)
    strong.search(iterations=20_000)  # a match starts with the current state
    match = strong.match(weak, games=10, iterations=5, seed=0)
    assert len(match) == 10
    move = next(m for game in match for m in game.moves if m.player == game.seat)
    known = strong.policy(move.infoset)
    assert all(abs(move.probabilities[a] - p) < 0.1 for a, p in known.items())


@pytest.mark.slow
def test_online_strategy_is_the_mean_policy_in_matches():
    """At one infoset of player 0."""
    player = cfr.OOS(KUHN)
    online = player.online_strategy(nodes=100, runs=300, seed=0)
    match = player.match(cfr.Strategy.uniform(KUHN), games=600, nodes=100, seat=0, seed=1)
    rows = [g.moves[0].probabilities["bet"] for g in match if g.moves[0].infoset == "J"]
    error = np.std(rows) * math.sqrt(1 / len(rows) + 1 / 300)
    assert abs(np.mean(rows) - online["J"]["bet"]) < 4 * error
    assert player.iterations == 0


def test_exploitability_falls_with_the_budget():
    values, player = [], cfr.OOS(KUHN, delta=0.5)
    for n in (30, 300, 3_000, 30_000):
        online = player.online_strategy(nodes=n, runs=8, seed=0)
        values.append(cfr.exploitability(KUHN, online))
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.04


# ---- errors ----------------------------------------------------------------------------------


NO_ACTIONS = {f"{c} {a}": {"x": 1} for c in "JQK" for a in ("bet", "check")}


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: cfr.OOS(KUHN, epsilon=0), ValueError, "epsilon must be above 0"),
        (lambda: cfr.OOS(KUHN, delta=1), ValueError, "delta must be at least 0 and below 1"),
        (lambda: cfr.OOS(KUHN, delta=-0.1), ValueError, "delta"),
        (lambda: cfr.OOS(KUHN, "nonsense"), ValueError, "unknown variant"),
        (lambda: cfr.OOS(KuhnPoker(players=3)), ValueError, "is for two players"),
        (lambda: cfr.OOS(KuhnPoker), ValueError, "make one of them"),
        (lambda: cfr.OOS(KUHN, playout=True), ValueError, "on_demand=True"),
        (lambda: cfr.OOS(LiarsDice(6, 2), on_demand=False), cfr.GameError, "max_histories"),
        (lambda: cfr.OOS(KUHN).search("Q"), ValueError, "needs a limit"),
        (lambda: cfr.OOS(KUHN).search("Q", nodes=0), ValueError, "nodes must be"),
        (lambda: cfr.OOS(KUHN).search("Q", seconds=-1), ValueError, "seconds"),
        (lambda: cfr.OOS(KUHN).search("X", nodes=9), KeyError, "no infoset 'X'"),
        (lambda: cfr.OOS(KUHN).search((), nodes=9), ValueError, "nobody decides"),
        (lambda: cfr.OOS(KUHN).search((("Q", "K"), "x"), nodes=9), ValueError, "legal"),
        (lambda: cfr.OOS(KUHN).policy("X"), KeyError, "no infoset 'X'"),
        (lambda: cfr.OOS(KUHN, on_demand=True).search("Q", nodes=9), KeyError, "not been vis"),
        (lambda: cfr.OOS(KUHN).match({}, nodes=9, seat=2), ValueError, "seat must be"),
        (lambda: cfr.OOS(KUHN).match({}, games=0, nodes=9), ValueError, "games must be"),
        (lambda: cfr.OOS(KUHN).match({}), ValueError, "needs a limit"),
        (lambda: cfr.OOS(KUHN).match("friend", nodes=9), ValueError, "the opponent must be"),
        (lambda: cfr.OOS(KUHN).match(cfr.OOS(LeducPoker()), nodes=9), ValueError, "plays"),
        (lambda: cfr.OOS(KUHN).match(NO_ACTIONS, nodes=9, seat=0), ValueError, "does not fit"),
        (lambda: cfr.OOS(KUHN, on_demand=True).online_strategy(nodes=9), ValueError, "matches"),
        (lambda: cfr.OOS(KUHN).online_strategy(nodes=9, runs=0), ValueError, "runs must be"),
    ],
)  # fmt: skip
def test_errors_name_the_argument_and_what_is_accepted(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_unsound_rules_raise_a_game_error():
    nodes = {(): Chance({"a": 0.5, "b": 0.4})}
    with pytest.raises(cfr.GameError, match=r"sum to 0\.9"):
        cfr.OOS(TableGame(nodes), on_demand=True).search(iterations=1)


def test_target_that_chance_never_deals_is_ignored():
    player = cfr.OOS(asymmetric(), seed=0)
    found = player.search("B never", iterations=50)
    assert found.targeted == found.reached == 0


@pytest.mark.parametrize("variant", ["cfr", "linear", "dcfr"])
def test_regrets_include_overdue_discounts(variant):
    """At infosets not visited since, too."""
    player = cfr.OOS(LeducPoker(merge_suits=True), variant, seed=0)
    plain, seen = np.zeros(player._tree.num_sequences), 0.0
    owner, v = player._tree.owner, player.variant
    pairs = owner >= 0
    for t in range(1, 60):
        before = player._tables.table.regret.copy()
        player.search(iterations=1)
        positive, negative = discount(t, v.alpha), discount(t, v.beta)
        now = player._tables.table.regret
        changed = np.unique(owner[(now != before) & pairs])
        plain *= np.where(plain > 0, positive, negative)
        for I in changed:
            q = np.flatnonzero(owner == I)
            plain[q] = now[q]
            seen += len(q)
    assert seen > 300
    found = player.regrets.values_by_sequence
    assert found == pytest.approx(plain, abs=1e-9)
    assert (variant == "cfr") == np.allclose(found, player._tables.table.regret)


def test_oracle_replaces_all_sampling_functions():
    """No other kernel of the module samples."""
    assert {name for name in vars(targeting) if name.startswith("sample_")} == {
        "sample_chance",
        "sample_remaining",
        "sample_targeted",
        "sample_scenario",
    }
