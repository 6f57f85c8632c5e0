"""Judge the players of koikoi_bet.py once more, on deals of their own, and join both errors.

    python experiments/koikoi_joint.py                      everything that is missing
    python experiments/koikoi_joint.py --only longest       one section
    python experiments/koikoi_joint.py --minutes 10         start no result later than this

The three trainings of a learner in koikoi_bet.json shared their deals, and their players were
not kept. Their errors can still be joined; a part of it, one training of each learner, can be
judged again from experiments/koikoi_players/bet. Writes experiments/koikoi_joint.json:

- `trainings`: what three trainings of each learner win, from koikoi_bet.json: the mean and its
  95 % interval by `koikoi_judge.joint_interval`, with deals shared. By judge and learner.
- `gaps`: the same for the difference of each pair of learners: "head to head", and "greedy",
  what each wins from greedy. The third number is half of the interval if all pairs must hold
  together. Greedy dealt the same deals to all learners; the lowest correlation in `correlation`
  (without Deep CFR, "traversal") says how much of the error over deals cancels.
- `executed`: points that the player of one training wins from greedy in 20,000 deals, played
  in two ways. "policy": as it was trained. "argmax": always its most probable action. "gain":
  the difference on the same deals.
- `correlation`: of two players' results against greedy on the same deals, and the difference.
- `sets`: percent of matches won against greedy by rule, and drawn, in eight sets of 1,000.
- `apart`: points that one of the best three players wins from another, played in both ways;
  each pair has deals of its own.
- `longest`: the players of deep Monte Carlo and MMD against the search that imagines 4,000
  deals, in blocks of deals: points of each, and the difference on the same deals.

All numbers are seeded; each score is followed by its 95 % error. The blocks were computed until
the time was up.
"""

import json
from functools import cache
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np
from koikoi_judge import (
    SIMPLE,
    Results,
    compared,
    digits,
    game,
    joint_interval,
    load,
    matches,
)
from koikoi_train import LEARNERS

import cfrlib as cfr
from cfrlib.simulate import SampleMean
from koikoi.players import GreedyPlayer
from koikoi.simulator import Simulator
from koikoi_learners import ArgmaxPlayer

RESULTS = Path(__file__).with_suffix(".json")
BET = json.loads(RESULTS.with_name("koikoi_bet.json").read_text())
SEEDS = range(3)
DEALS = 20_000
SETS = 8  # of 1,000 matches
BLOCK, BLOCKS = 100, 50  # deals against the longest search
LEADERS = ("monte carlo", "policy gradient", "regret")
GREEDY, RULE = "greedy, stops", "greedy, by rule"
PAIRS = tuple(combinations(LEARNERS, 2))


def own(key):
    """Return a seed for the deals of a meeting."""
    return crc32(key.encode())


# ---- three trainings -------------------------------------------------------------------------


def met(one, other, seed):
    """Return the points that a learner wins from another in koikoi_bet.json, and the error."""
    if other not in LEARNERS:
        return BET["duels"][f"{one}, seed {seed} - {other}"]["points"]
    names = f"{one}, seed {seed}", f"{other}, seed {seed}"
    sign = 1 if " - ".join(names) in BET["duels"] else -1
    points, error = BET["duels"][" - ".join(names[::sign])]["points"]
    return sign * points, error


def share(what, key):
    """Return the percentage won, and its error over deals."""
    found = BET[what][key]
    won = found["won"]
    rounds = 2 * found["deals"] if what == "duels" else 1_000
    return 100 * won, 196 * (won * (1 - won) / rounds) ** 0.5


def trainings(who):
    """Return the joint interval of a learner, by judge."""
    judges = {
        "greedy": [met(who, GREEDY, s) for s in SEEDS],
        "search, 400": [met(who, "search, 400", s) for s in SEEDS],
        "rounds won, %": [share("duels", f"{who}, seed {s} - {GREEDY}") for s in SEEDS],
        "matches won, %": [
            share("matches", f"{who}, seed {s} - greedy, by rule") for s in SEEDS
        ],
    }
    return {
        judge: [digits(x) for x in joint_interval(scores, shared=True)]
        for judge, scores in judges.items()
    }


