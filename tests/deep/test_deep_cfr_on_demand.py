"""Deep CFR of games explored on the way: the same walks, networks asked as they go."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest
from every_path import exact_regrets

import cfrlib as cfr
from cfrlib import Chance, Decision, Game, Terminal
from cfrlib.core.sequence import sequence_form
from cfrlib.deep import DeepCFR, Responder, Training, encode, hashed
from cfrlib.deep import lanes as lanes_module
from cfrlib.deep.lanes import split
from cfrlib.games import Coyote, KuhnPoker, LeducPoker

pytestmark = pytest.mark.slow


class Seen:
    """A game that says what networks see of its infosets, so both ways see the same."""

    def features(self, labels):
        rows = encode(cfr.compile(self.alike).infoset_label)
        number = sequence_form(self.alike).infoset_number
        return rows[[number[label] for label in labels]].reshape(len(labels), -1)


class Kuhn(Seen, KuhnPoker):
    alike = KuhnPoker()


class Leduc(Seen, LeducPoker):
    alike = LeducPoker()


TINY = Training((16,), 40, 64)
OPTIONS = {"traversals": 60, "memory": 5_000, "advantage": TINY, "strategy": TINY, "seed": 3}


def lazily(game, **options):
    return DeepCFR(game, on_demand=True, **{**OPTIONS, **options})


def rows(run, which):
    """Return the rows of a memory with their infosets' features, in order."""
    memory = [*run._memories, run._strategies][which]
    n = memory.filled
    if run._form is None:
        features, count = (part[:n] for part in run._sheets[which])
    else:
        features = run._features[memory.infoset[:n]]
        count = run._legal.sum(axis=1)[memory.infoset[:n]]
    return features, count, memory.weight[:n], memory.target[:n]


SCHEMES = ["external", "outcome", cfr.RobustSampling(2, 0.5), "chance"]


# ---- the same as in a game that compiles -----------------------------------------------------


@pytest.mark.parametrize("sampling", SCHEMES, ids=repr)
@pytest.mark.parametrize("game", [Kuhn(), Leduc()], ids=lambda game: type(game).__name__)
def test_walks_are_those_of_the_compiled_game(game, sampling):
    """The first walks of all players, bit for bit: there are no networks yet."""
    lazy = lazily(game, sampling=sampling)
    whole = DeepCFR(game, sampling=sampling, **OPTIONS)
    for i in range(2):
        visited = [
            run._walk(1, i, 60, run._memories[i], run._strategies) for run in (lazy, whole)
        ]
        assert visited[0] == visited[1] > 60
    for which in range(3):
        assert len(rows(lazy, which)[0]) >= 60
        for mine, theirs in zip(rows(lazy, which), rows(whole, which), strict=True):
            assert np.array_equal(mine, theirs)


def test_whole_runs_agree():
    """Networks too, but for rounding: batches are the same rows, in other numbers at a time."""
    lazy, whole = lazily(Kuhn()).run(3), DeepCFR(Kuhn(), on_demand=False, **OPTIONS).run(3)
    assert lazy.nodes == whole.nodes
    for i in range(2):
        assert np.allclose(lazy._networks[i], whole._networks[i], atol=1e-3)
    assert lazy.current.strategy().max_difference(whole.current) < 1e-2
    assert lazy.mixture.strategy().max_difference(whole.mixture) < 1e-2
    assert lazy.average.strategy().max_difference(whole.average) < 1e-2


@pytest.mark.parametrize("sampling", SCHEMES, ids=repr)
def test_memories_hold_regrets_on_average(sampling):
    """With networks that play: sums over walks are the tree's, within 5 standard errors."""
    game = Kuhn()
    run = lazily(game, sampling=sampling, traversals=300, memory=400_000).run(2)
    sigma = run.current.strategy()
    assert sigma.max_difference(cfr.Strategy.uniform(game)) > 0.2
    memory, walks = run._memories[0], 10_000
    memory.seen[0] = 0
    run._walk(3, 0, walks, memory, run._strategies)
    form = sequence_form(game)
    wanted = exact_regrets(game, sigma.values_by_sequence)
    known = {row.tobytes(): I for I, row in enumerate(game.features(form.tree.infoset_label))}
    features, _, weight, target = rows(run, 0)
    total, square = np.zeros(form.num_sequences), np.zeros(form.num_sequences)
    start = form.tree.infoset_start[[known[row.tobytes()] for row in features]]
    for a in range(2):
        value = weight.astype(float) / 3 * target[:, a] * run._scale
        np.add.at(total, start + a, value)
        np.add.at(square, start + a, value**2)
    first, stop = form.tree.player_sequences[:2]
    own = slice(first + 1, stop)
    mean, error = total / walks, np.sqrt(square) / walks
    assert np.all(np.abs(mean - wanted)[own] <= 5 * error[own] + 1e-6)
    assert np.abs(wanted[own]).max() > 10 * np.median(error[own])


