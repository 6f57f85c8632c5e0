"""Evaluate the trained Koi-Koi players: duels, matches, and bounds on their exploitability.

    python experiments/koikoi_judge.py [--only duels]

Reads the players that experiments/koikoi_train.py wrote, and writes experiments/
koikoi_judge.json after each result. A second run computes only results that are missing or
belong to other networks. A full run takes about an hour on one core.

- `duels`: points per round that each player wins from the simple ones and from each other, with
  every deal played in both seats, ± 95 %; the number of deals depends on the spread.
- `spread`: standard deviation of the payoff of a round, and of the mean over both seats.
- `matches`: matches of twelve rounds against greedy players.
- `exploited`: points per round that a local best response and a trained one win from each
  player: lower bounds on its exploitability, and no more. The trained one starts from the
  network of `monte carlo`, which predicts values.
- `told`: how well a network learns the regrets of a fixed player: trained on the regrets, for
  the table after the action; or on values, for the tables after and before it.
- `traversals`: number of decisions in a traversal of robust sampling, by k; external sampling
  is k = inf.

All numbers are seeded; seconds are processor time.
"""

import argparse
import json
import time
from hashlib import sha256
from pathlib import Path

import flat_json
import jax
import numpy as np

from cfrlib.koikoi import KoiKoi
from cfrlib.koikoi.learners import ApproximateBestResponse, LocalBestResponse, NetworkPlayer
from cfrlib.koikoi.learners.network_player import known_values, payoff_scale, values_of
from cfrlib.koikoi.learners.segments import (
    greedy,
    mix_uniform,
    sample_rows,
    segment_ids,
    segment_sum,
)
from cfrlib.koikoi.players import (
    GreedyPlayer,
    RandomPlayer,
    SearchPlayer,
    duel,
    play,
    play_matches,
)
from cfrlib.koikoi.simulator import OVER, Simulator, members

RESULTS = Path(__file__).with_suffix(".json")
PLAYERS = Path(__file__).with_name("koikoi")
NAMES = ("monte carlo", "policy gradient", "regret", "traversal")
SIMPLE = {
    "random": (RandomPlayer(), 5_000),
    "greedy, stops": (GreedyPlayer("stop"), 20_000),
    "greedy, calls": (GreedyPlayer("koi"), 10_000),
    "greedy, by rule": (GreedyPlayer("rule"), 20_000),
    "search, 10": (SearchPlayer(10), 6_000),
    "search, 50": (SearchPlayer(50), 3_000),
    "search, 400": (SearchPlayer(400), 3_000),
    "search, 400, stops": (SearchPlayer(400, "stop"), 3_000),
}  # with the number of deals; in playouts of `SearchPlayer`, koi-koi is by the rule, or never
AMONG = 10_000  # deals between two trained players
LOCAL = {"samples": 16, "hands": 128}
LOCAL_DEALS, TRAINED_DEALS = 200, 20_000
WALKS = 20_000  # random rounds that estimate the size of traversals
RESPONSE = 100  # iterations of the trained best response
TRAIN, TEST, STEPS = 20_000, 2_000, 8_000  # rounds to train on and to test on; Adam steps
SEED = 0
game = KoiKoi()


def files():
    """Return the existing files of players, by name."""
    every = {name: PLAYERS / f"{name.replace(' ', '_')}.npz" for name in NAMES}
    return {name: path for name, path in every.items() if path.exists()}


class Results:
    """The results so far, with the checksums of the networks they belong to."""

    def __init__(self, only, path):
        self.only, self.path = only, path
        self.known = json.loads(path.read_text()) if path.exists() else {}

    def once(self, section, key, networks, evaluate, *arguments):
        """Compute and write a result, unless it is known for these networks."""
        if not section.startswith(self.only):
            return
        place = self.known.setdefault(section, {})
        if place.get(key, {}).get("networks") == networks:
            return
        began = time.process_time()
        found = evaluate(*arguments)
        seconds = round(time.process_time() - began, 1)
        place[key] = {"networks": networks, **found, "seconds": seconds}
        print(section, key, place[key], flush=True)
        flat_json.write(self.path, self.known, objects=True)


def digits(number):
    """Keep four significant digits."""
    return float(f"{number:.4g}")


def compared(one, other, deals):
    """Return the result of a duel."""
    found = duel(game, one, other, deals=deals, seed=SEED)
    return {
        "points": [digits(found.mean), digits(found.error)],
        "deals": deals,
        "won": digits(found.won),
        "drawn": digits(found.drawn),
    }


def spread(one, other):
    """Return the standard deviations of a round, and of the mean of a deal's two rounds."""
    simulator = Simulator(game)
    ahead = play(simulator, one, other, 5_000, seed=SEED)
    behind = -play(simulator, other, one, 5_000, seed=SEED)
    both = (ahead + behind) / 2
    return {"round": digits(ahead.std(ddof=1)), "deal": digits(both.std(ddof=1))}


def matches(one, other):
    """Return the shares of matches of twelve rounds won and drawn."""
    found = play_matches(game, one, other, matches=1_000, seed=SEED)
    return {
        "won": found.won,
        "drawn": found.drawn,
        "error": digits(found.error),
        "points": digits(found.points),
    }


def trained(player, start):
    """Train a best response to a player, and evaluate it on other deals."""
    run = ApproximateBestResponse(game, player, start=start, rate=3e-4, seed=SEED)
    run.run(RESPONSE, progress=False)
    return compared(run.player(), player, TRAINED_DEALS) | {"rounds": RESPONSE * run.rounds}