def gaps(one, other, correlation):
    """Return the joint interval of a difference, alone and for all pairs together."""

    def both(scores):
        alone = joint_interval(scores, shared=True)
        together = joint_interval(scores, shared=True, comparisons=len(PAIRS))
        return [digits(x) for x in (*alone, together[1])]

    beside = []
    for seed in SEEDS:
        (mine, e), (theirs, f) = met(one, GREEDY, seed), met(other, GREEDY, seed)
        beside.append((mine - theirs, (e**2 + f**2 - 2 * correlation * e * f) ** 0.5))
    return {
        "head to head": both([met(one, other, seed) for seed in SEEDS]),
        "greedy": both(beside),
    }


# ---- one training, judged again --------------------------------------------------------------


@cache
def against_greedy(player):
    """Return the match of a player with greedy; all players get the same deals."""
    return cfr.match(Simulator(game), player, GreedyPlayer("stop"), DEALS, seed=own(GREEDY))


def executed(policy, argmax):
    """Return what one player wins from greedy, played in two ways, and the difference."""
    found = {"policy": against_greedy(policy), "argmax": against_greedy(argmax)}
    points = {way: [digits(one.mean), digits(one.margin)] for way, one in found.items()}
    return points | {"gain": gain(found["argmax"], found["policy"]), "deals": DEALS}


def gain(one, other):
    """Return the mean difference of two results on the same deals, and its error."""
    found = SampleMean(one.samples - other.samples)
    return [digits(found.mean), digits(found.margin)]


def correlation(one, other):
    """Return the correlation of two players' results against greedy, and the difference."""
    found = [against_greedy(player) for player in (one, other)]
    share = np.corrcoef([result.samples for result in found])[0, 1]
    return {"correlation": digits(share), "gap": gain(*found)}


def sets(player):
    """Return the percent of matches won and drawn against greedy by rule, set by set."""
    found = [matches(player, GreedyPlayer("rule"), seed) for seed in range(1, SETS + 1)]
    return {part: [round(100 * one[part], 1) for one in found] for part in ("won", "drawn")}


def longest(one, other, block):
    """Return what two players win from the longest search in a block of deals."""
    search, seed = SIMPLE["search, 4,000"][0], own(f"longest {block}")
    found = [
        cfr.match(Simulator(game), player, search, BLOCK, seed=seed) for player in (one, other)
    ]
    points = [[digits(result.mean), digits(result.margin)] for result in found]
    return {"points": points, "gap": gain(*found), "deals": BLOCK}


def main():
    """Compute all results that are missing."""
    results = Results.asked_for(__doc__, RESULTS)
    players, sums = load(game, "bet")
    surest = {name: ArgmaxPlayer.of(player) for name, player in players.items()}
    names = {who: f"{who}, seed 0" for who in LEARNERS}
    for who, name in names.items():
        results.once("executed", who, sums[name], executed, players[name], surest[name])
    for one, other in PAIRS:
        both = sums[names[one]] + sums[names[other]]
        pair = players[names[one]], players[names[other]]
        results.once("correlation", f"{one} - {other}", both, correlation, *pair)
    for who in LEADERS:
        results.once("sets", who, sums[names[who]], sets, players[names[who]])
    for one, other in combinations(LEADERS, 2):
        for way, chosen in (("", players), (", argmax", surest)):
            key, both = f"{one} - {other}{way}", sums[names[one]] + sums[names[other]]
            duel = chosen[names[one]], chosen[names[other]], DEALS, game, own(key)
            results.once("apart", key, both, compared, *duel)
    one, other = (names[who] for who in LEADERS[:2])
    for block in range(BLOCKS):
        both = sums[one] + sums[other]
        results.once("longest", f"{block}", both, longest, players[one], players[other], block)
    for who in LEARNERS:
        results.once("trainings", who, "", trainings, who)
    lowest = min(
        found["correlation"]
        for pair, found in results.known["correlation"].items()
        if "traversal" not in pair
    )
    for one, other in PAIRS:
        results.once("gaps", f"{one} - {other}", "", gaps, one, other, lowest)


if __name__ == "__main__":
    main()
