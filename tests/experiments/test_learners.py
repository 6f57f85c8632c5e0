"""Self-play learners of Koi-Koi: features, training targets, convergence, and files."""

import json
import threading
import tracemalloc
from functools import partial
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pytest
from koikoi_hands import exchanged, hands_and_values, some_rounds
from toy_games import mini

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from koikoi import KoiKoi, MiniKoiKoi
from koikoi.afterstates import CODE, COUNTS, PLACES, UNDECIDED, Afterstates, Describer
from koikoi.learners import (
    DeepMonteCarlo,
    NetworkPlayer,
    deep_monte_carlo,
    network_player,
    segments,
    selfplay,
)
from koikoi.players import GreedyPlayer, RandomPlayer, play
from koikoi.simulator import Simulator, members
from koikoi_learners import (
    ESCHER,
    DeepDiscountedCFR,
    MMDPolicyGradient,
    RobustDeepCFR,
    deep_discounted_cfr,
    escher,
    policy_gradient,
    regret_networks,
    robust_deep_cfr,
)

FULL, K8, K9 = KoiKoi(), mini("K8"), mini("K9")
TINY = {"hidden": (16,), "rounds": 60, "steps": 4, "batch": 32}
ROW = {name: n for n, name in enumerate(PLACES + COUNTS)}


# ---- features --------------------------------------------------------------------------------


def check_before(simulator, at, code):
    """Check the table before a decision."""
    i, card = at.player, (at.card,) if at.stage == "match" else ()
    cards = (at.hands[i], at.field, at.piles[i], at.piles[1 - i], card)
    for place, expected in zip(PLACES, cards, strict=True):
        named = [simulator.names[c] for c in members(int(code[ROW[place]]))]
        assert tuple(named) == expected, place
    facts = {
        "points": simulator.game.worth(at.piles[i]), "other": at.points[1 - i],
        "calls": at.calls[i], "called": at.calls[1 - i], "seat": i,
        "risen": at.stage == "call", "ends": False,
        "draws": bool(at.stock) and (at.stage == "play" or not at.drawn),
        "stops": UNDECIDED,
    }  # fmt: skip
    assert dict(zip(COUNTS, code[len(PLACES) :], strict=True)) == facts


@pytest.mark.parametrize("game", [FULL, K8, K9], ids=repr)
def test_afterstates_agree_with_the_rules(game):
    describer, stages = Describer(game), set()
    simulator = describer.simulator
    for moves in range(9):
        rounds, rows = some_rounds(game, 80, moves, seed=moves)
        if not len(rows):
            continue
        after = describer.after(rounds, rows)
        for n, r in enumerate(rows):
            at, i = simulator.position(rounds, r), int(rounds.player[r])
            stages.add(at.stage)
            check_before(simulator, at, after.before[n])
            node = game.node(at)
            for row, action in zip(range(*after.start[n : n + 2]), node.actions, strict=True):
                code = after.code[row]
                if at.stage == "call":
                    assert np.isnan(after.paid[row]) == (action == "koi-koi")
                    assert code[ROW["stops"]] == (action == "stop")
                    assert code[ROW["calls"]] == at.calls[i] + (action == "koi-koi")
                    if action == "stop":
                        assert after.paid[row] == game.step(at, action).paid * (1 - 2 * i)
                    continue
                then = game.step(at, action)
                assert np.isnan(after.paid[row])
                cards = (then.hands[i], then.field, then.piles[i], then.piles[1 - i])
                for place, expected in zip(PLACES, cards, strict=False):
                    named = [simulator.names[c] for c in members(int(code[ROW[place]]))]
                    assert tuple(named) == expected, place
                pending = members(int(code[ROW["pending"]]))
                assert [simulator.names[c] for c in pending] == [then.card] * bool(then.card)
                assert code[ROW["points"]] == game.worth(then.piles[i])
                assert code[ROW["other"]] == at.points[1 - i]
                assert code[ROW["called"]] == at.calls[1 - i]
                assert code[ROW["seat"]] == i
                assert code[ROW["draws"]] == (bool(at.stock) and not at.drawn)
                assert code[ROW["ends"]] == (at.drawn and not then.card)
                assert code[ROW["risen"]] == (game.worth(then.piles[i]) > at.points[i])
    assert stages >= {"play", "call"}
    assert ("match" in stages) == (game is not K8)


