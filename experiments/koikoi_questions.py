"""Answer questions of Koi-Koi players by playouts of the trained networks.

    python experiments/koikoi_questions.py [--only calls]

Reads the players that experiments/koikoi_train.py wrote, and writes experiments/
koikoi_questions.json after each result. A second run computes only results that are missing or
belong to other networks. A full run takes about half an hour on one core.

- `calls`: value of calling koi-koi, by the state of calls, the seat, own points and own cards
  left. Every chance to call in rounds of self-play is forced to call, and the round is played
  on: the hidden cards are those of the round, so they are as likely as play makes them.
- `calibration`: prediction of `monte carlo` for the first chance of a round to call, and the
  payoff after that call, by deciles of the prediction.
- `dealer`: payoff to the dealer in self-play, and the shares of rounds won and tied.
- `cards`: per card, mean payoff to the player who captured it (an association), to the player
  who was dealt it (a randomized comparison: the deal is random), and to the dealer if it lay on
  the field at the start; and how often it is played first by a player who holds it.
- `policies`: rules when to call, for one network's play of the cards, against each other.
- `matches`: the same against the network's own calls, in matches of twelve rounds.
- `withholding`: loss by declining a capture at one decision, paired on the same deal.
- `positions`: positions of chapter 14, with the unseen cards dealt uniformly.
- `single`: prediction and playouts of single positions from self-play: chances to call, each
  with the unseen cards dealt uniformly.

Means have the half-width of their 95 % interval, clustered by round. All numbers are seeded;
the networks compute in float32, so another machine may differ in single rounds.
"""

import argparse
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from koikoi_judge import Results, digits, load

from cfrlib.core.rng import LINE, begin, new_key
from koikoi import KoiKoi, Position
from koikoi.learners.network_player import payoff_scale, values_of
from koikoi.players import GreedyPlayer, play, play_matches, redeal_unseen
from koikoi.simulator import CALL, CALLING, OVER, PLAY, Rounds, Simulator

RESULTS = Path(__file__).with_suffix(".json")
ROUNDS = {"monte carlo": 240_000, "policy gradient": 80_000, "regret": 80_000}
BATCH = 20_000  # rounds in lockstep
DEALS, MATCHES = 10_000, 2_000  # per pair of call policies
HELD_BACK = 60_000  # rounds for `withholding`
UNSEEN = 10_000  # deals of the unseen cards per position of chapter 14
SINGLE, EACH = 400, 1_000  # positions of `single`, and deals of the unseen cards for each
FEWEST = 30  # samples in a cell, or it is left out
MOST_POINTS = 10  # larger numbers of points share a cell
LEFT = {"1": (1, 1), "2": (2, 2), "3": (3, 3), "4": (4, 4), "5": (5, 5), "6-7": (6, 7)}
LEFT |= {"1-2": (1, 2), "3-4": (3, 4), "5-7": (5, 7)}
SEATS = {"either": (0, 1), "dealer": (0,), "other": (1,)}
STATES = ("nobody has called", "you have called", "the other has called")
SEED = 0
game = KoiKoi()
simulator = Simulator(game)


def interval(values, cluster=None):
    """Return the mean and the half-width of its 95 % interval, clustered by round."""
    values = np.asarray(values, float)
    n, mean = len(values), values.mean()
    if cluster is None:
        cluster = np.arange(n)
    _, place = np.unique(cluster, return_inverse=True)
    off = np.bincount(place, values - mean)
    half = 1.96 * np.sqrt((off**2).sum() * len(off) / max(1, len(off) - 1)) / n
    return [digits(mean), digits(half)]


# ---- self-play -------------------------------------------------------------------------------


