"""Answer questions of Koi-Koi players by playouts of the trained networks.

    python experiments/koikoi_questions.py [--only calls]

Reads the players that experiments/koikoi_train.py wrote, and writes experiments/
koikoi_questions.json after each result. A second run computes only results that are missing or
belong to other networks. A full run takes about half an hour on one core.

- `calls`: value of calling koi-koi if nobody has called, by own points and own cards left.
  Every chance to call in rounds of self-play is forced to call, and the round is played on: the
  hidden cards are those of the round, so they are as likely as play makes them.
- `calibration`: prediction of `monte carlo` for the first chance of a round to call, and the
  payoff after that call, by deciles of the prediction.
- `deal`: payoff to the dealer in self-play, and what the next deal is worth.
- `cards`: per card, mean payoff to the player who captured it (an association) and to the
  player who was dealt it (a randomized comparison: the deal is random).
- `yaku`: how often each yaku is paid in self-play, and how much those rounds pay.
- `discards`: which plain card to discard where no card captures, paired on the same deal.
- `search`: what a call gains by seat, state of calls, points and cards left, if the player then
  calls by the rule `FIRST`, with the next deal counted; also under the house rule without
  hanami and tsukimi, by a network trained here on that rule.
- `greedy`: points a round of that network against a greedy player.
- `chosen`: all rules of thumb of a grid, on deals of their own, by seat: the gain over the rule
  on the page with the next deal counted. A rule is named by the cards that a call takes with 1
  to 4 points, with 5 and with 6; with 8 it never calls.
- `rules`: rules when to call, for the network's play of the cards, against the network.
- `withholding`: loss by declining a capture at one decision, paired on the same deal.
- `positions`: positions of chapter 14, with the unseen cards dealt uniformly.
- `single`: prediction and playouts of single positions from self-play: chances to call, each
  with the unseen cards dealt uniformly.

Means have the half-width of their 95 % interval, clustered by round. All numbers are seeded;
the networks compute in float32, so another machine may differ in single rounds.
"""

import argparse
from functools import cache
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from koikoi_judge import Results, digits, load
from koikoi_train import FULL, PLAYERS, thinned

import cfrlib as cfr
from cfrlib.core.rng import LINE, begin, new_key
from koikoi import KoiKoi, Position
from koikoi.cards import DECK, MONTHS
from koikoi.learners import DeepMonteCarlo, NetworkPlayer
from koikoi.learners.network_player import payoff_scale, values_of
from koikoi.players import GreedyPlayer, play, redeal_unseen
from koikoi.simulator import CALL, CALLING, OVER, PLAY, STOPPING, Rounds, Simulator