def test_features_do_not_depend_on_hidden_cards():
    """Exchange the opponent's hand with cards of the stock; the features stay the same."""
    describer = Describer(FULL)
    rounds, rows = some_rounds(FULL, 50, 5)
    codes = [describer.after(each, rows) for each in (rounds, exchanged(rounds, rows))]
    for one, other in ([x.code for x in codes], [x.before for x in codes]):
        assert (describer.see(one) == describer.see(other)).all()


def test_features_of_identical_cards_are_equal():
    describer = Describer(K9)
    at = K9.root()._replace(
        stage="play", hands=(("Cherry", "Moon"), ("Cherry", "Sake")),
        field=("Curtain", "Pampas"), stock=("Pampas", "Mum", "Mum"),
    )  # fmt: skip
    rounds = describer.simulator.place([at, at])
    one, other = (c for c, name in enumerate(describer.simulator.names) if name == "Cherry")
    swap = {one: other, other: one}
    for i in range(2):
        rounds.hands[1, i] = sum(1 << swap.get(c, c) for c in members(int(rounds.hands[1, i])))
    after = describer.after(rounds, np.array([0, 1]))
    seen = describer.see(after.code)
    half = after.start[1]
    assert (seen[:half] == seen[half:]).all()
    assert (after.code[:half] != after.code[half:]).any()
    seen = describer.see(after.before)
    assert (seen[0] == seen[1]).all()
    assert (after.before[0] != after.before[1]).any()


# ---- segments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy", [segments.greedy, segments.match_segments, segments.softmax]
)
def test_strategies_are_distributions_in_each_segment(strategy):
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 200))])
    output = rng.normal(size=start[-1])
    sigma = strategy(output, start)
    assert (sigma >= 0).all()
    assert segments.segment_sum(sigma, start) == pytest.approx(np.ones(200))
    for begin, end in pairwise(start):
        alone = strategy(output[begin:end], np.array([0, end - begin]))
        assert alone == pytest.approx(sigma[begin:end])
        assert sigma[begin:end].argmax() == output[begin:end].argmax()


def test_sample_rows_has_the_right_frequencies():
    start = np.array([0, 3, 5])
    sigma = np.array([0.2, 0.0, 0.8, 0.5, 0.5])
    u = (np.arange(1_000) + 0.5) / 1_000
    rows = np.array([segments.sample_rows(sigma, start, np.array([x, x])) for x in u])
    assert np.bincount(rows[:, 0], minlength=5).tolist() == [200, 0, 800, 0, 0]
    assert np.bincount(rows[:, 1], minlength=5).tolist() == [0, 0, 0, 500, 500]
    edge = np.array([1 - 2**-53] * 2)
    assert (segments.sample_rows(sigma, start, edge) == [2, 4]).all()


# ---- training targets ------------------------------------------------------------------------


def run_task(learner, play_task, t=1):
    task = selfplay.Task(
        learner.game, learner.hidden, tuple(state.weights for state in learner._states),
        (learner.seed, t, 0), 200, tuple(each.kind for each in learner._networks),
    )  # fmt: skip
    return play_task(task), task


def test_targets_of_values_are_payoffs():
    """Targets are possible payoffs, for actions of both players."""
    learner = DeepMonteCarlo(K8, **TINY)
    (decisions, samples), task = run_task(
        learner, partial(deep_monte_carlo.play_by_value, explore=0.05)
    )
    assert 0 < len(samples.code) <= decisions
    points = samples.target * 3  # the scale: eight cards are worth 3 points
    assert points == pytest.approx(points.round())
    assert np.abs(points).max() <= 14
    seat = samples.code[:, ROW["seat"]]
    first = (samples.code[:, ROW["pile"]] == 0) & (samples.code[:, ROW["theirs"]] == 0)
    assert set(seat.tolist()) == {0, 1}
    _, rounds, _ = task.begin()
    assert first.sum() > len(rounds) / 4
    assert not samples.code[:, ROW["stops"]].any()  # the value of stopping is known