class Log(NamedTuple):
    """Rounds of self-play, and their chances to call, after each of which koi-koi was forced.

    Arrays of rounds: `hands` and `piles` (dealt, captured), `field`, `first` (card played
    first), shape (rounds, 2) or (rounds,); `paid` to the dealer. Arrays of chances: `which`
    (its round), `who` (seat), `points`, `left`, `state`, `stop` (payoff), `call` (payoff after
    the forced call), `called` (whether the network called), `predicted` (NaN if unknown).
    """

    hands: np.ndarray
    piles: np.ndarray
    field: np.ndarray
    first: np.ndarray
    paid: np.ndarray
    which: np.ndarray
    who: np.ndarray
    points: np.ndarray
    left: np.ndarray
    state: np.ndarray
    stop: np.ndarray
    call: np.ndarray
    called: np.ndarray
    predicted: np.ndarray


def moves(player, rounds, rows, nets, rng):
    """Return the player's actions; `nets` has the network of each round and seat."""
    index = nets[rows, rounds.player[rows]]
    return player.moves(rounds, rows, index, rng.random(len(rows)))


def play_on(player, rounds, nets, rng):
    """Play the rounds to their end, in place, by one player in both seats."""
    while len(going := np.flatnonzero(rounds.stage != OVER)):
        simulator.act(rounds, going, moves(player, rounds, going, nets, rng))