RESULTS = Path(__file__).with_suffix(".json")
ROUNDS = {"monte carlo": 240_000, "policy gradient": 80_000, "regret": 80_000}
BATCH = 20_000  # rounds in lockstep
HELD_BACK = 60_000  # rounds for `withholding`
UNSEEN = 10_000  # deals of the unseen cards per position of chapter 14
SINGLE, EACH = 400, 1_000  # positions of `single`, and deals of the unseen cards for each
FEWEST = 30  # samples in a cell, or it is left out
MOST_POINTS = 10  # larger numbers of points share a cell
LEFT = {"1": (1, 1), "2": (2, 2), "3": (3, 3), "4": (4, 4), "5": (5, 5), "6-7": (6, 7)}
LEFT |= {"3-4": (3, 4)}
SEATS = ("dealer", "other")
STATES = ("nobody has called", "you have called", "the other has called")
SEARCHED, SEARCHED_HOUSE = 120_000, 60_000  # rounds of `search`
NEVER, ALWAYS = [8] * 6, [0] * 6  # cards left that a call takes, by points from 1 to 6
THUMB = 8, 4, 2  # the page's rule of thumb: with 1 to 4 points, with 5, with 6
FIRST = [4, 2, 2, 2, 4, 2]  # from which `calls` with the next deal counted is above 0
GRID = (8, 5, 4, 3), (6, 5, 4, 3, 2), (4, 3, 2, 1)  # of `chosen`
CHOSEN, RULED = 10_000, 20_000  # deals per rule against the network, for `chosen` and `rules`
DISCARDS, ASKED = 40_000, 0.25  # rounds of `discards`, and share of their turns that is asked
HOUSE = PLAYERS / "house.npz"  # without hanami and tsukimi
HOUSE_RULE = "no hanami, no tsukimi"
HOUSE_ITERATIONS = 400  # of its training, 2,000 rounds each
PLAIN = np.uint64(sum(1 << c for c, card in enumerate(DECK) if card.kind == "plain"))
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

    Arrays of rounds: `hands` and `piles` (dealt, captured), shape (rounds, 2); `paid` to the
    dealer. Arrays of chances: `which`
    (its round), `who` (seat), `points`, `left`, `state`, `stop` (payoff), `call` (payoff after
    the forced call), `called` (whether the network called), `predicted` (NaN if unknown).
    """

    hands: np.ndarray
    piles: np.ndarray
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
    hands, which, called, chances = played.hands.copy(), [], [], []
    while len(going := np.flatnonzero(played.stage != OVER)):
        actions = moves(player, played, going, nets, rng)
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
    return Log(hands, played.piles, played.paid, which=which, call=call, **told)


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
    """Return the value of a first call, by cards left and points."""
    log, found = logged(name), {}
    points = np.minimum(log.points, MOST_POINTS)
    for left, (low, high) in LEFT.items():
        here = (log.state == 0) & (log.left >= low) & (log.left <= high)
        found[f"{STATES[0]}, either, {left}"] = {
            str(p): cell(log, some)
            for p in range(1, MOST_POINTS + 1)
            if (some := here & (points == p)).sum() >= FEWEST
        }
    everywhere = {"all": np.isfinite(log.stop), "called": log.called, "stopped": ~log.called}
    overall = {key: cell(log, some) for key, some in everywhere.items()}
    return {"rounds": ROUNDS[name], "overall": overall, "cells": found}


def cell(log, some):
    """Return n, payoffs of stopping and calling with half-width, shares called and kept.

    The last number is the share of calls after which the player deals the next round.
    """
    mean, half = interval(log.call[some], log.which[some])
    kept = deals_next(log.call[some], log.who[some]).mean()
    stop, called = digits(log.stop[some].mean()), digits(log.called[some].mean())
    return [int(some.sum()), stop, mean, half, called, digits(kept)]


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


def deal(paid):
    """Return the dealer's mean payoff, shares won and tied, and the value of the next deal.

    The winner deals the next round, and after a tie the other player. So if the dealer earns d
    points and wins with probability w, dealing in place of the other is worth 2d in the next
    round, and V = 2d + (w - (1 - w)) V = d / (1 - w) over all later ones.
    """
    found = {"points": paid, "won": paid > 0, "tied": paid == 0}
    keeps = paid > 0
    value = paid.mean() / (1 - keeps.mean())
    _, half = interval((paid - value * ~keeps) / (1 - keeps.mean()))
    means = {key: interval(values) for key, values in found.items()}
    return means | {"value": [digits(value), half], "rounds": len(paid)}


def own_deal(name):
    """Return `deal` for the self-play of a player."""
    return deal(logged(name).paid)


def dealt(player, stream, rounds):
    """Return `deal` for self-play of a player with one network."""
    source = np.random.SeedSequence([SEED, *stream])
    return deal(play(player.network.describer.simulator, player, player, rounds, seed=source))


def cards(name):
    """Return for each card the mean payoffs to who captured it and to who was dealt it."""
    log, found = logged(name), {}
    sign = np.array([1, -1])
    for c, card in enumerate(simulator.names):
        bit = np.uint64(1 << c)
        captured, held = (log.piles & bit) > 0, (log.hands & bit) > 0
        owner = (log.paid[:, None] * sign)[captured]
        holder = (log.paid[:, None] * sign)[held]
        found[card] = {"captured": interval(owner), "dealt": interval(holder)}
    return {"rounds": len(log.paid), "cells": found}


# ---- rules when to call ----------------------------------------------------------------------


class Caller:
    """Plays the cards as a network does, and calls koi-koi where a table says so.

    The table is a bool array [seat, state, points, cards left], as `empty` makes it.
    """

    def __init__(self, player, table):
        self.player, self.table = player, table

    def __call__(self, simulator, rounds, rows, key):
        """Return an action for each of these rounds."""
        actions, at = np.full(len(rows), STOPPING), rounds.stage[rows] == CALL
        actions[~at] = self.player(simulator, rounds, rows[~at], key)
        actions[at] = np.where(self.table[situations(rounds, rows[at])], CALLING, STOPPING)
        return actions


def empty(dtype):
    """Return a table with a zero for each situation in which a player can call."""
    return np.zeros((2, len(STATES), MOST_POINTS + 1, simulator.game.hand), dtype)


def situations(rounds, rows):
    """Return the place in a table of the players who can call in these rounds."""
    i = rounds.player[rows]
    own, theirs = rounds.calls[rows, i] > 0, rounds.calls[rows, 1 - i] > 0
    points = np.minimum(rounds.points[rows, i], MOST_POINTS)
    left = np.bitwise_count(rounds.hands[rows, i]).astype(int)
    return i, np.where(theirs, 2, np.where(own, 1, 0)), points, left


def rule(first, again):
    """Return the table that calls below seven points with at least some number of cards left.

    Both arguments have the cards by points, from 1 to 6: for a first call, and for one after a
    call of one's own. After a call of the other player it never calls.
    """
    table, left = empty(bool), np.arange(simulator.game.hand)
    for points in range(1, 7):
        table[:, 0, points] = left >= first[points - 1]
        table[:, 1, points] = left >= again[points - 1]
    return table


def chances_of(player, table, rounds, source):
    """Return the chances to call in self-play, and what a call gains by a table's rule.

    At each chance of either seat a call is forced. After it, that player calls by the table,
    and the other one as the network does. The arrays returned are: the round of each chance,
    its situation, the gain in points over stopping, and whether the player deals next.
    """
    own = player.network.describer.simulator
    dealing, moving = source.spawn(2)
    played, key = own.deal(rounds, seed=dealing), new_key(moving)
    found, caller = [], Caller(player, table)
    while len(going := np.flatnonzero(played.stage != OVER)):
        at = going[played.stage[going] == CALL]
        found.append((at, played.take(at)))
        own.act(played, going, player(own, played, going, key))
    which, copies = zip(*found, strict=True)
    which, copy = np.concatenate(which), joined(copies)
    rows = np.arange(len(which))
    place, who = situations(copy, rows), copy.player.copy()
    after = player.network.describer.after(copy, rows)
    stop = after.paid[after.start[:-1]]  # the first action is to stop
    own.act(copy, rows, np.full(len(rows), CALLING))
    while len(going := np.flatnonzero(copy.stage != OVER)):
        mine = copy.player[going] == who[going]
        actions = np.empty(len(going), int)
        actions[mine] = caller(own, copy, going[mine], key)
        actions[~mine] = player(own, copy, going[~mine], key)
        own.act(copy, going, actions)
    paid = np.where(who == 0, copy.paid, -copy.paid)
    return which, place, paid - stop, deals_next(paid, who)


def deals_next(paid, who):
    """Return whether a player in this seat deals next: the winner, or else the other seat."""
    return (paid > 0) | ((paid == 0) & (who == 1))


def searched(player, value, rounds):
    """Return what a call gains in each situation, if the rule `FIRST` decides later calls."""
    sources = np.random.SeedSequence([SEED, 6]).spawn(rounds // BATCH)
    parts = [chances_of(player, rule(FIRST, ALWAYS), BATCH, source) for source in sources]
    return cells_of(parts, value)


def cells_of(parts, value):
    """Return the gains of the chances by situation.

    A cell has the number of chances, the gain in points, the gain with the next deal counted,
    and the half-width of its interval, corrected for the number of cells: `z` is its quantile.
    Situations after a call of one's own are left out: here the network chose where to call
    first, so they are better than those of a player who calls by a rule.
    """
    which = np.concatenate([n * BATCH + part[0] for n, part in enumerate(parts)])
    place = np.stack([np.concatenate([part[1][k] for part in parts]) for k in range(4)], axis=1)
    points, keeps = (np.concatenate([part[k] for part in parts]) for k in (2, 3))
    gain = points - value * ~keeps
    asked, number = np.unique(place, axis=0, return_counts=True)
    asked = asked[(number >= FEWEST) & (asked[:, 1] != 1)]
    z, cells = corrected(len(asked)), {}
    for at in asked:
        some = (place == at).all(axis=1)
        seat, state, p, left = at.tolist()
        here, half = interval(gain[some], which[some])
        rows = cells.setdefault(f"{STATES[state]}, {SEATS[seat]}", {})
        alone = digits(points[some].mean())
        rows[f"{p}, {left}"] = [int(some.sum()), alone, here, digits(half * z / 1.96)]
    about = {"rounds": BATCH * len(parts), "value": value, "z": digits(z)}
    return about | {"situations": len(asked), "cells": cells}


def table_of(found):
    """Return the table of `search`, which goes on after a call of its own."""
    table = rule(NEVER, ALWAYS)
    for title, rows in found["cells"].items():
        state, seat = title.split(", ")
        for key, (_, _, gain, _) in rows.items():
            p, left = map(int, key.split(", "))
            table[SEATS.index(seat), STATES.index(state), p, left] = gain > 0
    return table


def against(player, table, deals, value, seed):
    """Return what a table's rule wins from the network in both seats, shape (2, deals).

    Twice: in points, and with the deal of the next round counted with its value.
    """
    own, caller = player.network.describer.simulator, Caller(player, table)
    ahead = play(own, caller, player, deals, seed=seed)
    behind = -play(own, player, caller, deals, seed=seed)
    next_deal = np.stack([deals_next(ahead, 0), deals_next(behind, 1)]) - 0.5
    points = np.stack([ahead, behind])
    return points, points + value * next_deal


def thumb(few, five, six):
    """Return the table of a rule of thumb, by the cards that a call takes."""
    return rule([few] * 4 + [five, six], [few] * 4 + [five, six])


def chosen(player, deals, value):
    """Return what each rule of the grid gains over the page's rule, by seat."""
    _, page = against(player, thumb(*THUMB), deals, value, SEED + 8)
    found = {}
    for cards_left in product(*GRID):
        _, counted = against(player, thumb(*cards_left), deals, value, SEED + 8)
        gains = (interval(gain) for gain in counted - page)
        found[", ".join(map(str, cards_left))] = dict(zip(SEATS, gains, strict=True))
    best = {seat: max(found, key=lambda key: found[key][seat][0]) for seat in SEATS}
    return {"deals": deals, "best": best, "rules": found}


