"""Best responses: exact beliefs, unbiased playouts, lower bounds on exploitability."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from koikoi_hands import exchanged, hands_and_values
from toy_games import mini

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from cfrlib.playing.lower_bound import resample
from koikoi import KoiKoi, MiniKoiKoi
from koikoi.afterstates import COUNTS, PLACES
from koikoi.learners import (
    ApproximateBestResponse,
    DeepMonteCarlo,
    NetworkPlayer,
    approximate_best_response,
    network_player,
    selfplay,
)
from koikoi.players import GreedyPlayer, RandomPlayer, play
from koikoi.rules import KOI, STOP, special_hand
from koikoi.simulator import CALL, OVER, Simulator
from koikoi_learners import ESCHER, LocalBestResponse, local_best_response

FULL, K8, K9, K10 = KoiKoi(), mini("K8"), mini("K9"), mini("K10")
TINY = {"hidden": (16,), "rounds": 60, "steps": 4, "batch": 32}
SEAT = (PLACES + COUNTS).index("seat")
KEY = np.uint64(7)


@cache
def mixture(game, networks=5):
    """Return a target that is a mixture of networks and plays mixed strategies."""
    return ESCHER(game, **TINY, seed=2).run(networks, progress=False).player()


def single(game):
    return ESCHER(game, **TINY, seed=2).run(5, progress=False).current


# ---- exact posteriors and values from the game tree ------------------------------------------


def dealt_positions(game, simulator, rounds):
    """Return the positions after these deals, by the rules."""
    positions = []
    for r in range(len(rounds)):
        at = simulator.position(rounds, r)
        deal = game._deal_name((*at.hands, at.field))
        positions.append(game.step(game.root(), deal))
    return positions


def next_position(game, simulator, rounds, r, at, action):
    """Return the position after an action in round r and the draw that may follow it."""
    name = (STOP, KOI)[action] if rounds.stage[r] == CALL else simulator.names[action]
    at = game.step(at, name)
    if at.stage == "draw":
        at = game.step(at, simulator.names[rounds.order[r, rounds.turned[r]]])
    return at


def play_watched(game, responder, player, deals, seed=0):
    """Play while the responder watches; yield the rounds and their positions by the rules."""
    simulator = Simulator(game)
    rounds = simulator.deal(deals, seed=seed)
    positions = dealt_positions(game, simulator, rounds)
    while len(rows := np.flatnonzero(rounds.stage != OVER)):
        yield simulator, rounds, rows, positions
        actions = player(simulator, rounds, rows, np.uint64(seed))
        responder.watch(simulator, rounds, rows, actions)
        for r, action in zip(rows, actions, strict=True):
            positions[r] = next_position(game, simulator, rounds, r, positions[r], action)
        simulator.act(rounds, rows, actions)


@cache
def posteriors(target):
    """Return the unnormalized posterior of the target's hand at each infoset."""
    return hands_and_values(target.game, target.strategy())[0]


def normalized(masses):
    total = sum(masses.values())
    return {hand: mass / total for hand, mass in masses.items()}


# ---- the belief ------------------------------------------------------------------------------


def compare_beliefs(game, target, tolerance, deals=60, **options):
    """Compare the belief at every decision of these deals with the exact posterior."""
    masses = posteriors(target)
    responder, met, far = LocalBestResponse(target, slip=0.0, **options), 0, []
    for simulator, rounds, rows, positions in play_watched(game, responder, target, deals):
        belief = responder.belief(simulator, rounds, rows, KEY)
        for d, r in enumerate(rows):
            exact = masses[game.node(positions[r]).infoset]
            if sum(exact.values()) < 1e-12:
                continue
            found = dict.fromkeys(exact, 0.0)
            for w in range(*belief.start[d : d + 2]):
                hand = simulator._cards(int(belief.hand[w]))
                found[hand] = found.get(hand, 0.0) + belief.weight[w]
            exact, met = normalized(exact), met + 1
            off = max(abs(found[hand] - exact.get(hand, 0.0)) for hand in found)
            assert off < tolerance, f"belief is {found}, not {exact}"
            far.append(max(exact.values()) - min(exact.values()))
    assert met > 2 * deals
    assert (np.array(far) > 0.1).sum() > deals / 3  # posteriors are not all uniform


