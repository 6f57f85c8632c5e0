"""Evaluate the trained Koi-Koi players: duels, matches, and bounds on their exploitability.

    python experiments/koikoi_judge.py                everything that is missing
    python experiments/koikoi_judge.py --only duels   one section
    python experiments/koikoi_judge.py --minutes 20   start no result later than this

Reads the players of chapter 14, by experiments/koikoi_train.py, and writes experiments/
koikoi_judge.json after each result. A second run computes only results that are missing or
belong to other networks. The slowest are search with 4,000 imagined deals (three minutes
a player) and local best responses (ten minutes a player), on one core.

A player is named by its learner. The `networks` of a result are the checksums of its players
(`NetworkPlayer.checksum`). Errors are over deals only: each learner was trained once.

- `duels`: points per round that each player wins from the simple ones and from each other, with
  every deal played in both seats, ± 95 %; the number of deals depends on the spread. `won` and
  `drawn` are shares of rounds.
- `ruler`: the same for search with more and more imagined deals, against a greedy player.
- `spread`: standard deviation of the payoff of a round, and of the mean over both seats.
- `matches`: matches of twelve rounds against greedy players.
- `exploited`: points per round that a local best response and a trained one win from each
  player: lower bounds on its exploitability, and no more. The trained one starts from the
  network of `monte carlo`, which predicts values, and trains for as many rounds as the player
  it hunts, but at least for 200,000.
- `calibrated`: the same bounds on K12, beside the exact exploitability, for players trained
  here: all learners of koikoi_train.py, and deep Monte Carlo after fewer and more rounds.
- `hunted`: the strongest of these, with a hunter that trains for as many rounds as it did.
- `told`: how well a network learns the regrets of a fixed player: trained on the regrets, for
  the table after the action; or on values, for the tables after and before it.
- `traversals`: number of decisions in a traversal of robust sampling, by k; external sampling
  is k = inf.

All numbers are seeded; seconds are processor time.
"""

import argparse
import time
from functools import cache
from itertools import combinations
from pathlib import Path

import flat_json
import jax
import numpy as np
from koikoi_train import LEARNERS, SHOWN, Run, digits

import cfrlib as cfr
from koikoi import KoiKoi
from koikoi.learners import ApproximateBestResponse, NetworkPlayer
from koikoi.learners.network_player import known_values, payoff_scale, values_of
from koikoi.learners.segments import (
    greedy,
    mix_uniform,
    sample_rows,
    segment_ids,
    segment_sum,
)
from koikoi.players import (
    GreedyPlayer,
    RandomPlayer,
    SearchPlayer,
    play,
    play_matches,
)
from koikoi.simulator import OVER, Simulator, members
from koikoi_learners import LocalBestResponse

RESULTS = Path(__file__).with_suffix(".json")
SIMPLE = {
    "random": (RandomPlayer(), 5_000),
    "greedy, stops": (GreedyPlayer("stop"), 20_000),
    "greedy, calls": (GreedyPlayer("koi"), 10_000),
    "greedy, by rule": (GreedyPlayer("rule"), 20_000),
    "search, 40": (SearchPlayer(40), 6_000),
    "search, 400": (SearchPlayer(400), 3_000),
    "search, 400, stops": (SearchPlayer(400, "stop"), 3_000),
    "search, 4,000": (SearchPlayer(4_000), 500),
}  # with the number of deals; in playouts of `SearchPlayer`, koi-koi is by the rule, or never
RULER = (4, 10, 40, 100, 400, 1_000, 4_000)  # imagined deals of a search
RULER_DEALS = 2_000  # against a greedy player that stops
AMONG = 10_000  # deals between two trained players
LOCAL = {"samples": 16, "hands": 128}
LOCAL_DEALS, TRAINED_DEALS = 2_600, 20_000
CALIBRATION_ROUNDS = 300_000  # of a learner of K12
OTHER_ROUNDS = {"early": 20_000, "late": 2_000_000}  # of deep Monte Carlo
CALIBRATION_DEALS = 10_000  # of a local best response on K12, where a round is quick
WALKS = 20_000  # random rounds that estimate the size of traversals
RESPONSE = 200_000  # rounds of a trained best response, at least
TRAIN, TEST, STEPS = 20_000, 2_000, 8_000  # rounds to train on and to test on; Adam steps
SEED = 0
TRAINED = Path(__file__).with_name("koikoi_train.json")
game = KoiKoi()


class Results:
    """The results so far, with the checksums of the networks they belong to.

    Several processes may share a file, each with sections of its own.
    """

    def __init__(self, only, path, minutes=np.inf):
        self.only, self.path, self.stop = only, path, time.monotonic() + 60 * minutes

    @property
    def known(self):
        """All results that the file holds now."""
        return flat_json.find(self.path, ())

    @classmethod
    def asked_for(cls, script, path):
        """Read the command line of a script, given its docstring."""
        parser = argparse.ArgumentParser(description=script.partition("\n")[0])
        parser.add_argument("--only", default="", help="sections whose names start like this")
        parser.add_argument("--minutes", type=float, default=np.inf, help="start nothing later")
        options = parser.parse_args()
        return cls(options.only, path, options.minutes)

    def once(self, section, key, networks, evaluate, *arguments):
        """Compute and write a result, unless it is known for these networks."""
        if not section.startswith(self.only) or time.monotonic() > self.stop:
            return
        place = section, key
        if (flat_json.find(self.path, place) or {}).get("networks") == networks:
            return
        began = time.process_time()
        found = evaluate(*arguments)
        seconds = round(time.process_time() - began, 1)
        found = {"networks": networks, **found, "seconds": seconds}
        print(section, key, found, flush=True)
        flat_json.record(self.path, place, found, objects=True)


