"""Players of Koi-Koi judged: by yardsticks, by each other, and by those who only exploit.

    python experiments/koikoi_judge.py [--only duels]

Reads the players that experiments/koikoi_train.py wrote, and writes experiments/
koikoi_judge.json after each judgement; called again, it does what is missing or was of other
networks. All of it takes about an hour on one core.

- `duels`: points a round that each player wins from the simple ones and from each other, every
  deal played twice with changed seats, ± 95 %; how many deals, as the spread demands.
- `spread`: standard deviation of what a single round pays, and of the mean of both seats.
- `matches`: twelve rounds, against greedy players.
- `exploited`: what a local best responder and a trained one win from each player: lower bounds
  on its exploitability, and no more. The responder begins with the network of `monte
  carlo`, which tells values.
- `told`: how well a network learns the regrets of a fixed player if it is told them, of the
  table after an action alone; and if it is told values, of the tables after and before.
- `traversals`: how many decisions robust sampling takes, by k; external sampling is k = inf.

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
from cfrlib.koikoi.learners.segments import best, drawn, exploring, owners, totals
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
}  # and how many deals; the players that search imagines call by the rule, or stop
AMONG = 10_000  # deals between two of the trained
LOCAL = {"samples": 16, "hands": 128}
LOCAL_DEALS, TRAINED_DEALS = 200, 20_000
WALKS = 20_000  # random rounds, for the size of traversals
RESPONSE = 100  # iterations of the trained responder
TOLD, HELD_OUT, STEPS = 20_000, 2_000, 8_000  # rounds to learn from and to test; steps
SEED = 0
game = KoiKoi()


def files():
    """Return the files of the players there are."""
    every = {name: PLAYERS / f"{name.replace(' ', '_')}.npz" for name in NAMES}
    return {name: path for name, path in every.items() if path.exists()}


class Results:
    """What is known so far, and of which networks."""

    def __init__(self, only):
        self.only = only
        self.known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}

    def once(self, section, key, networks, judge, *what):
        """Do what is not known of these networks yet, and write it down."""
        if not section.startswith(self.only):
            return
        place = self.known.setdefault(section, {})
        if place.get(key, {}).get("networks") == networks:
            return
        began = time.process_time()
        found = judge(*what)
        seconds = round(time.process_time() - began, 1)
        place[key] = {"networks": networks, **found, "seconds": seconds}
        print(section, key, place[key], flush=True)
        flat_json.write(RESULTS, self.known, objects=True)


def digits(number):
    """Keep four significant digits."""
    return float(f"{number:.4g}")


def compared(one, other, deals):
    """Return what a duel found."""
    found = duel(game, one, other, deals=deals, seed=SEED)
    return {
        "points": [digits(found.mean), digits(found.error)], "deals": deals,
        "won": digits(found.won), "drawn": digits(found.drawn),
    }  # fmt: skip


def spread(one, other):
    """Return the standard deviations of a round, and of the mean of a deal's two rounds."""
    simulator = Simulator(game)
    ahead = play(simulator, one, other, 5_000, seed=SEED)
    behind = -play(simulator, other, one, 5_000, seed=SEED)
    both = (ahead + behind) / 2
    return {"round": digits(ahead.std(ddof=1)), "deal": digits(both.std(ddof=1))}


def matches(one, other):
    """Return how many matches of twelve rounds are won."""
    found = play_matches(game, one, other, matches=1_000, seed=SEED)
    return {"won": found.won, "drawn": found.drawn, "error": digits(found.error),
            "points": digits(found.points)}  # fmt: skip


def trained(player, start):
    """Train a responder against a player, and let it play other deals."""
    run = ApproximateBestResponse(game, player, start=start, rate=3e-4, seed=SEED)
    run.run(RESPONSE, progress=False)
    return compared(run.player(), player, TRAINED_DEALS) | {"rounds": RESPONSE * run.rounds}


def traversals(k):
    """Estimate the decisions of one traversal that tries k actions, with uniform play.

    By Knuth's estimator: along a random round, each decision stands for as many as there are
    ways to have come there, k (or all) for each of the traverser's actions so far.
    """
    simulator, rng = Simulator(game), np.random.default_rng(SEED)
    played = simulator.deal(WALKS, seed=SEED)
    stands_for, total = np.ones(WALKS), np.zeros(WALKS)
    traverser = np.arange(WALKS) % 2
    while len(rows := np.flatnonzero(played.stage != OVER)):
        legal = [members(int(cards)) for cards in simulator.legal(played)[rows]]
        total[rows] += stands_for[rows]
        own = played.player[rows] == traverser[rows]
        tried = [min(k, len(actions)) for actions in legal]
        stands_for[rows] *= np.where(own, tried, 1)
        simulator.act(played, rows, [rng.choice(actions) for actions in legal])
    error = 1.96 * total.std(ddof=1) / WALKS**0.5
    return {"decisions": [digits(total.mean()), digits(error)], "walks": WALKS}


def regrets_of_greed(player, rounds, seed):
    """Return afterstates, values and levels of all decisions of some rounds.

    Values are what the network of `player` says; who plays takes the best action, three times
    of four, else any.
    """
    simulator, rng = Simulator(game), np.random.default_rng(seed)
    played, met = simulator.deal(rounds, seed=seed), []
    while len(going := np.flatnonzero(played.stage != OVER)):
        after = player.judge.describer.after(played, going)
        q = values_of(player.judge, player.networks[0], after, payoff_scale(game))
        sigma = best(q, after.start)
        met.append((after, q, totals(sigma * q, after.start)))
        row = drawn(exploring(sigma, after.start, 0.25), after.start, rng.random(len(going)))
        simulator.act(played, going, after.action[row])
    return met


def told(critic):
    """Teach the regrets of a player in both ways, and test how often its action is found.

    Also what is lost, in points a decision, by whoever takes the action of most regret.
    """
    judge, unit, result = critic.judge, payoff_scale(game), {}
    train, test = regrets_of_greed(critic, TOLD, 0), regrets_of_greed(critic, HELD_OUT, 1)
    q = np.concatenate([q for _, q, _ in train])
    v = np.concatenate([v for *_, v in train])
    level = np.concatenate([v[owners(after.start)] for after, _, v in train])
    code = np.concatenate([after.code for after, *_ in train])
    before = np.concatenate([after.before for after, *_ in train])
    ways = {
        "regrets": (code, q - level),
        "values": (np.concatenate([code, before]), np.concatenate([q, v])),
    }
    for way, (rows, target) in ways.items():
        study, rng = judge.fresh(jax.random.key(SEED)), np.random.default_rng(SEED)
        for _ in range(STEPS // 100):
            which = rng.integers(0, len(rows), (100, 1_024))
            same = np.ones(which.shape)
            study, _ = judge.improve(study, rows[which], target[which], same, 1e-3)
        found = lost = decisions = 0
        for after, q, v in test:
            said = judge(study.settled, after.code)  # less one number a decision: as good
            if way == "values":
                said = known_values(said, after.paid, unit)
            chosen = best(said, after.start) > 0
            choice = np.diff(after.start) > 1
            missed = (v - q[chosen])[choice] * unit
            found, lost = found + (missed < 1e-9).sum(), lost + missed.sum()
            decisions += choice.sum()
        result[way] = {"found": digits(found / decisions), "lost": digits(lost / decisions)}
    return result | {"decisions": int(decisions)}


def main():
    """ValueNetwork whatever is not judged yet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="sections whose names begin so")
    results = Results(parser.parse_args().only)
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