def test_leduc_is_learned_on_the_way():
    """A few iterations lead well below the uniform strategy's 4.75 (NashConv)."""
    training = Training((32, 32), 200, 256)
    run = DeepCFR(
        Leduc(), on_demand=True, traversals=80, average="mixture", advantage=training, seed=0,
        memory=20_000,
    ).run(6)  # fmt: skip
    assert cfr.nash_conv(Leduc(), run.mixture.strategy()) < 3.5


# ---- who walks does not matter ---------------------------------------------------------------


def same(a, b):
    """Whether two runs hold the same numbers, bit for bit."""
    pairs = [(x, y) for i in range(3) for x, y in zip(rows(a, i), rows(b, i), strict=True)]
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
def test_processes_change_nothing(options):
    options = {**OPTIONS, **options, "traversals": 600}
    alone, shared = (DeepCFR(Kuhn(), jobs=jobs, **options).run(2) for jobs in (None, 2))
    assert same(alone, shared)


def test_walks_are_dealt_to_lanes_without_gaps():
    for walks in (1, 7, 8, 1_000, 12_345):
        lanes = split(walks)
        assert [n for lane in lanes for n in range(*lane)] == list(range(walks))
        assert min(stop - first for first, stop in lanes) >= 1
        assert max(stop - first for first, stop in lanes) <= 250


def test_one_seed_one_run_and_pieces_make_no_difference():
    one, two, other = lazily(Kuhn()).run(4), lazily(Kuhn()), lazily(Kuhn(), seed=4).run(4)
    two.run(1).run(3)
    assert same(one, two)
    assert not same(one, other)


def test_what_was_explored_is_forgotten(monkeypatch):
    """No lane begins with anything known, nor does the run keep it."""
    made, run = [], lazily(Coyote(3), average="mixture", traversals=300)
    explored = lanes_module.PartialTree
    monkeypatch.setattr(
        lanes_module, "PartialTree", lambda game: made.append(explored(game)) or made[-1]
    )
    run.run(2)
    assert len(made) == 2 * 3 * 2 + 1  # lanes, players, iterations; and the warm-up
    assert all(each.num_histories > 1 for each in made)
    assert run._known.num_histories == 1


# ---- policies --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    return lazily(Kuhn(), average="network").run(4)


def test_a_policy_answers_for_any_decision(trained):
    game, table = Kuhn(), trained.current.strategy()
    tree = cfr.compile(game)
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
    assert lazily(Kuhn()).current(nodes).tolist() == [[0.5, 0.5]] * 12


def test_a_mixture_keeps_to_one_network_in_a_game(trained):
    """Tickets choose as `draw` does: by weight, the uniform strategy first."""
    node, mixture = Decision(0, "J", ("check", "bet")), trained.mixture
    with pytest.raises(ValueError, match="give tickets"):
        mixture([node])
    weights = np.array([1, 2, 3, 4]) / 10
    middle = np.cumsum(weights) - weights / 2
    found = mixture([node] * 4, middle)
    assert found[0].tolist() == [0.5, 0.5]
    for n in range(3):
        legal = np.ones((1, 2), bool)
        features = Kuhn().features(["J"])
        said = mixture._network(0, n + 1)
        assert found[n + 1] == pytest.approx(said.play(features, legal)[0], abs=1e-6)


def test_the_mixture_is_the_mean_of_what_is_drawn(trained):
    form = sequence_form(Kuhn())
    mean = sum(
        form.plans(trained.draw(seed).strategy().values_by_sequence) for seed in range(400)
    )
    mixed = form.plans(trained.mixture.strategy().values_by_sequence)
    assert mean / 400 == pytest.approx(mixed, abs=0.1)
    assert np.ptp(mixed) > 0.5