def traversals(k):
    """Estimate the number of decisions in a traversal that samples k actions, by uniform play.

    This is Knuth's estimator: the weight of a decision in a random round is the number of
    decisions it stands for, a factor of k (or of all actions) per earlier action of the
    traverser.
    """
    simulator, rng = Simulator(game), np.random.default_rng(SEED)
    played = simulator.deal(WALKS, seed=SEED)
    weight, total = np.ones(WALKS), np.zeros(WALKS)
    traverser = np.arange(WALKS) % 2
    while len(rows := np.flatnonzero(played.stage != OVER)):
        legal = [members(int(cards)) for cards in simulator.legal(played)[rows]]
        total[rows] += weight[rows]
        own = played.player[rows] == traverser[rows]
        tried = [min(k, len(actions)) for actions in legal]
        weight[rows] *= np.where(own, tried, 1)
        simulator.act(played, rows, [rng.choice(actions) for actions in legal])
    error = 1.96 * total.std(ddof=1) / WALKS**0.5
    return {"decisions": [digits(total.mean()), digits(error)], "walks": WALKS}


def greedy_rounds(player, rounds, seed):
    """Return the afterstates of all decisions of some rounds, their values and the decisions'.

    The values are the outputs of the network of `player`. Play is ε-greedy, ε = 1/4.
    """
    simulator, rng = Simulator(game), np.random.default_rng(seed)
    played, met = simulator.deal(rounds, seed=seed), []
    while len(going := np.flatnonzero(played.stage != OVER)):
        after = player.network.describer.after(played, going)
        q = values_of(player.network, player.networks[0], after, payoff_scale(game))
        sigma = greedy(q, after.start)
        met.append((after, q, segment_sum(sigma * q, after.start)))
        row = sample_rows(
            mix_uniform(sigma, after.start, 0.25), after.start, rng.random(len(going))
        )
        simulator.act(played, going, after.action[row])
    return met


def told(critic):
    """Fit a player's regrets in both ways, and test how often its best action is found.

    `lost` are the points per decision lost by taking the action of the largest fitted regret.
    """
    network, scale, result = critic.network, payoff_scale(game), {}
    train, test = greedy_rounds(critic, TRAIN, 0), greedy_rounds(critic, TEST, 1)
    q = np.concatenate([q for _, q, _ in train])
    v = np.concatenate([v for *_, v in train])
    v_rows = np.concatenate([v[segment_ids(after.start)] for after, _, v in train])
    code = np.concatenate([after.code for after, *_ in train])
    before = np.concatenate([after.before for after, *_ in train])
    ways = {
        "regrets": (code, q - v_rows),
        "values": (np.concatenate([code, before]), np.concatenate([q, v])),
    }
    for way, (rows, target) in ways.items():
        state, rng = network.fresh(jax.random.key(SEED)), np.random.default_rng(SEED)
        for _ in range(STEPS // 100):
            which = rng.integers(0, len(rows), (100, 1_024))
            same = np.ones(which.shape)
            state, _ = network.improve(state, rows[which], target[which], same, 1e-3)
        found = lost = decisions = 0
        for after, q, v in test:
            predicted = network(state.averaged, after.code)
            if way == "values":  # without v, which is the same for all actions
                predicted = known_values(predicted, after.paid, scale)
            chosen = greedy(predicted, after.start) > 0
            choice = np.diff(after.start) > 1
            missed = (v - q[chosen])[choice] * scale
            found, lost = found + (missed < 1e-9).sum(), lost + missed.sum()
            decisions += choice.sum()
        result[way] = {"found": digits(found / decisions), "lost": digits(lost / decisions)}
    return result | {"decisions": int(decisions)}


def main():
    """Compute all results that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="sections whose names start like this")
    results = Results(parser.parse_args().only, RESULTS)
    paths = files()
    sums = {name: sha256(path.read_bytes()).hexdigest()[:16] for name, path in paths.items()}
    players = {name: NetworkPlayer.load(path, game) for name, path in paths.items()}
    for k in (1, 2, 3, np.inf):
        results.once("traversals", str(k), "", traversals, k)
    critic, stops, rule = players["monte carlo"], GreedyPlayer("stop"), GreedyPlayer("rule")
    results.once("told", "monte carlo", sums["monte carlo"], told, critic)
    results.once("spread", "greedy, stops - random", "", spread, stops, RandomPlayer())
    for name, player in players.items():
        mine = sums[name]
        results.once("spread", f"{name} - greedy, stops", mine, spread, player, stops)
        results.once("matches", f"{name} - greedy, by rule", mine, matches, player, rule)
        for other, (simple, deals) in SIMPLE.items():
            results.once("duels", f"{name} - {other}", mine, compared, player, simple, deals)
        for other in list(players)[list(players).index(name) + 1 :]:
            both, rival = mine + sums[other], players[other]
            results.once("duels", f"{name} - {other}", both, compared, player, rival, AMONG)
    for name, player in players.items():
        local = LocalBestResponse(player, **LOCAL)
        results.once(
            "exploited", f"{name}, local", sums[name], compared, local, player, LOCAL_DEALS
        )
        start, both = players["monte carlo"], sums[name] + sums["monte carlo"]
        results.once("exploited", f"{name}, trained", both, trained, player, start)


if __name__ == "__main__":
    main()
