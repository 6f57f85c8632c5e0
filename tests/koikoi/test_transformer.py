"""The Transformer over the order of play: its input, what it can learn, and its files."""

import jax
import numpy as np
import pytest
from koikoi_hands import some_rounds
from toy_games import mini

import cfrlib as cfr
from koikoi import KoiKoi
from koikoi.afterstates import Describer
from koikoi.learners import ApproximateBestResponse, DeepMonteCarlo, NetworkPlayer
from koikoi.learners.network_player import decisions_of
from koikoi.learners.transformer import Transformer
from koikoi.learners.value_network import choice_loss, shape, value_network
from koikoi.players import play
from koikoi.simulator import Simulator
from koikoi_learners import ESCHER, DeepDiscountedCFR, LocalBestResponse, MMDPolicyGradient

FULL, K8, K10 = KoiKoi(), mini("K8"), mini("K10")
TINY = {"hidden": (16,), "rounds": 60, "steps": 4, "batch": 32, "network": "transformer"}


def decisions(game, rounds=60, moves=9, seed=0):
    """Return a describer of records, and rounds after some random moves, none of them over."""
    played, rows = some_rounds(game, rounds, moves, seed)
    return Describer(game, ordered=True), played.take(rows)


def random_network(game, seed=0, kind="transformer"):
    """Return a Transformer and weights of which none is 0, unlike those of a new one."""
    network = value_network(game, (16,), kind)
    return network, np.random.default_rng(seed).normal(0, 0.3, network.size).astype(np.float32)


def module(network, weights):
    """Return the Flax module of a network with these weights."""
    found = shape(*network._sizes).network(weights)
    assert isinstance(found, Transformer)
    return found


# ---- the input -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("game", [K8, mini("K9"), K10], ids=repr)
def test_table_and_record_are_all_that_a_player_knows(game):
    """No two infosets have the same input; without the record, some do."""
    known = decisions_of(game, True)
    describer = Describer(game, ordered=True)
    before = known.after.before
    table = describer.see(before)
    tokens = describer.tokens(before).reshape(len(before), -1)
    assert len(np.unique(np.hstack([table, tokens]), axis=0)) == len(before)
    assert len(np.unique(table, axis=0)) < len(before)
    plain = decisions_of(game)
    assert np.array_equal(plain.after.before, before[:, : plain.after.before.shape[1]])


def test_tokens_tell_whose_turn_it_was():
    """The same record, seen from the other seat, has the same cards."""
    describer, rounds = decisions(FULL)
    code = describer.after(rounds, np.arange(len(rounds))).before
    mine, swapped = describer.tokens(code), code.copy()
    swapped[:, 9] = 1 - swapped[:, 9]
    theirs = describer.tokens(swapped)
    assert np.array_equal(mine[..., 1:], theirs[..., 1:])
    real = mine[..., 0] > 0
    assert real.any() and (real == (mine[..., 1] > 0)).all()
    assert ((mine[real, 0] - 1) % 2 != (theirs[real, 0] - 1) % 2).all()
    assert ((mine[real, 0] - 1) // 2 == (theirs[real, 0] - 1) // 2).all()
    with pytest.raises(ValueError, match="ordered=True"):
        Describer(FULL).tokens(code)


# ---- the network -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "read"), [("transformer", "code"), ("transformer pair", "pairs")]
)
def test_the_output_depends_on_the_order_of_play(kind, read):
    describer, rounds = decisions(FULL, moves=12)
    network, weights = random_network(FULL, kind=kind)
    every = np.arange(len(rounds))
    code = getattr(describer.after(rounds, every), read)
    first, third = rounds.record[:, :2].copy(), rounds.record[:, 4:6].copy()
    rounds.record[:, :2], rounds.record[:, 4:6] = third, first  # two turns of the dealer
    permuted = getattr(describer.after(rounds, every), read)
    assert np.array_equal(network._see(code), network._see(permuted))
    change = np.abs(network(weights, code) - network(weights, permuted))
    assert (change > 1e-4).mean() > 0.9


@pytest.mark.slow
def test_padding_does_not_matter():
    describer, rounds = decisions(FULL, moves=6)
    network, weights = random_network(FULL)
    code = describer.after(rounds, np.arange(len(rounds))).before
    tokens = describer.tokens(code)
    longest = int((tokens[..., 0] > 0).sum(axis=1).max())
    assert 0 < longest < 8
    read = jax.jit(module(network, weights).read)
    whole = np.asarray(read(tokens))
    noise = tokens.copy()
    noise[tokens[..., 0] == 0] = [0, 7, 7, 7, 7]  # kind 0, whatever the cards
    for other in (tokens[:, :longest], tokens[:, :8], noise):
        assert np.asarray(read(other)) == pytest.approx(whole, abs=1e-4)
    alone = np.concatenate([network(weights, row[None]) for row in code[:10]])
    assert alone == pytest.approx(network(weights, code)[:10], abs=1e-4)


@pytest.mark.slow
def test_actions_share_the_summary_of_their_decision():
    """A record is read once per decision; the order of the rows does not matter."""
    describer, rounds = decisions(FULL)
    network, weights = random_network(FULL)
    code = describer.after(rounds, np.arange(len(rounds))).code
    shuffled = np.random.default_rng(0).permutation(len(code))
    outputs = network(weights, code)
    assert network(weights, code[shuffled]) == pytest.approx(outputs[shuffled], abs=1e-4)
    whole = jax.jit(module(network, weights))((describer.see(code), describer.tokens(code)))
    assert np.asarray(whole)[:, 0] == pytest.approx(outputs, abs=1e-4)


