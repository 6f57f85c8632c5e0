"""Deep CFR of games expanded on demand: traversals, workers, policies and responders."""

import math

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib import Chance, Decision, Game, Terminal
from cfrlib.core.sequence import sequence_form
from cfrlib.deep import DeepCFR, Responder, Training, encode, growing_tree, hashed
from cfrlib.deep.lanes import split_lanes
from cfrlib.deep.networks import Learner
from cfrlib.games import Coyote, KuhnPoker, LeducPoker


class OneHot:
    """A game with features, so that compiled and on-demand runs have the same inputs."""

    def features(self, labels):
        rows = encode(cfr.compile(self.plain).infoset_label)
        number = sequence_form(self.plain).infoset_number
        return rows[[number[label] for label in labels]].reshape(len(labels), -1)


class Kuhn(OneHot, KuhnPoker):
    plain = KuhnPoker()


class Leduc(OneHot, LeducPoker):
    plain = LeducPoker()


TINY = Training((16,), 40, 64)
OPTIONS = {"traversals": 60, "memory": 5_000, "advantage": TINY, "strategy": TINY, "seed": 3}


def on_demand(game, **options):
    return DeepCFR(game, on_demand=True, **{**OPTIONS, **options})


def samples(run, which):
    """Return features, action counts, weights and targets of a memory, in order."""
    rows = run._memories[which].trimmed()
    features, num_actions = np.asarray(rows.features[:]), rows.num_actions
    if run.is_complete:
        features = run._infosets.features[rows.infoset]
        num_actions = run._infosets.legal.sum(axis=1)[rows.infoset]
    return features, num_actions, rows.weight, rows.target


def walk(run, t, i, traversals):
    """Run traversals of a player, and return how many histories they visit."""
    return run._walk(t, i, traversals, run._memories)


SCHEMES = ["external", "outcome", cfr.RobustSampling(2, 0.5), "chance"]


# ---- agreement with compiled runs ------------------------------------------------------------