def compared(one, other, deals, game=game):
    """Return the result of a duel."""
    found = cfr.match(Simulator(game), one, other, deals, seed=SEED)
    return {
        "points": [digits(found.mean), digits(found.margin)],
        "deals": deals,
        "won": digits(found.won),
        "drawn": digits(found.tied),
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


def rounds_of(run):
    """Return the number of rounds that a run of koikoi_train.py had played at its end."""
    name = f"{run.learner}, {run.network}"
    curve = flat_json.find(TRAINED, ("runs", run.game, name, str(run.seed), "curve"))
    return next(rounds for minutes, rounds, *_ in curve if minutes == run.minutes)


def trained(player, start, rounds):
    """Train a best response for about as many rounds as its target, and evaluate it."""
    game = player.game
    run = ApproximateBestResponse(game, player, start=start, rate=3e-4, seed=SEED)
    run.run(-(-max(RESPONSE, rounds) // run.rounds), progress=False)
    found = compared(run.player(), player, TRAINED_DEALS, game)
    return found | {"rounds": run.iterations * run.rounds}


@cache
def player_of_k12(learner, rounds):
    """Return the player of a learner of K12 that has played at least these rounds."""
    run = Run("K12", learner, "table", SEED).begin()
    return run.run(-(-rounds // run.rounds), progress=False).player()


def calibrated(learner, rounds, hunt=RESPONSE):
    """Return the exact exploitability of a player of K12, and both lower bounds on it.

    The best response is trained for `hunt` rounds.
    """
    player = player_of_k12(learner, rounds)
    start = player_of_k12("monte carlo", CALIBRATION_ROUNDS)
    local = compared(LocalBestResponse(player, **LOCAL), player, CALIBRATION_DEALS, player.game)
    return {
        "exact": digits(cfr.exploitability(player.game, player.strategy())),
        "local": local["points"],
        "trained": trained(player, start, hunt)["points"],
        "rounds": rounds,
        "deals": [CALIBRATION_DEALS, TRAINED_DEALS],
    }


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


def load(game):
    """Return the players of chapter 14 and the checksums of their networks, by learner."""
    players = {run.learner: NetworkPlayer.load(run.player, game) for run in SHOWN}
    return players, {name: player.checksum for name, player in players.items()}


def meet(results, players, sums):
    """Compute what players win from the simple ones and from each other."""
    rule = GreedyPlayer("rule")
    for name, player in players.items():
        results.once("matches", f"{name} - greedy, by rule", sums[name], matches, player, rule)
        for other, (simple, deals) in SIMPLE.items():
            duel = player, simple, deals
            results.once("duels", f"{name} - {other}", sums[name], compared, *duel)
    for one, other in combinations(players, 2):
        both, duel = sums[one] + sums[other], (players[one], players[other], AMONG)
        results.once("duels", f"{one} - {other}", both, compared, *duel)


def exploit(results, players, sums):
    """Compute lower bounds on the exploitability of the players."""
    first = "monte carlo"
    for run in SHOWN:
        name = run.learner
        player, mine, both = players[name], sums[name], sums[name] + sums[first]
        hunt = trained, player, players[first], rounds_of(run)
        results.once("exploited", f"{name}, trained", both, *hunt)
        local = LocalBestResponse(player, **LOCAL)
        results.once("exploited", f"{name}, local", mine, compared, local, player, LOCAL_DEALS)


def main():
    """Compute all results that are missing."""
    results = Results.asked_for(__doc__, RESULTS)
    players, sums = load(game)
    for k in (1, 2, 3, np.inf):
        results.once("traversals", str(k), "", traversals, k)
    critic, stops = players["monte carlo"], GreedyPlayer("stop")
    results.once("told", "monte carlo", sums["monte carlo"], told, critic)
    results.once("spread", "greedy, stops - random", "", spread, stops, RandomPlayer())
    for name, player in players.items():
        results.once("spread", f"{name} - greedy, stops", sums[name], spread, player, stops)
    meet(results, players, sums)
    for n in RULER:
        results.once("ruler", f"{n:,}", "", compared, SearchPlayer(n), stops, RULER_DEALS)
    for name in LEARNERS:
        results.once("calibrated", name, "", calibrated, name, CALIBRATION_ROUNDS)
    for when, rounds in OTHER_ROUNDS.items():
        key = f"monte carlo, {when}"
        results.once("calibrated", key, "", calibrated, "monte carlo", rounds)
    late = "monte carlo", OTHER_ROUNDS["late"]
    results.once("hunted", "monte carlo, late", "", calibrated, *late, late[1])
    exploit(results, players, sums)


if __name__ == "__main__":
    main()