@pytest.mark.slow
def test_targets_of_regret_networks_are_critic_values():
    """They agree with the same rounds, replayed here decision by decision."""
    learner = ESCHER(K9, **TINY, seed=3).run(3, progress=False)
    play_task = partial(escher.play_by_regret, explore=0.5, learn=escher.regret_targets)
    (_, critic, values), task = run_task(learner, play_task, 4)
    network, rounds, rng = task.begin()
    scale, traverser = network_player.payoff_scale(K9), np.arange(len(rounds)) % 2
    known = {}

    def decide(rows, player, after):
        sigma = network_player.action_probabilities(
            "regret", network, task.networks[regret_networks.REGRET], after, scale
        )
        value = network_player.values_of(network, task.networks[escher.CRITIC], after, scale)
        mine = (player == traverser[rows])[segments.segment_ids(after.start)]
        for code, v in zip(after.code, value, strict=True):
            known[code.tobytes()] = v
        means = segments.segment_sum(sigma * value, after.start)
        for code, v in zip(after.before, means, strict=True):
            known[code.tobytes()] = v
        return sigma, np.where(mine, segments.mix_uniform(sigma, after.start, 0.5), sigma)

    selfplay.play_out(network.describer, rounds, decide, rng)
    found = [known[code.tobytes()] for code in values.code]
    assert values.target == pytest.approx(found, abs=1e-5)
    undecided = values.code[:, ROW["stops"]] == UNDECIDED
    assert len(values.code) / 9 < undecided.sum() < len(values.code) / 2
    assert not (values.code[:, ROW["stops"]] == 1).any()  # the value of stopping is known
    assert np.abs(critic.target).max() <= 30
    seats = set(critic.code[:, ROW["seat"]].tolist())
    assert seats == {0, 1}  # either traverser


@pytest.mark.slow
def test_regrets_are_action_values_minus_decision_values():
    """This holds for any weights, with known values for stopping."""
    learner = ESCHER(K9, **TINY, seed=3).run(3, progress=False)
    known, scale = network_player.decisions_of(K9), network_player.payoff_scale(K9)
    weights, network, after = (
        learner._states[regret_networks.REGRET].weights,
        learner._networks[0],
        known.after,
    )
    values = network_player.predicted_values(network, weights, after, scale)
    regret = values.regrets(after.start)
    stops = ~np.isnan(after.paid)
    assert 0 < stops.sum() < len(stops)
    for d, (begin, end) in enumerate(pairwise(after.start)):
        actions = network(weights, after.code[begin:end])
        level = network(weights, after.before[d : d + 1])
        paid = after.paid[begin:end] / scale
        expected = np.where(stops[begin:end], paid, actions) - level
        assert regret[begin:end] == pytest.approx(expected, abs=1e-5)


def test_critic_targets_without_exploration_end_in_payoffs():
    """Without exploration, the targets of last actions are payoffs."""
    learner = ESCHER(K8, **TINY)
    (_, critic, _), _ = run_task(
        learner, partial(escher.play_by_regret, explore=0.0, learn=escher.regret_targets)
    )
    last = critic.code[:, ROW["hand"]] == 0
    points = critic.target[last] * 3
    assert points == pytest.approx(points.round())


@pytest.mark.slow
def test_the_critic_converges_to_the_values_of_a_fixed_strategy():
    """While both players follow a fixed strategy, it learns the exact mean of each infoset."""
    options = {"hidden": (64, 64), "rounds": 1_000, "steps": 40, "batch": 256}
    learner = ESCHER(K8, **options, explore=0.3)
    fixed = learner._states[regret_networks.REGRET]
    for t in range(1, 81):
        learner._iterate(t)
        learner._states[regret_networks.REGRET] = fixed
    strategy = NetworkPlayer(K8, [fixed.weights], (64, 64), "regret").strategy()
    critic, weights = learner._networks[escher.CRITIC], learner._states[1].weights
    masses, values = hands_and_values(K8, strategy)
    deals = [K8.step(K8.root(), deal) for deal in K8.node(K8.root()).actions]
    deals = [at for at in deals if len(K8.node(at).actions) > 1]
    labels = [K8.node(at).infoset for at in deals]
    exact = np.array([
        sum(strategy[I][a] * v for a, v in values[I].items()) / sum(masses[I].values())
        for I in labels
    ])  # fmt: skip
    describer = Describer(K8)
    after = describer.after(describer.simulator.place(deals), np.arange(len(deals)))
    start, scale = after.start, network_player.payoff_scale(K8)
    sigma = learner_sigma(fixed.weights, after, learner)
    value = segments.segment_sum(sigma * critic(weights, after.code), start) * scale
    assert np.corrcoef(value, exact)[0, 1] > 0.97
    assert np.abs(value - exact).mean() < 0.15 * exact.std()


