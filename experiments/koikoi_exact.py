"""Miniature Koi-Koi solved exactly: equilibria, and the exploitability of other players.

    python experiments/koikoi_exact.py [K8 K9 K10 K12 ...]

Writes experiments/koikoi_exact.json; with names, only these games are computed again. All four
take about half an hour and 3 GB on one core; K8, K9 and K10 a few minutes of it. For each game:

- `size`, and the `value`: by linear program, and by CFR+ with its exploitability;
- `curves`: exploitability of CFR+, CFR, external and outcome sampling (epsilon 0.6);
- `options`: the change of the value if a player never calls koi-koi, must match, ...;
- `withheld`: how often the equilibrium keeps back a card that matches;
- `players`: exploitability of heuristics and of the equilibrium; `duels`: their payoffs against
  each other, in both seats;
- `first calls`: how often the dealer calls koi-koi after the first turn, by the cards captured
  and left (K8 and K10, where the cards of a month are identical).

Sampling and Monte Carlo control are seeded: every run gives the same numbers, up to rounding.
"""

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import flat_json
import numpy as np
from numba import njit

import cfrlib as cfr
from cfrlib import Decision
from cfrlib.core.sequence import backup, sequence_form
from cfrlib.core.tree import CHANCE
from cfrlib.equilibrium import evaluate
from koikoi import MiniKoiKoi
from koikoi.rules import KOI, STOP

RESULTS = Path(__file__).with_name("koikoi_exact.json")
GAMES = ("K8", "K9", "K10", "K12")
LONG = {"K8": 10_000, "K9": 10_000, "K10": 10_000, "K12": 3_000}  # iterations of CFR+
OPTION = {"K8": 1e-5, "K9": 1e-5, "K10": 1e-5, "K12": 1e-4}  # exploitability of an option
WHOLE = (1, 4, 16, 64, 256, 1_024)  # iterations at which CFR+ and CFR are measured
SAMPLED = {  # traversals at which MCCFR is measured
    "external": (10_000, 100_000, 1_000_000),
    "outcome": (100_000, 1_000_000, 5_000_000),
}
EPISODES = (1_000_000, 10_000_000)  # of Monte Carlo control
EXPLORE = 0.1
SEED = 0


def digits(number: float) -> float:
    """Round to five digits, which do not depend on the machine."""
    return float(f"{number:.5g}")


# ---- variants of the rules -----------------------------------------------------------------


class Changed(cfr.Game):
    """A game whose decision nodes are replaced by `change(decision, position)`."""

    def __init__(self, game, change):
        self.game, self.change = game, change

    def root(self):
        return self.game.root()

    def step(self, h, a):
        return self.game.step(h, a)

    def node(self, h):
        node = self.game.node(h)
        return self.change(node, h) if isinstance(node, Decision) else node


def only(node, actions):
    """Return the decision restricted to these actions."""
    return Decision(node.player, node.infoset, tuple(actions))


def calling(action, players):
    """Restrict these players to `action` where they may call koi-koi."""

    def change(node, at):
        bound = at.stage == "call" and node.player in players
        return only(node, [action]) if bound else node

    return change


def matching(game, at):
    """Return the cards in the hand of the player to move that match one on the field."""
    months = {game.months[card] for card in at.field}
    return [card for card in dict.fromkeys(at.hands[at.player]) if game.months[card] in months]


def must_match(game, player):
    """Restrict this player to matching cards where there is one."""

    def change(node, at):
        if at.stage != "play" or node.player != player:
            return node
        return only(node, matching(game, at) or node.actions)

    return change


def open_hand(player):
    """Show this player the opponent's hand as dealt."""

    def change(node, at):
        if node.player != player:
            return node
        shown = at.first[1 - player].split(" | ")[0]
        return Decision(player, f"{node.infoset} / {shown}", node.actions)

    return change


def options(name):
    """Return variants with one rule changed, by name."""
    make = getattr(MiniKoiKoi, name)
    game = make()
    return {
        "dealer never calls": Changed(game, calling(STOP, (0,))),
        "other never calls": Changed(game, calling(STOP, (1,))),
        "nobody calls": Changed(game, calling(STOP, (0, 1))),
        "dealer always calls": Changed(game, calling(KOI, (0,))),
        "other always calls": Changed(game, calling(KOI, (1,))),
        "koi-koi does not double": make(koi_factor=1),
        "koi-koi trebles": make(koi_factor=3),
        "dealer sees the other's hand": Changed(game, open_hand(0)),
        "other sees the dealer's hand": Changed(game, open_hand(1)),
        "dealer must match": Changed(game, must_match(game, 0)),
        "other must match": Changed(game, must_match(game, 1)),
    }