def deterministic(game):
    return DeepMonteCarlo(game, **TINY).run(3, progress=False).player()


@pytest.mark.slow
@pytest.mark.parametrize(("game", "make"), [(K8, mixture), (K9, mixture), (K8, deterministic)])
def test_exhaustive_beliefs_are_exact_posteriors(game, make):
    compare_beliefs(game, make(game), 1e-6, hands=10_000)


@pytest.mark.slow
def test_sampled_beliefs_approximate_the_posteriors():
    few = mixture(K8)
    many = NetworkPlayer(K8, few.networks * 60, few.hidden, few.rule, few.weights.tolist() * 60)
    compare_beliefs(K8, many, 0.09, deals=5, hands=1_500)  # of up to 1,800 worlds


@pytest.mark.slow
def test_responder_does_not_depend_on_hidden_cards():
    """Exchange hidden cards of hand and stock; beliefs and actions must stay the same."""
    target = DeepMonteCarlo(FULL, **TINY).run(2, progress=False).player()
    for moves in (0, 5, 12):
        simulator = Simulator(FULL)
        rounds, log = simulator.deal(12, seed=moves), []
        start = rounds.take(range(12))
        for _ in range(moves):
            rows = np.flatnonzero(rounds.stage != OVER)
            log.append((rows, RandomPlayer()(simulator, rounds, rows, KEY)))
            simulator.act(rounds, *log[-1])
        rows = np.flatnonzero(rounds.stage != OVER)
        changed = exchanged(rounds, rows, start)
        answers = []
        for dealt in (start, changed):
            responder = LocalBestResponse(target, samples=4, hands=20)
            for some, actions in log:
                responder.watch(simulator, dealt, some, actions)
                simulator.act(dealt, some, actions)
            belief = responder.belief(simulator, dealt, rows, KEY)
            answers.append((*belief, responder(simulator, dealt, rows, KEY)))
        assert (start.hands != changed.hands).any()
        for mine, other in zip(*answers, strict=True):
            assert np.array_equal(mine, other), "belief or action depends on hidden cards"


def test_prior_lists_every_world_once():
    simulator = Simulator(K10)
    rounds = simulator.deal(30, seed=0)
    responder = LocalBestResponse(mixture(K10, 2), hands=30)  # 15 hands with 2 networks
    belief = responder._prior(rounds, np.arange(30), KEY)
    assert (np.diff(belief.start) == 30).all()
    for d in range(30):
        some = slice(*belief.start[d : d + 2])
        mine = int(rounds.hands[d, 0] | rounds.field[d])
        hidden = [c for c in range(10) if not mine >> c & 1]
        expected = {
            (sum(1 << c for c in two), n) for two in combinations(hidden, 2) for n in (0, 1)
        }
        found = zip(belief.hand[some].tolist(), belief.network[some].tolist(), strict=True)
        assert set(found) == expected


@pytest.mark.slow
def test_sampled_hands_are_uniform():
    simulator, target = Simulator(K10), mixture(K10, 3)
    rounds = simulator.deal(1, seed=0)
    responder = LocalBestResponse(target, hands=44)  # of 45
    counts, networks = {}, np.zeros(3)
    for key in range(500):
        belief = responder._prior(rounds, np.array([0]), np.uint64(key))
        assert (np.bitwise_count(belief.hand) == 2).all()
        assert not (belief.hand & (rounds.hands[0, 0] | rounds.field[0])).any()
        for hand in belief.hand.tolist():
            counts[hand] = counts.get(hand, 0) + 1
        networks += np.bincount(belief.network, minlength=3)
    expected = 22_000 / len(counts)
    assert len(counts) == 15
    chi2 = sum((n - expected) ** 2 / expected for n in counts.values())
    assert chi2 < 14 + 5 * 28**0.5
    assert networks / 22_000 == pytest.approx(target.weights, abs=0.02)