def joined(parts):
    """Concatenate rounds."""
    return Rounds(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def observed(player, chance, called):
    """Return the columns of `Log` that describe chances to call, before the forced call."""
    rows = np.arange(len(chance))
    who = chance.player.copy()
    after = player.network.describer.after(chance, rows)
    stop = after.paid[after.start[:-1]]  # the first action is to stop
    predicted = np.full(len(rows), np.nan)
    if player.rule == "value":
        values = values_of(player.network, player.networks[0], after, payoff_scale(game))
        predicted = payoff_scale(game) * values[after.start[:-1] + CALLING]
    own, theirs = chance.calls[rows, who] > 0, chance.calls[rows, 1 - who] > 0
    return {
        "who": who,
        "points": chance.points[rows, who],
        "left": np.bitwise_count(chance.hands[rows, who]).astype(int),
        "state": np.where(theirs, 2, np.where(own, 1, 0)),
        "stop": stop,
        "called": called,
        "predicted": predicted,
    }


def self_play(player, rounds, source):
    """Play rounds of one player against itself; return a `Log`."""
    dealing, moving = source.spawn(2)
    played, rng = simulator.deal(rounds, seed=dealing), np.random.default_rng(moving)
    nets = player.network_of(rng.random((rounds, 2)))
    hands, field = played.hands.copy(), played.field.copy()
    first, which, called, chances = np.full((rounds, 2), -1), [], [], []
    while len(going := np.flatnonzero(played.stage != OVER)):
        actions, who = moves(player, played, going, nets, rng), played.player[going]
        new = (played.stage[going] == PLAY) & (first[going, who] < 0)
        first[going[new], who[new]] = actions[new]
        at = played.stage[going] == CALL
        which.append(going[at])
        called.append(actions[at] == CALLING)
        chances.append(played.take(going[at]))
        simulator.act(played, going, actions)
    chance, which = joined(chances), np.concatenate(which)
    told = observed(player, chance, np.concatenate(called))
    simulator.act(chance, np.arange(len(which)), np.full(len(which), CALLING))
    play_on(player, chance, nets[which], rng)
    call = np.where(told["who"] == 0, chance.paid, -chance.paid)
    return Log(hands, played.piles, field, first, played.paid, which=which, call=call, **told)


@cache
def logged(name):
    """Return the self-play of a player, in batches."""
    player, rounds = load(game)[0][name], ROUNDS[name]
    sources = np.random.SeedSequence([SEED, 1]).spawn(rounds // BATCH)
    logs = []
    for n, source in enumerate(sources):
        log = self_play(player, BATCH, source)
        logs.append(log._replace(which=log.which + n * BATCH))
    return Log(*(np.concatenate(columns) for columns in zip(*logs, strict=True)))


# ---- sections --------------------------------------------------------------------------------


def calls(name):
    """Return the value of calling, by state, seat, cards left and points."""
    log, found = logged(name), {}
    points = np.minimum(log.points, MOST_POINTS)
    for state, title in enumerate(STATES):
        for seat, seats in SEATS.items():
            for left, (low, high) in LEFT.items():
                here = (log.state == state) & np.isin(log.who, seats)
                here &= (log.left >= low) & (log.left <= high)
                cells = {
                    str(p): cell(log, some)
                    for p in range(1, MOST_POINTS + 1)
                    if (some := here & (points == p)).sum() >= FEWEST
                }
                found[f"{title}, {seat}, {left}"] = cells
    everywhere = {"all": np.isfinite(log.stop), "called": log.called, "stopped": ~log.called}
    overall = {key: cell(log, some) for key, some in everywhere.items()}
    return {"rounds": ROUNDS[name], "overall": overall, "cells": found}


def cell(log, some):
    """Return n, mean payoffs of stopping and of calling with half-width, and share called."""
    mean, half = interval(log.call[some], log.which[some])
    stop, called = digits(log.stop[some].mean()), digits(log.called[some].mean())
    return [int(some.sum()), stop, mean, half, called]


def calibration(name):
    """Compare the prediction for the first chance of a round to call with the payoff."""
    log = logged(name)
    _, first = np.unique(log.which, return_index=True)  # batches list chances in time order
    predicted, paid = log.predicted[first], log.call[first]
    order = np.argsort(predicted, kind="stable")
    deciles = [
        [digits(predicted[part].mean()), *interval(paid[part])]
        for part in np.array_split(order, 10)
    ]
    x = predicted - predicted.mean()
    slope = (x * paid).sum() / (x**2).sum()
    off = paid - paid.mean() - slope * x
    half = 1.96 * np.sqrt((x**2 * off**2).sum()) / (x**2).sum()
    called = log.called[first]
    return {
        "chances": len(first),
        "slope": [digits(slope), digits(half)],
        "all": [digits(predicted.mean()), *interval(paid)],
        "called": [digits(predicted[called].mean()), *interval(paid[called])],
        "stopped": [digits(predicted[~called].mean()), *interval(paid[~called])],
        "deciles": deciles,
    }


def dealer(name):
    """Return the dealer's mean payoff, and shares of rounds won and tied."""
    paid = logged(name).paid
    found = {"points": paid, "won": paid > 0, "tied": paid == 0, "lost": paid < 0}
    return {key: interval(values) for key, values in found.items()} | {"rounds": len(paid)}


def cards(name):
    """Return for each card: payoffs if captured, dealt and open; and how often played first."""
    log, found = logged(name), {}
    sign, mean = np.array([1, -1]), log.paid.mean()
    for c, card in enumerate(simulator.names):
        bit = np.uint64(1 << c)
        captured, held = (log.piles & bit) > 0, (log.hands & bit) > 0
        owner = (log.paid[:, None] * sign)[captured]
        holder = (log.paid[:, None] * sign)[held]
        on_field = (log.field & bit) > 0
        found[card] = {
            "captured": interval(owner),
            "dealt": interval(holder),
            "open": interval(log.paid[on_field] - mean),
            "first": interval(log.first[held] == c),
        }
    return {"rounds": len(log.paid), "cells": found}


# ---- rules when to call ----------------------------------------------------------------------


class Caller:
    """Plays the cards as a network does, and calls koi-koi by a rule.

    The rule is a function of own points, own cards left, and whether the other has called, and
    whether the player itself has called before.
    """

    def __init__(self, player, rule):
        self.player, self.rule = player, rule

    def __call__(self, simulator, rounds, rows, key):
        """Return an action for each of these rounds."""
        actions = self.player(simulator, rounds, rows, key)
        at = rounds.stage[rows] == CALL
        which = rows[at]
        i = rounds.player[which]
        left = np.bitwise_count(rounds.hands[which, i])
        mine, theirs = rounds.calls[which, i] > 0, rounds.calls[which, 1 - i] > 0
        actions[at] = self.rule(rounds.points[which, i], left, theirs, mine)
        return actions


LEAST = np.array([0, 4, 2, 2, 2, 3, 2])  # cards left with which `calls` is above stopping


POLICIES = {
    "never": lambda points, left, theirs, mine: points < 0,
    "always": lambda points, left, theirs, mine: points > 0,
    "below 7": lambda points, left, theirs, mine: points < 7,
    "below 7, 3 cards": lambda points, left, theirs, mine: (points < 7) & (left >= 3),
    "and not after theirs": lambda points, left, theirs, mine: (
        (points < 7) & (left >= 3) & ~theirs
    ),
    "rule of thumb": lambda points, left, theirs, mine: (
        (points < 7) & ((left >= 3) | mine) & ~theirs
    ),
    "by the table": lambda points, left, theirs, mine: (
        (points < 7) & ((left >= LEAST[np.minimum(points, 6)]) | mine) & ~theirs
    ),
}


def policies(player):
    """Return the callers by rule, and the network itself."""
    callers = {title: Caller(player, rule) for title, rule in POLICIES.items()}
    return callers | {"network": player}


def compared(one, other):
    """Return points per round and shares won and tied, every deal played in both seats."""
    ahead = play(simulator, one, other, DEALS, seed=SEED)
    behind = -play(simulator, other, one, DEALS, seed=SEED)
    both = np.stack([ahead, behind])
    found = {"points": both, "won": both > 0, "tied": both == 0, "lost": both < 0}
    means = {key: interval(values.mean(axis=0)) for key, values in found.items()}
    return means | {"deals": DEALS}


def matched(one, other):
    """Return the shares of matches of twelve rounds won and tied."""
    found = play_matches(game, one, other, matches=MATCHES, seed=SEED)
    return {
        "won": [found.won, digits(1.96 * (found.won * (1 - found.won) / MATCHES) ** 0.5)],
        "tied": found.drawn,
        "points": digits(found.points),
        "matches": MATCHES,
    }


# ---- withholding -----------------------------------------------------------------------------


def alternatives(player, rounds, rows):
    """Return the best action without a capture, without new points, and with a capture.

    Each is an int array with -1 where there is no such action; best by the network's values.
    """
    after = player.network.describer.after(rounds, rows)
    values = values_of(player.network, player.networks[0], after, payoff_scale(game))
    decision = np.repeat(np.arange(len(rows)), np.diff(after.start))
    month = simulator.table.month[after.action]
    takes = (rounds.field[rows][decision] & month) != 0
    before = rounds.points[rows, rounds.player[rows]][decision]
    scores = after.code[:, 5] > before
    found = []
    for allowed in (~takes, ~scores, takes):
        best = np.full(len(rows), -1)
        order = np.lexsort([values, decision])
        order = order[allowed[order]]
        best[decision[order]] = after.action[order]  # the last one has the highest value
        found.append(best)
    scoring = np.bincount(decision, scores, len(rows)) > 0
    return (*found, scoring)


def declined(player, rounds, source):
    """Return per kind of decision: gain of the network's choice over the alternative."""
    dealing, moving = source.spawn(2)
    played, rng = simulator.deal(rounds, seed=dealing), np.random.default_rng(moving)
    nets, kept = np.zeros((rounds, 2), int), {"capture": [], "yaku": [], "kept back": []}
    while len(going := np.flatnonzero(played.stage != OVER)):
        actions = moves(player, played, going, nets, rng)
        at = played.stage[going] == PLAY
        rows, chosen = going[at], actions[at]
        none, unscored, capture, scoring = alternatives(player, played, rows)
        takes = (played.field[rows] & simulator.table.month[chosen]) != 0
        sampled = rng.random(len(rows)) < 0.125
        for kind, some, instead in (
            ("capture", takes & (none >= 0) & sampled, none),
            ("yaku", takes & scoring & (unscored >= 0) & (unscored != chosen), unscored),
            ("kept back", ~takes & (capture >= 0), capture),
        ):
            kept[kind].append((rows[some], played.take(rows[some]), instead[some]))
        simulator.act(played, going, actions)
    found = {}
    for kind, parts in kept.items():
        which, copies, instead = zip(*parts, strict=True)
        which, copy = np.concatenate(which), joined(copies)
        sign = np.where(copy.player == 0, 1, -1)
        simulator.act(copy, np.arange(len(which)), np.concatenate(instead))
        play_on(player, copy, nets[which], rng)
        found[kind] = which, sign * (played.paid[which] - copy.paid)
    return found


def withholding(player):
    """Return what the network's choice gains over capturing nothing, no yaku, or something."""
    sources = np.random.SeedSequence([SEED, 2]).spawn(HELD_BACK // BATCH)
    parts = [declined(player, BATCH, source) for source in sources]
    found = {}
    for kind in parts[0]:
        which = np.concatenate([n * BATCH + part[kind][0] for n, part in enumerate(parts)])
        gain = np.concatenate([part[kind][1] for part in parts])
        found[kind] = [len(gain), *interval(gain, which)]
    return found | {"rounds": HELD_BACK}


# ---- positions of chapter 14 -----------------------------------------------------------------

MINE = ("Boar", "Clover-1", "Deer", "Maple-1", "Butterflies", "Peony-1", "Geese", "Pampas-1")
HAND = ("Sake", "Cuckoo", "Paulownia-2", "Clover-2")
FIELD = ("Mum-1", "Cherry-1", "Iris-1", "Willow-1")
FIELD += ("Paulownia-1", "Swallow", "Maple-2", "Peony-2")
THEIRS = ("Pine-1", "Pine-2", "Plum-1", "Plum-2", "Wisteria-ribbon", "Wisteria-2")
REST = ("Mum-1", "Plum-1", "Wisteria-1", "Peony-1", "Maple-1", "Willow-1", "Paulownia-1")
OPEN = ("Sake", "Crane", "Iris-1", "Clover-1", "Cherry-1", "Cherry-2", "Pine-1")


def call_position(points):
    """Return the position with which chapter 14 opens, with 6 or 7 points."""
    won = ("Swallow", "Willow-1") if points == 7 else ()
    field = tuple(card for card in FIELD if card not in won)
    seen = {*MINE, *THEIRS, *HAND, *FIELD}
    rest = tuple(card for card in game.deck if card not in seen)
    at = Position("call", 0, (HAND, rest[:5]), field, ((*MINE, *won), THEIRS), rest[5:])
    return at._replace(points=(points, 0))


def first_position(held, lies):
    """Return a first move of chapter 14: one card in the hand, another on the field."""
    hand, field = (held, *REST), (lies, *OPEN)
    rest = tuple(card for card in game.deck if card not in hand + field)
    return Position("play", 0, (hand, rest[:8]), field, ((), ()), rest[8:])


def redealt(rounds, rows, source):
    """Return copies of these rounds, the cards unseen by the player to move dealt anew."""
    copies, key, state = rounds.take(rows), new_key(source), np.zeros(LINE, np.uint64)
    for r in range(len(rows)):
        begin(state, key, 0, 0, r)
        redeal_unseen(copies, r, simulator.table, state)
    return copies


def position(player, at, action, block):
    """Force an action, then play on; return the mean payoff to player 0.

    With `block`, the other player's first card is a Mum whenever they hold one.
    """
    source = np.random.SeedSequence([SEED, 3])
    rounds = redealt(simulator.place([at]), np.zeros(UNSEEN, int), source)
    number = CALLING if at.stage == "call" else simulator.names.index(action)
    simulator.act(rounds, np.arange(UNSEEN), np.full(UNSEEN, number))
    if block:
        month = simulator.table.month[simulator.names.index("Mum-1")]
        legal = simulator.legal(rounds) & month
        rows = np.flatnonzero((legal != 0) & (rounds.player == 1) & (rounds.stage == PLAY))
        mums = [int(cards).bit_length() - 1 for cards in legal[rows]]
        simulator.act(rounds, rows, mums)
    key = np.uint64(SEED)
    while len(going := np.flatnonzero(rounds.stage != OVER)):
        simulator.act(rounds, going, player(simulator, rounds, going, key))
    return {"points": interval(rounds.paid), "deals": UNSEEN}


def first_chances(player, source):
    """Return single positions from self-play: first chances of rounds to call."""
    dealing, moving = source.spawn(2)
    played, rng = simulator.deal(4 * SINGLE, seed=dealing), np.random.default_rng(moving)
    nets, waiting, found = np.zeros((len(played), 2), int), np.full(len(played), True), []
    while len(going := np.flatnonzero((played.stage != OVER) & waiting)):
        at = going[played.stage[going] == CALL]
        found.append(played.take(at))
        waiting[at] = False
        going = going[played.stage[going] != CALL]
        simulator.act(played, going, moves(player, played, going, nets, rng))
    every = joined(found)
    return every.take(rng.permutation(len(every))[:SINGLE])


def single(player):
    """Compare predictions for a call with playouts, position by position."""
    choosing, dealing, moving = np.random.SeedSequence([SEED, 4]).spawn(3)
    chance = first_chances(player, choosing)
    predicted = observed(player, chance, np.zeros(SINGLE, bool))["predicted"]
    copies = redealt(chance, np.repeat(np.arange(SINGLE), EACH), dealing)
    sign = np.where(copies.player == 0, 1, -1)
    simulator.act(copies, np.arange(len(copies)), np.full(len(copies), CALLING))
    nets = np.zeros((len(copies), 2), int)
    play_on(player, copies, nets, np.random.default_rng(moving))
    paid = (sign * copies.paid).reshape(SINGLE, EACH)
    value, noise = paid.mean(axis=1), paid.var(axis=1, ddof=1) / EACH
    off = value - predicted
    rms = np.sqrt((off**2 - noise).mean())  # without the noise of the playouts
    pairs = np.column_stack([predicted, value]).round(2).tolist()
    noise = digits(1.96 * np.sqrt(noise.mean()))
    return {"deals": EACH, "rms": digits(rms), "error": noise, "pairs": pairs}


def positions(results, players, sums):
    """Compute the missing values of all positions."""
    rivals = {name: (player, sums[name]) for name, player in players.items()}
    rivals["greedy, by rule"] = GreedyPlayer("rule"), ""
    for name, (player, mine) in rivals.items():
        for points in (6, 7):
            at = call_position(points)
            key = f"call with {points}, {name}"
            results.once("positions", key, mine, position, player, at, "", False)
            results.once("positions", f"{key}, Mum", mine, position, player, at, "", True)
    for held, lies in (("Pampas-1", "Moon"), ("Moon", "Pampas-1")):
        at = first_position(held, lies)
        for card in (held, "Mum-1"):
            key, who = f"{held} for {lies}, {card}", "monte carlo"
            arguments = (players[who], at, card, False)
            results.once("positions", key, sums[who], position, *arguments)


def main():
    """Compute all results that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="sections whose names start like this")
    results = Results(parser.parse_args().only, RESULTS)
    players, sums = load(game)
    critic = players["monte carlo"], sums["monte carlo"]
    positions(results, players, sums)
    for name in ROUNDS:
        for section in (calls, dealer, cards):
            results.once(section.__name__, name, sums[name], section, name)
        if players[name].rule == "value":
            results.once("calibration", name, sums[name], calibration, name)
        logged.cache_clear()
    results.once("single", "monte carlo", critic[1], single, critic[0])
    results.once("withholding", "monte carlo", critic[1], withholding, critic[0])
    callers = policies(critic[0])
    for n, (title, caller) in enumerate(callers.items()):
        for rival in list(callers)[n + 1 :]:
            pair = f"{title} - {rival}"
            results.once("policies", pair, critic[1], compared, caller, callers[rival])
        if title != "network":
            results.once("matches", title, critic[1], matched, caller, critic[0])
    for name in ("policy gradient", "regret"):
        for title, caller in policies(players[name]).items():
            if title != "network":
                pair, mine = f"{title} - network, {name}", sums[name]
                results.once("policies", pair, mine, compared, caller, players[name])


if __name__ == "__main__":
    main()