# ---- helpers -------------------------------------------------------------------------------


def examples(tree):
    """Return a position of each infoset."""
    found = [None] * tree.num_infosets
    above = [tree.game.root()]
    for n, start in enumerate(tree.level_start[:-1]):
        here = []
        for k in range(start, tree.level_start[n + 1]):
            at = above[0]
            if k:
                up = tree.parent[k]
                at = tree.game.step(above[up - tree.level_start[n - 1]], tree.action[k])
            here.append(at)
            if tree.infoset[k] >= 0 and found[tree.infoset[k]] is None:
                found[tree.infoset[k]] = at
        above = here
    return found


def best_of(form, worth, slack=1e-9):
    """Return the greedy strategy in the values `worth` of sequences, uniform over ties."""
    sigma = form.uniform()
    t = form.treeplexes
    for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
        best = worth[start:stop] >= worth[start:stop].max() - slack
        sigma[start:stop] = best / best.sum()
    return sigma


# ---- players -------------------------------------------------------------------------------


def greedy(form, known, call):
    """Maximize points now, then captured cards; at a call, take the action `call`."""
    game, worth = form.tree.game, np.zeros(form.num_sequences)
    for I, at in enumerate(known):
        q = form.tree.infoset_start[I]
        for n, action in enumerate(form.tree.infoset_actions[I]):
            if at.stage == "call":
                worth[q + n] = action == call
            else:
                worth[q + n] = gain(game, at, action)
    return best_of(form, worth)


def gain(game, at, action):
    """Return the points of the pile after an action, plus a little for each card in it."""
    after = game.step(at, action)
    piles = [after.piles[at.player]]
    if after.stage == "match":  # the better of both choices
        piles = [game.step(after, card).piles[at.player] for card in game.node(after).actions]
    return max(game.worth(pile) + len(pile) / 1_000 for pile in piles)


def open_cards(tree):
    """Return the value of each history to the dealer with perfect information."""
    value = tree.utility[:, 0].copy()
    for start, stop in reversed(
        list(zip(tree.level_start, tree.level_start[1:], strict=False))
    ):
        k = np.arange(start, stop)
        inner = k[tree.num_children[k] > 0]
        if not len(inner):
            continue
        first = tree.first_child[inner]
        below = slice(first[0], first[-1] + tree.num_children[inner[-1]])
        weighted = value[below] * tree.probability[below]
        mean = np.add.reduceat(weighted, first - first[0])
        most = np.maximum.reduceat(value[below], first - first[0])
        least = np.minimum.reduceat(value[below], first - first[0])
        who = tree.player[inner]
        value[inner] = np.where(who == CHANCE, mean, np.where(who == 0, most, least))
    return value


def perfect_information(form):
    """Take the action of the highest perfect-information value, averaged over hidden cards.

    This is perfect-information Monte Carlo with infinitely many samples. All hidden cards that
    fit the observations are equally likely, regardless of the opponent's actions.
    """
    tree, value = form.tree, open_cards(form.tree)
    k = np.flatnonzero(tree.player[tree.parent] >= 0)  # histories after a decision
    k = k[k > 0]
    mover = tree.player[tree.parent[k]]
    seen = tree.chance_reach[k] * np.where(mover == 0, value[k], -value[k])
    worth = np.bincount(tree.sequence[k, mover], seen, form.num_sequences)
    weight = np.bincount(tree.sequence[k, mover], tree.chance_reach[k], form.num_sequences)
    return best_of(form, worth / np.where(weight > 0, weight, 1))


@njit(cache=True)
def control(
    player, infoset, first_child, num_children, cumulative, start, payoff, episodes, explore,
    rng, total, count,
):  # fmt: skip
    """Play episodes of self-play; add each payoff to all actions of its episode."""
    taken = np.zeros(64, np.int64)
    for _ in range(episodes):
        k, n = 0, 0
        while num_children[k] > 0:
            first, children = first_child[k], num_children[k]
            if player[k] == CHANCE:
                below = cumulative[first : first + children]
                a = min(np.searchsorted(below, rng.random(), "right"), children - 1)
            else:
                q = start[infoset[k]]
                a = rng.integers(0, children)
                if rng.random() >= explore:
                    best = -np.inf
                    for b in range(children):
                        mean = np.inf if count[q + b] == 0 else total[q + b] / count[q + b]
                        if mean > best:
                            best, a = mean, b
                taken[n] = 2 * (q + a) + player[k]
                n += 1
            k = first + a
        for j in range(n):
            q = taken[j] // 2
            total[q] += payoff[k] if taken[j] % 2 == 0 else -payoff[k]
            count[q] += 1