def best_by_seat(found):
    """Return the table of the best rules of `chosen`."""
    tables = (thumb(*map(int, found["best"][seat].split(", "))) for seat in SEATS)
    return np.stack([table[seat] for seat, table in enumerate(tables)])


def ruled(player, tables, deals, value):
    """Return what each table's rule wins from the network, and loses to the first of them.

    Every deal is played in both seats. `points` are points a round, `with deals` count the
    deal of the next round with its value.
    """
    found, first = {}, None
    for title, table in tables.items():
        both, counted = against(player, table, deals, value, SEED + 9)
        counted = counted.mean(axis=0)
        first = counted if first is None else first
        found[title] = {
            "points": interval(both.mean(axis=0)),
            "with deals": interval(counted),
            "behind": interval(counted - first),
            "won": interval((both > 0).mean(axis=0)),
        }
    return {"deals": deals, "rules": found}


# ---- what players ask ------------------------------------------------------------------------


def yaku(name):
    """Return for each yaku: share of rounds won with it, and the mean payment of those."""
    log = logged(name)
    winner = np.where(log.paid > 0, 0, 1)
    pile, table = log.piles[np.arange(len(winner)), winner], simulator.table
    counts, replaced, found = log.paid != 0, np.zeros(len(pile), int), {}
    for y, one in enumerate(simulator.game.yaku):
        cards = np.bitwise_or.reduce(table.group[table.cards[y] : table.cards[y + 1]])
        made = counts & (np.bitwise_count(pile & cards) >= table.need[y])
        shown = made & ~((replaced >> y) & 1).astype(bool)
        replaced[made] |= int(table.replaces[y])
        paid = np.abs(log.paid[shown])
        found[one.name] = {"share": interval(shown), "paid": interval(paid), "times": len(paid)}
    return {"rounds": len(pile), "yaku": found}