def learner_sigma(weights, after, learner):
    scale = network_player.payoff_scale(learner.game)
    return network_player.action_probabilities(
        "regret", learner._networks[0], weights, after, scale
    )


@pytest.mark.slow
@pytest.mark.parametrize(("k", "explore"), [(1, 0.5), (2, 1.0), (2, 0.5), (8, 1.0)])
def test_traversals_estimate_counterfactual_regrets_without_bias(k, explore):
    """The mean of their weighted samples is the exact counterfactual regret."""
    learner = RobustDeepCFR(K8, **TINY, k=8)
    learner.run(4, progress=False)  # so that no actions tie, and there is a baseline
    networks = tuple(state.weights for state in learner._states)
    known, scale = network_player.decisions_of(K8), network_player.payoff_scale(K8)
    form = sequence_form(K8)
    sigma = form.uniform()  # also at infosets the traverser never reaches
    sigma[known.sequence] = learner_sigma(networks[0], known.after, learner)
    exact, batches = exact_regrets(K8, cfr.Strategy.from_vector(form, sigma)), []
    for n in range(48):
        task = selfplay.Task(K8, (16,), networks, (7, n), 500, ("pair", "pair"))
        samples = robust_deep_cfr.traverse(task, k, explore).regrets
        sums = dict.fromkeys(exact, 0.0)
        for row, regret, weight in zip(seen_pairs(samples.code), *samples[1:], strict=True):
            sums[row.tobytes()] += weight * regret * scale / 250  # traversals per player
        batches.append(list(sums.values()))
    found, error = np.mean(batches, axis=0), np.std(batches, axis=0, ddof=1) / 48**0.5
    enough = (np.array(batches) != 0).sum(axis=0) >= 18  # batches, for a z-score
    met = (error > 1e-9) & enough
    z = (found - list(exact.values()))[met] / error[met]
    assert len(z) > 250
    assert np.abs(z).max() < 5
    assert z.std() < 1.3
    if k == 8:
        assert (samples.weight == 1).all()


def seen_pairs(code):
    """Return the features of tables after and before actions of K8, side by side."""
    see = Describer(K8).see
    return np.concatenate([see(part) for part in np.split(code, 2, axis=1)], axis=1)


def exact_regrets(game, strategy):
    """Return exact counterfactual regrets, summed over actions with the same features."""
    tree, values, rows = cfr.compile(game), hands_and_values(game, strategy)[1], []
    for I, actions in zip(tree.infoset_label, tree.infoset_actions, strict=True):
        if len(actions) > 1:
            mean = sum(strategy[I][a] * values[I][a] for a in actions)
            rows += [values[I][a] - mean for a in actions]
    found, total = seen_pairs(network_player.decisions_of(game).after.pairs), {}
    for row, regret in zip(found, rows, strict=True):
        total[row.tobytes()] = total.get(row.tobytes(), 0.0) + regret
    return total


@pytest.mark.slow
def test_traversals_grow_with_k():
    nodes = [
        RobustDeepCFR(MiniKoiKoi.K12(), **TINY, k=k).run(1, progress=False).decisions
        for k in (1, 2, 3)
    ]
    assert nodes[0] < nodes[1] < nodes[2]


def test_the_reservoir_is_a_uniform_sample():
    counts, rng = np.zeros(1_000), np.random.default_rng(0)
    for _ in range(400):
        reservoir = selfplay.Reservoir(50)
        for begin in range(0, 1_000, 100):
            number = np.arange(begin, begin + 100)
            code = np.zeros((100, CODE), np.int64)
            code[:, 0] = number
            reservoir.add(selfplay.Samples(code, number * 1.0, number * 1.0), rng)
        kept = reservoir.samples.code[:, 0]
        assert (reservoir.samples.target == kept).all()
        counts[kept] += 1
    expected = 400 * 50 / 1_000
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi2 - 999) < 5 * (2 * 999) ** 0.5
    assert counts.reshape(10, 100).sum(axis=1).std() < 5 * 2_000**0.5