@pytest.mark.slow
def test_special_hands_have_weight_zero():
    target = DeepMonteCarlo(FULL, **TINY).player()
    responder, specials = LocalBestResponse(target, hands=400), 0
    simulator = Simulator(FULL)
    rounds, rows = simulator.deal(40, seed=1), np.arange(40)
    for seat in range(2):
        belief = responder.belief(simulator, rounds, rows, KEY)
        for hand, weight in zip(belief.hand, belief.weight, strict=True):
            names = simulator._cards(int(hand))
            lucky = special_hand(FULL.months[name] for name in names)
            if seat == 0:
                assert (weight == 0) == lucky
                specials += lucky
        actions = target(simulator, rounds, rows, KEY)
        responder.watch(simulator, rounds, rows, actions)
        simulator.act(rounds, rows, actions)
        rows = np.flatnonzero((rounds.stage != OVER) & (rounds.player == 1))
    assert specials > 20


# ---- playouts --------------------------------------------------------------------------------


def full_strategy(player):
    """Return the strategy of one network, also at infosets its own choices exclude."""
    form, known = sequence_form(player.game), network_player.decisions_of(player.game)
    sigma = form.uniform()
    sigma[known.sequence] = player.sigma(0, known.after)
    return cfr.Strategy.from_vector(form, sigma)


@pytest.mark.slow
def test_playouts_estimate_action_values_without_bias():
    """With one network in both seats, playouts are unbiased at every decision."""
    target, samples = single(K8), 1_500
    masses, values = hands_and_values(K8, full_strategy(target))
    responder, z = LocalBestResponse(target, slip=0.0, hands=100, samples=samples), []
    for simulator, rounds, rows, positions in play_watched(K8, responder, target, 12):
        belief = responder.belief(simulator, rounds, rows, KEY)
        u = np.linspace(0, 1, len(rows), endpoint=False)
        worlds = resample(belief.weight, belief.start, samples, u)
        after = target.network.describer.after(rounds, rows)
        paid = responder._play_out(
            simulator, rounds, rows, after, belief, worlds, KEY, KEY + np.uint64(1)
        )
        for d, r in enumerate(rows):
            infoset = K8.node(positions[r]).infoset
            total = sum(masses[infoset].values())
            if total < 1e-12:
                continue
            exact = [v / total for v in values[infoset].values()]
            for row, v in zip(range(*after.start[d : d + 2]), exact, strict=True):
                error = paid[row].std() / samples**0.5
                gap = paid[row].mean() - v
                assert abs(gap) < 5 * error + 1e-3  # resampling rounds to whole worlds
                if error > 0.01:
                    z.append(gap / error)
    assert len(z) > 15
    assert np.abs(z).mean() < 1.2


@pytest.mark.slow
def test_worlds_are_resampled_in_proportion_to_weight():
    weight, start = np.array([0.5, 0.0, 0.5, 0.1, 0.9]), np.array([0, 3, 5])
    rows = resample(weight, start, 20, np.array([0.3, 0.999]))
    assert np.bincount(rows[0], minlength=5).tolist() == [10, 0, 10, 0, 0]
    assert np.bincount(rows[1], minlength=5).tolist() == [0, 0, 0, 2, 18]


# ---- bounds ----------------------------------------------------------------------------------