@pytest.mark.parametrize("sampling", SCHEMES, ids=repr)
@pytest.mark.parametrize("game", [Kuhn(), Leduc()], ids=lambda game: type(game).__name__)
def test_first_samples_equal_those_of_the_compiled_game(game, sampling):
    """They agree bit for bit, as no networks are evaluated yet."""
    expanded = on_demand(game, sampling=sampling)
    compiled = DeepCFR(game, sampling=sampling, **OPTIONS)
    for i in range(2):
        visited = [walk(run, 1, i, 60) for run in (expanded, compiled)]
        assert visited[0] == visited[1] > 60
    for which in range(3):
        assert len(samples(expanded, which)[0]) >= 60
        for one, other in zip(samples(expanded, which), samples(compiled, which), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", SCHEMES, ids=repr)
def test_runs_agree_with_compiled_runs(sampling):
    """They agree up to rounding: networks are evaluated on batches of other sizes."""
    expanded = on_demand(Kuhn(), sampling=sampling).run(3)
    compiled = DeepCFR(Kuhn(), on_demand=False, sampling=sampling, **OPTIONS).run(3)
    assert expanded.nodes == compiled.nodes
    for which in range(3):
        for one, other in zip(samples(expanded, which), samples(compiled, which), strict=True):
            assert one == pytest.approx(other, abs=1e-3)
    for i in range(2):
        assert np.allclose(expanded._networks[i], compiled._networks[i], atol=1e-3)
    assert expanded.current.strategy().max_difference(compiled.current) < 1e-2
    assert expanded.mixture.strategy().max_difference(compiled.mixture) < 1e-2
    assert expanded.average.strategy().max_difference(compiled.average) < 1e-2


# ---- lanes and workers -----------------------------------------------------------------------


def same(a, b):
    """Return whether two runs hold the same numbers, bit for bit."""
    pairs = [
        (x, y) for i in range(3) for x, y in zip(samples(a, i), samples(b, i), strict=True)
    ]
    pairs += zip(a._networks, b._networks, strict=True)
    return a.nodes == b.nodes and all(np.array_equal(x, y) for x, y in pairs)


@pytest.mark.parametrize(
    "options",
    [
        {"on_demand": True},
        {"on_demand": False},
        {"on_demand": False, "sampling": cfr.RobustSampling(1, 0.5)},
    ],
    ids=str,
)
def test_results_do_not_depend_on_jobs(options):
    options = {**OPTIONS, **options, "traversals": 600}
    alone, shared = (DeepCFR(Kuhn(), jobs=jobs, **options).run(2) for jobs in (None, 2))
    assert same(alone, shared)


def test_lanes_partition_the_traversals():
    for traversals in (1, 7, 8, 1_000, 12_345):
        lanes = split_lanes(traversals)
        assert [n for lane in lanes for n in range(*lane)] == list(range(traversals))
        assert min(stop - first for first, stop in lanes) >= 1
        assert max(stop - first for first, stop in lanes) <= 250


@pytest.mark.slow
def test_every_lane_starts_with_an_unexpanded_tree(monkeypatch):
    """The run itself keeps no expanded tree either."""
    trees, run = [], on_demand(Coyote(3), average="mixture", traversals=300)
    new_tree = growing_tree.PartialTree
    monkeypatch.setattr(
        growing_tree, "PartialTree", lambda game: trees.append(new_tree(game)) or trees[-1]
    )
    run.run(2)
    assert len(trees) == 2 * 3 * 2 + 1  # lanes · players · iterations, and the warm-up
    assert all(tree.num_histories > 1 for tree in trees)
    assert run._tree.num_histories == 1


def test_interrupt_while_compiling_changes_no_number(monkeypatch):
    """Formerly all memories shared one buffer of features from then on."""

    def ctrl_c(self, *arguments):
        raise KeyboardInterrupt

    run, undisturbed = on_demand(Kuhn()), on_demand(Kuhn()).run(3)
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "fit", ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            run.run(3)
    assert run.iterations == 0
    assert len({memory.columns.ctypes.data for memory in run._memories}) == 3
    assert same(run.run(3), undisturbed)


# ---- policies --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    return on_demand(Kuhn(), average="network").run(4)


def test_policy_equals_its_table(trained):
    tree = cfr.compile(Kuhn())
    nodes = [
        Decision(int(i), label, actions)
        for i, label, actions in zip(
            tree.infoset_player, tree.infoset_label, tree.infoset_actions, strict=True
        )
    ]
    for policy in (trained.current, trained.draw(1), trained.average):
        sigma, table = policy(nodes), policy.strategy()
        assert sigma.shape == (12, 2)
        for node, row in zip(nodes, sigma, strict=True):
            assert row == pytest.approx(list(table[node.infoset].values()), abs=1e-6)
    assert on_demand(Kuhn()).current(nodes).tolist() == [[0.5, 0.5]] * 12


def test_tickets_select_networks_by_weight(trained):
    """The uniform strategy comes first."""
    node, mixture = Decision(0, "J", ("check", "bet")), trained.mixture
    with pytest.raises(ValueError, match="give tickets"):
        mixture([node])
    weights = np.array([1, 2, 3, 4]) / 10
    middle = np.cumsum(weights) - weights / 2
    sigma = mixture([node] * 4, middle)
    assert sigma[0].tolist() == [0.5, 0.5]
    features, legal = Kuhn().features(["J"]), np.ones((1, 2), bool)
    for n in range(1, 4):
        network = mixture._network(0, n)
        assert sigma[n] == pytest.approx(network.play(features, legal)[0], abs=1e-6)


@pytest.mark.slow
def test_mixture_is_the_mean_of_sampled_policies(trained):
    form = sequence_form(Kuhn())
    mean = sum(
        form.plans(trained.draw(seed).strategy().values_by_sequence) for seed in range(400)
    )
    mixture = form.plans(trained.mixture.strategy().values_by_sequence)
    assert mean / 400 == pytest.approx(mixture, abs=0.1)
    assert np.ptp(mixture) > 0.5


def test_policy_of_a_compiled_run_equals_its_mixture():
    run = DeepCFR(KuhnPoker(), **OPTIONS).run(3)
    form = sequence_form(KuhnPoker())
    policy, mixture = (
        form.plans(strategy.values_by_sequence)
        for strategy in (run.policy().strategy(), run.mixture)
    )
    assert policy == pytest.approx(mixture, abs=1e-6)
    node = Decision(1, "K bet", ("fold", "call"))
    assert run.policy()([node], [0.0]).tolist() == [[0.5, 0.5]]  # the uniform strategy


@pytest.mark.slow
def test_simulated_payoffs_equal_expected_utilities(trained):
    """Mean payoffs of a mixture are exact within 5 standard errors."""
    game, policy = Kuhn(), trained.mixture
    payoffs = cfr.simulate(game, [policy, policy], 4_000, seed=1)
    expected = cfr.expected_utility(game, policy.strategy())
    error = payoffs.std(axis=0) / math.sqrt(len(payoffs))
    assert np.all(np.abs(payoffs.mean(axis=0) - expected) <= 5 * error)


# ---- responders ------------------------------------------------------------------------------


def assert_gains_nearly_all(responder, game, opponents, seat):
    """Assert that a responder gains at most what a best response gains, and little less."""
    table, tree = responder.seated().strategy(), cfr.compile(game)
    pairs = zip(tree.infoset_label, tree.infoset_player, strict=True)
    profile = opponents.replace({label: table[label] for label, i in pairs if i == seat})
    value = cfr.best_response(game, opponents, seat).value
    assert value - 0.05 <= cfr.expected_utility(game, profile)[seat] <= value + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_responder_gains_at_most_what_a_best_response_gains(seat):
    """Against the uniform strategy of Kuhn poker, it gains nearly as much."""
    game, training = Kuhn(), Training((32,), 200, 256)
    opponents = on_demand(game).current
    responder = Responder(opponents, seat, traversals=300, advantage=training, seed=0).run(6)
    assert_gains_nearly_all(responder, game, cfr.Strategy.uniform(game), seat)
    assert not any(responder._networks[j] for j in range(2) if j != seat)


def test_responder_plays_against_the_whole_mixture(trained):
    """The uniform strategy has weight 0.1, so it plays in a tenth of the lanes."""
    responder = Responder(trained.mixture, 1, traversals=40, advantage=TINY, seed=0)
    opponents = [responder._current_networks(1, lane)[0] for lane in range(400)]
    share = sum(network is None for network in opponents) / 400
    assert abs(share - 0.1) < 5 * math.sqrt(0.1 * 0.9 / 400)


@pytest.mark.slow
def test_responder_plays_against_tables():
    """A whole table and a partial one."""
    run = cfr.MCCFR(KuhnPoker(), on_demand=True, seed=0).run(200, progress=False)
    bluffs = cfr.Strategy.uniform(KuhnPoker()).replace({"J": {"bet": 1}, "K": {"check": 1}})
    training = Training((32,), 200, 256)
    for table in (run.average, bluffs):
        full = cfr.Strategy.uniform(KuhnPoker()).replace(dict(table.items()))
        responder = Responder(table, 1, traversals=300, advantage=training, seed=0).run(6)
        assert_gains_nearly_all(responder, KuhnPoker(), full, 1)


def test_responder_errors(trained):
    with pytest.raises(ValueError, match="TrainedResponse"):
        Responder({}, 0)
    with pytest.raises(ValueError, match="seat must lie between"):
        Responder(trained.mixture, 2)
    responder = Responder(trained.mixture, 1, traversals=40, advantage=TINY, seed=0)
    with pytest.raises(ValueError, match="cannot be saved"):
        responder.save("somewhere.npz")


# ---- large games and errors ------------------------------------------------------------------


@pytest.mark.slow
def test_six_player_coyote_is_not_compiled():
    """It has 1.9 billion histories."""
    run = DeepCFR(Coyote(6), average="mixture", **OPTIONS).run(2)
    assert not run.is_complete
    assert run.nodes > 60 * 6 * 2
    assert math.isfinite(np.mean(run.losses))
    nodes = [Coyote(6).node((1, 2, 3, 4, 5, 10)), Coyote(6).node((1,) * 4 + (2,) * 2 + ("+1",))]
    assert run.current(nodes).sum(axis=1) == pytest.approx([1, 1])
    assert "exploitability" not in run._remark
    for result in (run.solution, lambda: run.advantages):
        with pytest.raises(ValueError, match=r"use run\.average"):
            result()
    with pytest.raises(ValueError, match=r"until=0\.1 asks for exploitability"):
        run.run(until=0.1)


class Wide(Game):
    """Player 0 rarely has four actions instead of two."""

    def node(self, h):
        if not h:
            return Chance({"usual": 1 - 1e-9, "rare": 1e-9})
        if len(h) == 1:
            few = ("a", "b")
            return Decision(0, h[0], few if h[0] == "usual" else (*few, "c", "d"))
        return Terminal((1, -1) if h[-1] == "a" else (-1, 1))


def test_hashed_features_depend_on_the_label_alone():
    labels = cfr.compile(LeducPoker()).infoset_label
    features = hashed(labels)
    assert np.array_equal(hashed(labels[5:7]), features[5:7])
    assert len(np.unique(features, axis=0)) == len(labels)
    assert hashed([]).shape == (0, 512)


def test_number_of_actions_is_given_or_found():
    assert on_demand(Wide(), actions=7)._infosets.actions == 7
    assert on_demand(Wide())._infosets.actions == 4  # random games sample outcomes uniformly
    with pytest.raises(ValueError, match="give actions=4"):
        on_demand(Wide(), actions=3).current([Wide().node(("rare",))])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"features": np.eye(12)}, "method features"),
        ({"baseline": 0.5}, "leave baseline out"),
        ({"advantage": Training()}, r"give a batch, such as Training\(batch=1,024\)"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"on_demand": False, "jobs": 2, "baseline": 0.1}, "learned by one process"),
        ({"actions": 0}, "actions must be a whole number"),
    ],
    ids=str,
)
def test_bad_argument_is_named(options, match):
    with pytest.raises(ValueError, match=match):
        DeepCFR(KuhnPoker(), **{"on_demand": True, **OPTIONS, **options})