def monte_carlo_control(form, episodes):
    """Learn action values by tabular Monte Carlo control in self-play.

    Yields the greedy strategy after each number of episodes.
    """
    tree = form.tree
    inner = np.flatnonzero(tree.player == CHANCE)
    cumulative = np.zeros(tree.num_histories)
    for k in inner:
        below = slice(tree.first_child[k], tree.first_child[k] + tree.num_children[k])
        cumulative[below] = np.cumsum(tree.probability[below])
    total, count = np.zeros(form.num_sequences), np.zeros(form.num_sequences, np.int64)
    done, rng = 0, np.random.default_rng(SEED)
    for goal in episodes:
        control(
            tree.player, tree.infoset, tree.first_child, tree.num_children, cumulative,
            tree.infoset_start, tree.utility[:, 0].copy(), goal - done, EXPLORE, rng,
            total, count,
        )  # fmt: skip
        done = goal
        yield best_of(form, total / np.maximum(count, 1))


# ---- measurements --------------------------------------------------------------------------


def measured(form, sigma):
    """Return the value to the dealer, and the exploitability."""
    values, gains, _ = evaluate(form, form.plans(sigma))
    return float(values[0]), float(gains.mean())


def curve(game, name, points):
    """Return the exploitability of an algorithm after some numbers of iterations."""
    sampled = name in SAMPLED
    run = cfr.MCCFR(game, sampling=name, seed=SEED) if sampled else cfr.CFR(game, name)
    form, rows, done = sequence_form(game), [], 0
    for goal in points:
        run.run(goal - done, progress=False)
        done = goal
        found = measured(form, run.average.values_by_sequence)[1]
        rows.append([goal, digits(found)])
        print(f"  {name} {goal:,}: {found:.3g}", flush=True)
    return rows


def duels(form, players):
    """Return the payoff of each player against each other one, averaged over the seats."""
    first = form.treeplexes.player_sequences
    table = {}
    for name, x in players.items():
        row = {}
        for other, y in players.items():
            both = []
            for seat, (mine, theirs) in enumerate(((x, y), (y, x))):
                mixed = theirs.copy()
                mixed[: first[1]] = mine[: first[1]]
                value = measured(form, mixed)[0]
                both.append(value if seat == 0 else -value)
            row[other] = digits(sum(both) / 2)
        table[name] = row
    return table


def infoset_reach(form, x):
    """Return the probability that play reaches each infoset."""
    tree, here = form.tree, form.tree.infoset >= 0
    reach = tree.chance_reach * x[tree.sequence].prod(axis=1)
    return np.bincount(tree.infoset[here], reach[here], tree.num_infosets)


def withheld(form, known, sigma):
    """Return, for both players, how often they play a card without a match and keep a match.

    Only decisions with cards of both kinds count, weighted by reach.
    """
    tree, x = form.tree, form.plans(sigma)
    reach = infoset_reach(form, x)
    kept, chosen = [0.0, 0.0], [0.0, 0.0]
    for I, at in enumerate(known):
        if at.stage != "play":
            continue
        good, actions = matching(tree.game, at), tree.infoset_actions[I]
        if 0 < len(good) < len(actions):
            q = tree.infoset_start[I]
            away = sum(sigma[q + n] for n, a in enumerate(actions) if a not in good)
            kept[at.player] += reach[I] * away
            chosen[at.player] += reach[I]
    return [digits(k / c) if c else None for k, c in zip(kept, chosen, strict=True)]


def called(form, known, sigma):
    """Return, for both players, how often they call, and the share of it that is mixed."""
    tree, x = form.tree, form.plans(sigma)
    reach = infoset_reach(form, x)
    may, do, mixed = np.zeros(2), np.zeros(2), np.zeros(2)
    for I, at in enumerate(known):
        if at.stage == "call":
            p = sigma[tree.infoset_start[I] + tree.infoset_actions[I].index(KOI)]
            may[at.player] += reach[I]
            do[at.player] += reach[I] * p
            mixed[at.player] += reach[I] * p * (0.01 < p < 0.99)
    return {
        "called": [digits(p) for p in do / may],
        "of these at mixed decisions": [digits(p) for p in mixed / do],
    }