def targets(game):
    """Return players from bad to good, and the share of exploitability to be found."""
    brief = DeepMonteCarlo(game, hidden=(32,), rounds=200, steps=5, batch=64)
    good = ESCHER(game, hidden=(64, 64), rounds=500, steps=30, batch=256, seed=1)
    return [
        (DeepMonteCarlo(game, hidden=(16,)).player(), 0.75),
        (brief.run(4, progress=False).player(), 0.75),
        (good.run(30, progress=False).player(), -1.0),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("game", [K8, K10], ids=repr)
def test_lower_bounds_do_not_exceed_exploitability(game):
    for target, share in targets(game):
        theirs = target.strategy()
        exact = cfr.exploitability(game, theirs)
        run = ApproximateBestResponse(game, target, hidden=(64,), rounds=1_000, batch=256)
        trained = run.run(20, progress=False).player()
        local, learned = (
            cfr.exploitability_bound(Simulator(game), target, responder, rounds=rounds, seed=0)
            for responder, rounds in [(LocalBestResponse(target), 600), (trained, 20_000)]
        )
        for found in (local, learned):
            assert found.mean < exact + 4 * found.standard_error
            assert found.mean > share * exact - 4 * found.standard_error
        # the exact value of the trained strategy
        wins, mine = 0.0, trained.strategy()
        for seat in range(2):
            plays = [theirs, theirs]
            plays[seat] = mine
            wins += cfr.expected_utility(game, seated(game, plays))[seat] / 2
        assert wins <= exact + 1e-9
        assert learned.mean == pytest.approx(wins, abs=4 * learned.standard_error)


@pytest.mark.parametrize("responder", ["local", "trained"])
def test_bounds_are_those_of_other_games(responder):
    """The responder takes a seat at a time, and the target plays the same rounds."""
    simulator, target = Simulator(K8), GreedyPlayer("stop")
    if responder == "local":
        target = DeepMonteCarlo(K8, **TINY).player()
        player = LocalBestResponse(target, samples=4)
    else:
        player = ApproximateBestResponse(K8, target, **TINY).player()
    bounds = [
        cfr.best_response_bound(simulator, target, i, player, rounds=40, seed=0)
        for i in range(2)
    ]
    whole = cfr.exploitability_bound(simulator, target, player, rounds=40, seed=0)
    assert np.array_equal(whole.samples, sum(bound.gain.samples for bound in bounds) / 2)
    assert whole.mean == pytest.approx(sum(bound.mean for bound in bounds) / 2)  # zero-sum
    assert whole.mean != 0
    with pytest.raises(ValueError, match=f"responder='{responder}' is for a Game; in Sim"):
        cfr.best_response_bound(simulator, target, 0, responder)


def seated(game, plays):
    """Combine player 0's part of the one strategy with player 1's of the other."""
    tree = cfr.compile(game)
    rows = zip(tree.infoset_label, tree.infoset_player, strict=True)
    return cfr.Strategy(game, {label: plays[i][label] for label, i in rows})


@pytest.mark.slow
def test_local_best_response_is_reproducible():
    target = mixture(K9)
    simulator = Simulator(K9)
    responder = LocalBestResponse(target, samples=4, hands=30)
    first = play(simulator, responder, target, 80, seed=3)
    assert np.array_equal(first, play(simulator, responder, target, 80, seed=3))
    fresh = LocalBestResponse(target, samples=4, hands=30)
    assert np.array_equal(first, play(simulator, fresh, target, 80, seed=3))
    assert len(cfr.match(Simulator(K9), fresh, fresh, 40, seed=0).samples) == 40


@pytest.mark.slow
def test_choices_do_not_depend_on_the_batch_size(monkeypatch):
    target = mixture(K9)
    whole = play(Simulator(K9), LocalBestResponse(target, samples=4), target, 60, seed=3)
    monkeypatch.setattr(local_best_response, "MOST_ROUNDS", 500)
    parts = play(Simulator(K9), LocalBestResponse(target, samples=4), target, 60, seed=3)
    assert (whole == parts).mean() > 0.9  # sums of float32 may differ in their last bits


@pytest.mark.slow
def test_watchers_observe_every_action():
    class Recorder:
        """Plays at random and records all actions."""

        def __init__(self):
            self.actions = []

        def __call__(self, simulator, rounds, rows, key):
            return RandomPlayer()(simulator, rounds, rows, key)

        def watch(self, simulator, rounds, rows, actions):
            assert (rounds.stage[rows] != OVER).all()
            self.actions.append((rows, actions))

    recorder, simulator = Recorder(), Simulator(FULL)
    paid = play(simulator, recorder, GreedyPlayer(), 50, seed=5)
    rounds = simulator.deal(50, seed=np.random.SeedSequence(5).spawn(1)[0])
    for rows, actions in recorder.actions:
        simulator.act(rounds, rows, actions)
    assert (rounds.stage == OVER).all()
    assert np.array_equal(rounds.paid, paid)


# ---- approximate best responses --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["greedy", "networks"])
def test_a_saved_responder_resumes_exactly(kind, tmp_path):
    target = GreedyPlayer("koi") if kind == "greedy" else mixture(K8)
    start = DeepMonteCarlo(K8, **TINY, seed=4).run(2, progress=False).player()
    options = {**TINY, "start": start, "seed": 3, "rate": 5e-3}
    whole = ApproximateBestResponse(K8, target, **options).run(6, progress=False)
    half = ApproximateBestResponse(K8, target, **options).run(3, progress=False)
    half.save(tmp_path / "half.npz")
    rest = ApproximateBestResponse.load(tmp_path / "half.npz", K8, target=target)
    assert rest.iterations == 3
    assert rest.run(3, progress=False).decisions == whole.decisions
    assert rest.losses == whole.losses
    assert np.array_equal(rest.player().networks, whole.player().networks)
    many = ApproximateBestResponse(K8, target, **options, jobs=2).run(2, progress=False)
    one = ApproximateBestResponse(K8, target, **options).run(2, progress=False)
    assert np.array_equal(many.player().networks, one.player().networks)


def test_loading_with_another_target_raises(tmp_path):
    target, path = mixture(K8), tmp_path / "run.npz"
    ApproximateBestResponse(K8, target, **TINY).save(path)
    ApproximateBestResponse.load(path, K8, target=mixture.__wrapped__(K8))  # an equal player
    shares = np.roll(target.weights, 1)
    nudged = [target.networks[0] + np.float32(1e-6), *target.networks[1:]]
    for other in (
        mixture(K8, 4), GreedyPlayer(),
        NetworkPlayer(K8, target.networks, target.hidden, "regret", shares),
        NetworkPlayer(K8, nudged, target.hidden, "regret", target.weights),
        NetworkPlayer(K8, target.networks, target.hidden, "logit", target.weights),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="another target"):
            ApproximateBestResponse.load(path, K8, target=other)
    with pytest.raises(ValueError, match="target=…"):
        ApproximateBestResponse.load(path, K8)
    with pytest.raises(ValueError, match="not for MiniKoiKoi"):
        ApproximateBestResponse.load(path, MiniKoiKoi.K8(koi_factor=3), target=target)
    with pytest.raises(ValueError, match="complete file"):
        DeepMonteCarlo.load(path, K8)


@pytest.mark.slow
def test_samples_are_actions_of_the_responder_only():
    class Counted:
        decisions = 0

        def __call__(self, simulator, rounds, rows, key):
            self.decisions += len(rows)
            return GreedyPlayer()(simulator, rounds, rows, key)

    target, learner = Counted(), ApproximateBestResponse(K9, GreedyPlayer(), **TINY)
    task = selfplay.Task(K9, (16,), (learner.player().networks[0],), (0, 1, 0), 200)
    decisions, samples = approximate_best_response.play_response(task, target, 0.1)
    mine = decisions - target.decisions
    assert mine - 200 <= len(samples.code) < mine  # all but stop actions
    seats = samples.code[:, SEAT]
    assert 0.35 < seats.mean() < 0.65
    _, rounds, _ = task.begin()
    first = samples.code[(seats == 0) & (samples.code[:, PLACES.index("theirs")] == 0)]
    hands = {int(rounds.hands[r, 0]) for r in range(0, 200, 2)}
    opening = [row[0] for row in first if np.bitwise_count(np.uint64(row[0])) == 1]
    assert all(any(hand & row == row for hand in hands) for row in map(int, opening))


def test_invalid_options_raise():
    target = mixture(K8)
    for options, message in [
        ({"samples": 1}, "samples"), ({"hands": 0}, "hands"), ({"slip": 2}, "slip"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            LocalBestResponse(target, **options)
    simulator = Simulator(K8)
    rounds = simulator.deal(5, seed=0)
    simulator.act(rounds, range(5), target(simulator, rounds, np.arange(5), KEY))
    rows = np.flatnonzero(rounds.player == 1)
    with pytest.raises(ValueError, match="watch a round from its beginning"):
        LocalBestResponse(target)(simulator, rounds, rows, KEY)
    value = DeepMonteCarlo(K8, **TINY).player()
    with pytest.raises(ValueError, match="values of one network"):
        ApproximateBestResponse(K8, value, start=target)
    with pytest.raises(ValueError, match="widths"):
        ApproximateBestResponse(K9, GreedyPlayer(), start=value)
    with pytest.raises(ValueError, match="widths"):
        ApproximateBestResponse(K8, GreedyPlayer(), start=value, hidden=(8,))