@pytest.mark.slow
def test_a_transformer_learns_what_the_table_does_not_show():
    """The target is +1 for the order that was played, and −1 with two turns exchanged."""
    describer, rounds = decisions(K10, rounds=300, moves=4)
    rows = np.flatnonzero(np.bitwise_count(rounds.hands).sum(axis=1) == 1)
    rows = rows[rounds.record[rows, 0] & 127 != rounds.record[rows, 4] & 127]
    code = describer.after(rounds, rows).before
    rounds.record[:, [0, 1, 4, 5]] = rounds.record[:, [4, 5, 0, 1]]
    other = describer.after(rounds, rows).before
    same = (describer.see(code) == describer.see(other)).all(axis=1)
    assert same.all() and len(code) > 20
    inputs, target = np.concatenate([code, other]), np.repeat([1.0, -1.0], len(code))
    errors = {}
    for kind in ("mlp", "transformer"):
        network = value_network(K10, (32,), kind)
        seen = inputs[:, : network.describer.width]
        batch = np.tile(seen, (300, 1, 1)), np.tile(target, (300, 1)), np.ones((300, len(seen)))
        state, _ = network.improve(network.fresh(jax.random.key(0)), *batch, 3e-3)
        errors[kind] = float(np.mean((network(state.weights, seen) - target) ** 2))
    assert errors["mlp"] > 0.99  # it can do no better than 0
    assert errors["transformer"] < 0.3


@pytest.mark.slow
def test_decisions_are_trained_with_one_record_for_all_actions():
    """The loss of padded decisions is that of the network's own outputs."""
    describer, rounds = decisions(FULL)
    network, _ = random_network(FULL)
    state = network.fresh(jax.random.key(1))
    after = describer.after(rounds, np.arange(8))
    counts = np.diff(after.start)
    wide = np.zeros((8, counts.max(), describer.width), np.int64)
    weight, target = np.zeros(wide.shape[:2]), np.zeros(wide.shape[:2])
    for n, (begin, end) in enumerate(zip(after.start, after.start[1:], strict=False)):
        wide[n, : end - begin], weight[n, : end - begin] = after.code[begin:end], 1.0
        target[n, 0] = 1.0
    again, loss = network.improve(
        state, np.tile(wide, (60, 1, 1, 1)), np.tile(target, (60, 1, 1)),
        np.tile(weight, (60, 1, 1)), 1e-2, choice_loss,
    )  # fmt: skip
    logits = network(again.weights, after.code)
    greedy = [
        logits[begin:end].argmax()
        for begin, end in zip(after.start, after.start[1:], strict=False)
    ]
    assert loss < np.log(counts).mean()
    assert greedy == [0] * 8


# ---- players and learners --------------------------------------------------------------------


def random_player(game, rule="value"):
    weights = random_network(game)[1]
    return NetworkPlayer(game, [weights], (16,), rule, network="transformer")


@pytest.mark.slow
def test_payoffs_of_a_player_agree_with_its_exact_strategy():
    """The record in play and the one that `place` replays lead to the same strategy."""
    player = random_player(K8, "logit")
    paid = play(Simulator(K8), player, player, 30_000, seed=0)
    exact = cfr.expected_utility(K8, player.strategy())[0]
    assert paid.mean() == pytest.approx(exact, abs=4 * paid.std() / 30_000**0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner", [DeepMonteCarlo, MMDPolicyGradient, ESCHER, DeepDiscountedCFR]
)
def test_saved_learners_resume_exactly(learner, tmp_path):
    path = tmp_path / "run.npz"
    whole = learner(K8, **TINY, seed=3).run(4, progress=False)
    half = learner(K8, **TINY, seed=3)
    half.save(path)  # before the first iteration, with empty buffers
    half = learner.load(path, K8).run(2, progress=False)
    half.save(path)
    again = learner.load(path, K8).run(2, progress=False)
    arrays, others = whole._state(), again._state()
    assert all(np.array_equal(arrays[name], others[name]) for name in arrays)
    assert all(network.kind.startswith("transformer") for network in again._networks)


@pytest.mark.slow
def test_saved_players_keep_the_kind_of_their_network(tmp_path):
    path, player = tmp_path / "player.npz", random_player(K8)
    player.save(path)
    loaded = NetworkPlayer.load(path, K8)
    assert repr(loaded) == repr(player)
    assert "(transformer)" in repr(loaded)
    assert np.array_equal(loaded.networks, player.networks)
    with pytest.raises(ValueError, match="weights; got"):
        NetworkPlayer(K8, player.networks, (16,), "value")
    with pytest.raises(ValueError, match="network must be"):
        DeepMonteCarlo(K8, **TINY | {"network": "lstm"})


@pytest.mark.slow
def test_responders_play_against_transformers():
    target = DeepMonteCarlo(K8, **TINY).player()
    local = LocalBestResponse(target, samples=8)
    assert cfr.match(Simulator(K8), local, target, 200, seed=0).mean > 0
    run = ApproximateBestResponse(K8, target, start=target, rounds=60, steps=4, batch=32)
    assert run.run(1, progress=False).player().network.kind == "transformer"