def first_calls(form, known, sigma):
    """Return the dealer's decisions to call after the first turn, grouped by cards.

    A row has the cards captured and left, the values of stopping and calling against the same
    strategy of the other player, and P(call), each as (least, most) over the group.
    """
    tree, x = form.tree, form.plans(sigma)
    values = form.gradients(x)
    backup(form.treeplexes, 0, sigma, values)
    groups = defaultdict(list)
    for I, at in enumerate(known):
        if at.stage != "call" or at.player != 0 or sum(map(len, at.piles)) != 4:
            continue
        if len(at.hands[1]) != len(at.hands[0]) + 1:
            continue
        q = tree.infoset_start[I]
        weight = opponents_reach(form, x, I)
        row = [values[q] / weight, values[q + 1] / weight, sigma[q + 1]]
        groups[" ".join(at.piles[0]), " ".join(at.hands[0])].append(row)
    rows = []
    for (pile, hand), found in sorted(groups.items()):
        low, high = np.min(found, axis=0), np.max(found, axis=0)
        stop, koi, p = ([digits(a), digits(b)] for a, b in zip(low, high, strict=True))
        rows.append({"captured": pile, "left": hand, "stop": stop, "koi": koi, "p": p})
    return rows


def opponents_reach(form, x, I):
    """Return π_-i(I) of an infoset of the dealer: the reach of chance and the other player."""
    tree = form.tree
    k = np.flatnonzero(tree.infoset == I)
    return float((tree.chance_reach[k] * x[tree.sequence[k, 1]]).sum())


# ---- all measurements ----------------------------------------------------------------------


def measure_all(name):
    """Return all results of one game."""
    game, began = getattr(MiniKoiKoi, name)(), time.perf_counter()

    def log(*words):
        print(f"{name} {time.perf_counter() - began:6.0f} s:", *words, flush=True)

    tree = cfr.compile(game)
    log(tree)
    form, found = sequence_form(game), {}
    width = np.array([len(actions) for actions in tree.infoset_actions])
    found["size"] = {
        "deals": int(tree.num_children[0]),
        "histories": tree.num_histories,
        "terminals": tree.num_terminals,
        "infosets": np.diff(tree.player_infosets).tolist(),
        "with a choice": int((width > 1).sum()),
    }
    run = cfr.CFR(game, "cfr+").run(LONG[name], progress=False)
    best = run.average.values_by_sequence
    value, gap = measured(form, best)
    found["value"] = {"cfr+": digits(value), "exploitability": digits(gap)}
    if name != "K12":
        found["value"]["lp"] = round(cfr.solve_lp(game).value, 9)
    log("value", found["value"])
    found["curves"] = {"cfr+": curve(game, "cfr+", WHOLE), "cfr": curve(game, "cfr", WHOLE)}
    for scheme, points in SAMPLED.items():
        found["curves"][scheme] = curve(game, scheme, points)
    known = examples(tree)
    found["withheld"] = withheld(form, known, best)
    found |= called(form, known, best)
    if name in ("K8", "K10"):
        found["first calls"] = first_calls(form, known, best)
    log("withheld", found["withheld"], "called", found["called"])
    players = {
        "uniform": form.uniform(),
        "greedy, stops": greedy(form, known, STOP),
        "greedy, calls": greedy(form, known, KOI),
        "perfect information": perfect_information(form),
        "external sampling": cfr.solve(
            game, "cfr", 1_000_000, sampling="external", seed=SEED, progress=False
        ).strategy.values_by_sequence,
    }
    learned = monte_carlo_control(form, EPISODES)
    for episodes, sigma in zip(EPISODES, learned, strict=True):
        players[f"control, {episodes:,}"] = sigma
    players["CFR+"] = best
    found["players"] = {p: digits(measured(form, s)[1]) for p, s in players.items()}
    log(found["players"])
    found["duels"] = duels(form, players)
    found["options"] = {}
    for option, other in options(name).items():
        solved = cfr.solve(other, "cfr+", 5_000, until=OPTION[name], progress=False)
        row = {"change": round(solved.value - value, 5) + 0.0}
        row["exploitability"] = digits(solved.exploitability)
        found["options"][option] = row
        log(option, row)
    return found


def main(*names):
    """Measure all games, or those named, and write the results."""
    results = json.loads(RESULTS.read_text()) if names else {}
    for name in names or GAMES:
        results[name] = measure_all(name)
        ordered = {name: results[name] for name in GAMES if name in results}
        flat_json.write(RESULTS, ordered)


if __name__ == "__main__":
    main(*sys.argv[1:])