def bare_turns(rounds, rows):
    """Return the hands of the players to move in which no card has a match on the field."""
    hand, open_months = rounds.hands[rows, rounds.player[rows]], np.uint64(0)
    for month in np.unique(simulator.table.month):
        open_months |= np.where(rounds.field[rows] & month, month, np.uint64(0))
    return np.where((rounds.stage[rows] == PLAY) & ((hand & open_months) == 0), hand, 0)


def forced(player, source):
    """Return payoffs of forced discards: the turn, the card, its player's payoff, the hand."""
    dealing, moving = source.spawn(2)
    played, rng = simulator.deal(BATCH, seed=dealing), np.random.default_rng(moving)
    nets, found = np.zeros((BATCH, 2), int), []
    while len(going := np.flatnonzero(played.stage != OVER)):
        hand = bare_turns(played, going) & PLAIN
        asked = (np.bitwise_count(hand) > 1) & (rng.random(len(going)) < ASKED)
        held = hand[asked][:, None] >> np.arange(len(DECK), dtype=np.uint64) & np.uint64(1)
        turn, card = np.nonzero(held)
        found.append(
            (going[asked][turn], card, hand[asked][turn], played.take(going[asked][turn]))
        )
        simulator.act(played, going, moves(player, played, going, nets, rng))
    rows, card, hand, copies = zip(*found, strict=True)
    step = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
    rows, card, hand, copy = *map(np.concatenate, (rows, card, hand)), joined(copies)
    sign = np.where(copy.player == 0, 1, -1)
    simulator.act(copy, np.arange(len(rows)), card)
    play_on(player, copy, nets[rows], rng)
    return rows, step, card, hand, sign * copy.paid