def test_a_compiled_run_is_a_policy_too():
    """The mixture as networks is the mixture as a table; so are the answers in a game."""
    run = DeepCFR(KuhnPoker(), **OPTIONS).run(3)
    table = run.policy().strategy()
    x, y = (
        sequence_form(KuhnPoker()).plans(s.values_by_sequence) for s in (table, run.mixture)
    )
    assert x == pytest.approx(y, abs=1e-6)
    node = Decision(1, "K bet", ("fold", "call"))
    assert run.policy()([node], [0.0]).tolist() == [[0.5, 0.5]]  # the first ticket: uniform


def test_rounds_pay_what_the_strategies_are_worth(trained):
    """A mixture with its tickets, against exact expected utility: within 5 standard errors."""
    game, policy = Kuhn(), trained.mixture
    best = cfr.solve(game, "cfr+", 1_000, progress=False).strategy
    table = policy.strategy()
    for players, worth in (
        ([policy, best], [table, best]),
        ([best, policy], [best, table]),
        ([policy, policy], [table, table]),
    ):
        paid = cfr.simulate(game, players, 4_000, seed=1)
        mixed = {
            label: worth[i][label]
            for i in range(2)
            for label in worth[i]
            if cfr.compile(game).infoset_player[sequence_form(game).infoset_number[label]] == i
        }
        wanted = cfr.expected_utility(game, mixed)
        error = paid.std(axis=0) / math.sqrt(len(paid))
        assert np.all(np.abs(paid.mean(axis=0) - wanted) <= 5 * error)


def test_the_same_seed_deals_the_same_cards():
    game = KuhnPoker()
    deals = []
    for play in ({}, {"Q": {"check": 0, "bet": 1}}):
        asked = set()

        def watch(nodes, tickets, asked=asked):
            asked.update(
                zip(tickets.tolist(), (node.infoset[0] for node in nodes), strict=True)
            )
            return np.full((len(nodes), 2), 0.5)

        first = cfr.simulate(game, [watch, play], 500, seed=2)
        assert np.array_equal(first, cfr.simulate(game, [watch, play], 500, seed=2))
        deals.append(asked)
    assert deals[0] == deals[1]
    assert len(deals[0]) == 500  # one card for each ticket


@pytest.mark.parametrize(
    ("players", "match"),
    [
        ([{}], "has 2 players, got 1"),
        ([{}, 3], "a player is a strategy"),
        ([{}, lambda nodes, tickets: np.ones((len(nodes), 2))], "a row of probabilities"),
    ],
)
def test_players_that_do_not_play(players, match):
    with pytest.raises(ValueError, match=match):
        cfr.simulate(KuhnPoker(), players, 10, seed=0)


# ---- a trained responder ---------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
def test_a_responder_gains_what_can_be_gained_and_no_more(seat):
    """Against the uniform strategy of Kuhn poker, whose exact best response is known."""
    game, training = Kuhn(), Training((32,), 200, 256)
    uniform = lazily(game).current
    responder = Responder(uniform, seat, traversals=300, advantage=training, seed=0).run(6)
    table = responder.seated().strategy()
    value = cfr.best_response(game, cfr.Strategy.uniform(game), seat).value
    own = [
        label
        for label, i in zip(
            cfr.compile(game).infoset_label, cfr.compile(game).infoset_player, strict=True
        )
        if i == seat
    ]
    profile = cfr.Strategy.uniform(game).replace({label: table[label] for label in own})
    gained = cfr.expected_utility(game, profile)[seat]
    assert value - 0.05 <= gained <= value + 1e-9
    assert not any(responder._networks[j] for j in range(2) if j != seat)


def test_a_responder_meets_the_whole_mixture(trained):
    responder = Responder(trained.mixture, 1, traversals=40, advantage=TINY, seed=0)
    met = [responder._present(1, lane)[0] for lane in range(400)]
    share = sum(each is None for each in met) / 400
    assert abs(share - 0.1) < 5 * math.sqrt(0.1 * 0.9 / 400)
    with pytest.raises(ValueError, match="seat must lie between"):
        Responder(trained.mixture, 2)
    with pytest.raises(ValueError, match="cannot be saved"):
        responder.save("somewhere.npz")


# ---- large games, and mistakes ---------------------------------------------------------------