def test_mirror_descent_maximizes_its_objective():
    """σ′ maximizes Σ σ′ A − KL(σ′, σ) / η − α KL(σ′, uniform) over all strategies."""
    rng, eta, alpha = np.random.default_rng(0), 2.0, 0.3
    start = np.array([0, 3])
    sigma, gain = rng.dirichlet(np.ones(3)), rng.normal(size=3)
    unseen, one = np.zeros((3, CODE), int), np.zeros(1, int)
    after = Afterstates(unseen, start, np.arange(3), np.zeros(3), unseen[:1])
    step = selfplay.Step(one, one, after, sigma, one)
    output = selfplay.CriticValues(step, gain + 0.7, np.array([0.7]), np.array([True]))
    new = policy_gradient.mirror_descent(eta, alpha, output)

    def worth(p):
        kl = (p * np.log(p / sigma)).sum(), (p * np.log(p * 3)).sum()
        return (p * gain).sum() - kl[0] / eta - alpha * kl[1]

    others = rng.dirichlet(np.ones(3), 20_000)
    assert worth(new) >= max(worth(p) for p in others if (p > 0).all())


def test_bootstrapped_targets_follow_the_recursion_of_dcfr():
    """Regrets of rows with exact outputs add up as in the table, discounted and clipped."""
    rng = np.random.default_rng(0)
    for alpha, clip in ((2.0, 1), (0.0, 1), (2.0, 0), (50.0, 0)):
        total, output = np.zeros(6), np.zeros(6)
        for t in range(1, 9):
            regret = rng.normal(size=6)
            before = np.maximum(total, 0) if clip else total
            power = float(t - 1) ** alpha if t > 1 else 0.0
            total = power / (power + 1) * before + regret
            output = deep_discounted_cfr.bootstrapped(t, output, regret, alpha, clip)
            assert t * output == pytest.approx(total)


@pytest.mark.slow
def test_instant_regrets_have_mean_zero():
    learner = DeepDiscountedCFR(K9, **TINY, seed=3).run(3, progress=False)
    known = []

    def learn(critic_values):
        found = deep_discounted_cfr.instant_regrets(critic_values)
        start = critic_values.step.after.start
        counts = np.diff(start)[critic_values.selected]
        sigma = critic_values.step.sigma[critic_values.rows]
        ends = np.concatenate([[0], np.cumsum(counts)])
        known.extend(segments.segment_sum(sigma * found.target, ends))
        return found

    (_, _, regrets), _ = run_task(
        learner, partial(escher.play_by_regret, explore=0.5, learn=learn), 4
    )
    assert len(known) > 100
    assert np.abs(known).max() < 1e-6
    assert np.abs(regrets.target).max() > 0.1
    assert regrets.code.shape[1] == 2 * CODE


# ---- convergence -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "rounds", "steps", "iterations", "share"),
    [
        (ESCHER, 500, 30, 40, 0.16),
        (DeepDiscountedCFR, 1_000, 60, 25, 0.25),
        (MMDPolicyGradient, 500, 30, 25, 0.25),
    ],
)
def test_learner_reduces_exploitability(learner, rounds, steps, iterations, share):
    start = cfr.exploitability(K8, cfr.Strategy.uniform(K8))
    run = learner(K8, hidden=(64, 64), rounds=rounds, steps=steps, batch=256, seed=1)
    found = run.run(iterations, progress=False).player().strategy()
    assert cfr.exploitability(K8, found) < share * start


def test_only_one_thread_at_a_time_advances_self_play():
    started, go_on = threading.Event(), threading.Event()

    class Waiting(DeepMonteCarlo):
        def _iterate(self, t):
            started.set()
            go_on.wait(60)

    run = Waiting(K8, **TINY)
    thread = threading.Thread(target=run.run, args=(1,), kwargs={"progress": False})
    thread.start()
    assert started.wait(60)
    with pytest.raises(RuntimeError, match="another thread is advancing"):
        run.run(1, progress=False)
    go_on.set()
    thread.join()
    assert run.run(1, progress=False).iterations == 2