def discards(player):
    """Return what a plain card of each month gains as a discard over the hand's other ones.

    In turns in which no card of the hand captures, each plain card is forced in turn, and the
    network plays on. A gain is the payoff less the mean over the plain cards of that hand.
    `pair` is the mean of cards whose month the hand holds twice less that of the others, in
    hands with both. The intervals of the months are corrected for their number.
    """
    sources = np.random.SeedSequence([SEED, 9]).spawn(DISCARDS // BATCH)
    parts = [forced(player, source) for source in sources]
    batch = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    rows, step, card, hand, paid = map(np.concatenate, zip(*parts, strict=True))
    rows += batch * BATCH
    _, turn = np.unique(np.column_stack([rows, step]), axis=0, return_inverse=True)
    gain = paid - mean_of(turn, paid)[turn]
    months, z = np.array([one.month for one in DECK])[card], corrected(12)
    found = {}
    for month, name in enumerate(MONTHS, 1):
        some = months == month
        mean, half = interval(gain[some], rows[some])
        found[name] = [int(some.sum()), mean, digits(half * z / 1.96)]
    twice = np.bitwise_count(hand & simulator.table.month[card]) > 1
    both = mean_of(turn, twice)
    mixed = ((both > 0) & (both < 1))[turn]
    share = np.where(twice, both[turn], both[turn] - 1)[mixed]
    ahead = paid[mixed] / share
    _, which = np.unique(turn[mixed], return_inverse=True)
    pairs = mean_of(which, ahead)
    of_round = np.zeros(len(pairs), int)
    of_round[which] = rows[mixed]
    about = {"rounds": DISCARDS, "turns": int(turn.max()) + 1, "z": digits(z)}
    return about | {"months": found, "pair": [len(pairs), *interval(pairs, of_round)]}


def mean_of(group, values):
    """Return the mean of the values in each group."""
    return np.bincount(group, values) / np.bincount(group)


def corrected(comparisons):
    """Return the quantile of 95 % intervals that hold for a number of comparisons together."""
    return NormalDist().inv_cdf(1 - 0.025 / comparisons)


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


def house_player():
    """Return the player for rounds without hanami and tsukimi; train it if it has no file."""
    house = KoiKoi(yaku={"hanami": 0, "tsukimi": 0})
    if not HOUSE.exists():
        run = DeepMonteCarlo(house, **FULL, seed=SEED).run(HOUSE_ITERATIONS, progress=False)
        HOUSE.parent.mkdir(exist_ok=True)
        thinned(run.player(), 1).save(HOUSE)
    return NetworkPlayer.load(HOUSE, house)


def judged(player):
    """Return the points a round that a player wins from a greedy one which stops."""
    found = cfr.match(
        player.network.describer.simulator, player, GreedyPlayer(), 10_000, seed=SEED
    )
    return {"points": [digits(found.mean), digits(found.margin)], "deals": 10_000}


def main():
    """Compute all results that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="sections whose names start like this")
    results = Results(parser.parse_args().only, RESULTS)
    players, sums = load(game)
    critic = players["monte carlo"], sums["monte carlo"]
    positions(results, players, sums)
    for name in ROUNDS:
        results.once("calls", name, sums[name], calls, name)
        results.once("deal", name, sums[name], own_deal, name)
        if players[name].rule == "value":
            results.once("calibration", name, sums[name], calibration, name)
            results.once("cards", name, sums[name], cards, name)
            results.once("yaku", name, sums[name], yaku, name)
        logged.cache_clear()
    results.once("single", "monte carlo", critic[1], single, critic[0])
    results.once("withholding", "monte carlo", critic[1], withholding, critic[0])
    results.once("discards", "monte carlo", critic[1], discards, critic[0])
    value = results.known["deal"]["monte carlo"]["value"][0]
    results.once("search", "monte carlo", critic[1], searched, critic[0], value, SEARCHED)
    results.once("chosen", "monte carlo", critic[1], chosen, critic[0], CHOSEN, value)
    tables = {
        "rule of thumb": thumb(*THUMB),
        "best of the search": best_by_seat(results.known["chosen"]["monte carlo"]),
        "the table": table_of(results.known["search"]["monte carlo"]),
        "also with 1 to 4": rule(FIRST, ALWAYS),
        "never": rule(NEVER, NEVER),
    }
    results.once("rules", "monte carlo", critic[1], ruled, critic[0], tables, RULED, value)
    house = house_player()
    mark = house.checksum
    results.once("deal", HOUSE_RULE, mark, dealt, house, (10,), 60_000)
    results.once("greedy", HOUSE_RULE, mark, judged, house)
    value = results.known["deal"][HOUSE_RULE]["value"][0]
    results.once("search", HOUSE_RULE, mark, searched, house, value, SEARCHED_HOUSE)


if __name__ == "__main__":
    main()