def test_six_players_of_coyote():
    """1.9 billion histories: nothing of it is compiled, and everybody learns."""
    run = DeepCFR(Coyote(6), average="mixture", **OPTIONS).run(2)
    assert not run._known.whole
    assert run.nodes > 60 * 6 * 2
    assert math.isfinite(np.mean(run.losses))
    nodes = [Coyote(6).node((1, 2, 3, 4, 5, 10)), Coyote(6).node((1,) * 4 + (2,) * 2 + ("+1",))]
    assert run.current(nodes).sum(axis=1) == pytest.approx([1, 1])
    assert "exploitability" not in run._remark
    for ask in (run.solution, lambda: run.advantages):
        with pytest.raises(ValueError, match=r"ask run\.average"):
            ask()
    with pytest.raises(ValueError, match=r"until=0\.1 asks for exploitability"):
        run.run(until=0.1)


class Wide(Game):
    """Rarely, player 1 may do more."""

    def node(self, h):
        if not h:
            return Chance({"usual": 1 - 1e-9, "rare": 1e-9})
        if len(h) == 1:
            few = ("a", "b")
            return Decision(0, h[0], few if h[0] == "usual" else (*few, "c", "d"))
        return Terminal((1, -1) if h[-1] == "a" else (-1, 1))


def test_features_of_labels_not_known_beforehand():
    labels = cfr.compile(LeducPoker()).infoset_label
    whole = hashed(labels)
    assert np.array_equal(hashed(labels[5:7]), whole[5:7])
    assert len(np.unique(whole, axis=0)) == len(labels)
    assert hashed([]).shape == (0, 512)


def test_actions_may_be_told():
    assert lazily(Wide(), actions=7)._actions == 7
    met = lazily(Wide())._actions
    assert met == 4  # games played at random draw all outcomes alike
    with pytest.raises(ValueError, match="give actions=4"):
        lazily(Wide(), actions=3).current([Wide().node(("rare",))])


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
def test_bad_arguments(options, match):
    with pytest.raises(ValueError, match=match):
        DeepCFR(KuhnPoker(), **{"on_demand": True, **OPTIONS, **options})


class Unsound(KuhnPoker):
    """Breaks its word once the deal is J, K."""

    broken = True

    def node(self, h):
        if self.broken and h == (("K", "J"), "check"):
            raise RuntimeError("the machine is on fire")
        return super().node(h)


def test_a_walk_that_fails_leaves_a_sound_run():
    game = Unsound()
    game.broken = False
    run, fine = lazily(game).run(2), lazily(KuhnPoker()).run(4)
    game.broken = True
    with pytest.raises(RuntimeError, match="on fire"):
        run.run(2)
    game.broken = False
    run.run(4 - run.iterations)
    assert same(run, fine)


# ---- the experiment --------------------------------------------------------------------------

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("it", EXPERIMENTS / "coyote_players.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_simple_player_calls_what_is_more_than_can_be_expected(script):
    """By hand: 2 and the mean of -2, 4, 4 and the double, which counts 0, make 3.5."""
    game = Coyote(deck={-2: 1, 2: 1, 4: 2, "x2": 1}, cap=9)
    nodes = [Decision(0, f"_ 2: {n}", ("+1", "coyote")) for n in (3, 4)]
    assert script.caller(game, 0)(nodes, None).tolist() == [[1, 0], [0, 1]]
    assert script.caller(game, 1)(nodes, None).tolist() == [[1, 0], [1, 0]]
    last = Decision(0, "_ 2: 9", ("coyote",))
    assert script.caller(game, 99)([last], None)[0, 0] == 1


def test_nobody_is_more_than_his_like(script, monkeypatch):
    monkeypatch.setattr(script, "ROUNDS", 60)
    game = Coyote(3)
    player = script.caller(game, 0)
    found = script.table(game, player, player)
    assert found["more_than_they"] == [0, 0]
    better = script.table(game, player, {})
    assert better["more_than_they"][0] > 0.1


def test_what_the_experiment_found_holds_together(script):
    data = json.loads((EXPERIMENTS / "coyote_players.json").read_text())
    settings = data["settings"]
    assert settings["iterations"] == script.ITERATIONS
    assert settings["training"] == repr(script.OPTIONS["advantage"])
    assert settings["traversals"] == script.OPTIONS["traversals"]
    for players, found in data["players"].items():
        assert found["fair"] == pytest.approx((int(players) - 2) / int(players), abs=1e-4)
        assert found["tables"]["start (uniform)"]["more_than_they"][0] > 0.2
        gain, width = found["responder"]["gain"]
        if "exact" in found:
            assert found["exact"]["nash_conv"] < found["uniform"]["nash_conv"] / 4
            assert found["responder"]["exact"] <= found["exact"]["gains"][0]
            assert abs(gain - found["responder"]["exact"]) < 2 * width