@pytest.mark.slow
def test_deep_monte_carlo_beats_random_play():
    run = DeepMonteCarlo(FULL, hidden=(64,), rounds=400, steps=20, batch=256)
    player = run.run(12, progress=False).player()
    assert cfr.match(Simulator(FULL), player, RandomPlayer(), 500, seed=0).mean > 2.5


@pytest.mark.slow
def test_payoffs_of_a_player_agree_with_its_strategy():
    run = ESCHER(K8, **TINY, seed=2).run(6, progress=False)
    player = run.player()
    paid = play(Simulator(K8), player, player, 30_000, seed=0)
    exact = cfr.expected_utility(K8, player.strategy())[0]
    assert paid.mean() == pytest.approx(exact, abs=4 * paid.std() / 30_000**0.5)


# ---- runs ------------------------------------------------------------------------------------


LEARNERS = [DeepMonteCarlo, MMDPolicyGradient, ESCHER, RobustDeepCFR, DeepDiscountedCFR]


def same(a, b):
    pairs = zip(a._states, b._states, strict=True)
    equal = all(np.array_equal(x, y) for s, t in pairs for x, y in zip(s, t, strict=True))
    arrays, others = a._state(), b._state()
    return equal and all(np.array_equal(arrays[name], others[name]) for name in arrays)


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_runs_are_reproducible(learner):
    one, again = (learner(K8, **TINY, seed=5).run(3, progress=False) for _ in range(2))
    assert same(one, again)
    assert not same(one, learner(K8, **TINY, seed=6).run(3, progress=False))


@pytest.mark.slow
@pytest.mark.parametrize("learner", [DeepMonteCarlo, MMDPolicyGradient])
def test_players_use_averaged_weights(learner):
    run, weights = learner(K8, **TINY), []
    for _ in range(40):
        weights.append(run.run(1, progress=False)._states[0].weights)
    # about n^9: (n − 1) (n − 2) … (n − 9), 0 for the first nine
    counts = [np.prod(n - np.arange(1.0, 10)) if n > 9 else 0.0 for n in range(1, 41)]
    wanted = np.average(weights, axis=0, weights=counts)
    assert run.player().networks[0] == pytest.approx(wanted, abs=1e-6)


def test_results_do_not_depend_on_workers():
    alone = ESCHER(K8, **TINY).run(2, progress=False)
    shared = ESCHER(K8, **TINY, jobs=2).run(2, progress=False)
    assert same(alone, shared)


def test_save_and_load_round_trip(tmp_path):
    path, seed = tmp_path / "player.npz", np.uint64(7)
    whole = ESCHER(K8, **TINY).run(3, progress=False).player()
    half = [network.astype(np.float16) for network in 3 * whole.networks][:7]
    squares = np.arange(1, 8) ** 2  # normalized twice, they would change
    for player in (whole, NetworkPlayer(K8, half, (16,), "regret", squares)):
        player.save(path)
        loaded = NetworkPlayer.load(path, K8)
        assert repr(loaded) == repr(player)
        assert all(map(np.array_equal, loaded.networks, player.networks))
        assert np.array_equal(loaded.weights, player.weights)
        assert loaded.checksum == player.checksum
        rounds = (simulator := Simulator(K8)).deal(50, seed=0)
        rows = np.arange(50)
        assert np.array_equal(*(p(simulator, rounds, rows, seed) for p in (player, loaded)))
    with np.load(path) as file:
        assert file["networks"].dtype == np.float16  # lossless here
    with pytest.raises(ValueError, match="not for MiniKoiKoi"):
        NetworkPlayer.load(path, K9)


@pytest.mark.slow
def test_players_refuse_other_rules_unless_told():
    player = DeepMonteCarlo(K8, **TINY).run(1, progress=False).player()
    once = MiniKoiKoi.K8(koi_limit=1)
    simulator, rows, key = Simulator(once), np.arange(40), np.uint64(1)
    rounds = simulator.deal(40, seed=0)
    with pytest.raises(ValueError, match=r"other rules, .* player\.under\(game\)"):
        player(simulator, rounds, rows, key)
    with pytest.raises(ValueError, match="other rules"):
        player.advise(simulator, rounds, 0)
    with pytest.raises(ValueError, match="train a player of that game"):
        player.under(K9)
    rebased = player.under(once)
    actions = rebased(simulator, rounds, rows, key)
    simulator.act(rounds, rows, actions)  # raises if an action is illegal
    fresh = Simulator(K8).deal(40, seed=0)
    assert np.array_equal(actions, player(Simulator(mini("K8")), fresh, rows, key))
    assert rebased.game is once and rebased.rule == player.rule
    deep = DeepMonteCarlo(K8, hidden=(16,), network="transformer").player()
    assert deep.under(once).network.kind == "transformer"
    for game, one in ((once, player), (K8, rebased)):
        with pytest.raises(ValueError, match="other rules"):
            cfr.match(Simulator(game), one, GreedyPlayer(), 10, seed=0)


@pytest.mark.parametrize("tampered", ["a weight", "a share", "a byte", "the header", "cut"])
def test_tampered_players_raise(tampered, tmp_path):
    path = tmp_path / "player.npz"
    MMDPolicyGradient(K8, **TINY).run(1, progress=False).player().save(path)
    with np.load(path) as file:
        arrays = {name: file[name].copy() for name in file.files}
    if tampered == "a weight":
        arrays["networks"][0, 3] += 1e-3
    elif tampered == "a share":
        arrays["weights"] = np.ones(2)
    elif tampered == "the header":
        arrays["header"] = np.array(str(arrays["header"]).replace("logit", "luck"))
    np.savez(path, **arrays)
    whole = bytearray(path.read_bytes())
    if tampered == "a byte":
        whole[len(whole) // 2] ^= 1
    path.write_bytes(whole[: len(whole) // 2] if tampered == "cut" else whole)
    with pytest.raises(ValueError, match="complete file"):
        NetworkPlayer.load(path, K8)


@pytest.mark.parametrize("kind", ["learner", "player"])
def test_networks_larger_than_their_file_are_refused_before_they_are_created(kind, tmp_path):
    """The header claims widths of a network of 6 GB, and its digest is right."""
    run, path = DeepMonteCarlo(K8, **TINY), tmp_path / "forged.npz"
    (run if kind == "learner" else run.player()).save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays["header"]))
    header.get("options", header)["hidden"] = [40_000, 40_000]
    text = json.dumps(header)
    arrays["header"] = np.array(text)
    arrays["digest"] = np.array(sha256(text.encode()).hexdigest())
    np.savez(path, **arrays)
    tracemalloc.start()
    with pytest.raises(ValueError, match="smaller than networks of widths"):
        (DeepMonteCarlo if kind == "learner" else NetworkPlayer).load(path, K8)
    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()


def test_invalid_options_raise():
    for options, message in [
        ({"rounds": 3}, "rounds"), ({"steps": 0}, "steps"), ({"rate": 0}, "rate"),
        ({"explore": 2}, "explore"), ({"memory": 0}, "memory"), ({"window": 0}, "window"),
        ({"keep_every": 0}, "keep_every"), ({"power": -1}, "power"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            ESCHER(K8, **{**TINY, **options})
    with pytest.raises(ValueError, match="limit of the run"):
        ESCHER(K8, **TINY).run()
    with pytest.raises(ValueError, match="run 5 iterations or more"):
        ESCHER(K8, **TINY, keep_every=5).run(4, progress=False).player()
    with pytest.raises(ValueError, match="network must be one of"):
        DeepDiscountedCFR(K8, **TINY, network="pair")
    for options in ({"clip": 2}, {"alpha": -1}):
        with pytest.raises(ValueError, match=next(iter(options))):
            DeepDiscountedCFR(K8, **TINY, **options)
    network = ESCHER(K8, **TINY)._states[0].weights
    with pytest.raises(ValueError, match="network must be one of"):
        NetworkPlayer(K8, [network], (16,), "regret", network="lstm")
    with pytest.raises(ValueError, match="rule must be"):
        NetworkPlayer(K8, [network], (16,), "luck")
    with pytest.raises(ValueError, match="weights; got"):
        NetworkPlayer(K9, [network], (16,), "value")
    with pytest.raises(ValueError, match="shares of 1"):
        NetworkPlayer(K8, [network], (16,), "value", [1.0, 2.0])
