"""Coyote for n players, n = 2 … 6: Deep CFR the same way for every n, and how well it plays.

    python experiments/coyote_players.py n [n …]

Writes the entry for n into experiments/coyote_players.json. With more than two players there
is no guarantee, so the trained policy, a mixture of networks, is judged by what it does:

- NashConv, exactly, with two and three players, and on the small deck with up to four.
- Tables: at every seat, among players that are all of another kind, its mean payoff, and what
  that is more than the other kind gets at this seat with the same cards.
- A responder: trained as the policy was, but alone, against the policy. Its gain at seat 0 is
  a lower bound on what the policy can be exploited for.

Intervals are 1.96 standard errors. The numbers depend on the seed alone, seconds excepted.
"""

import json
import math
import os
import sys
import time
from pathlib import Path

import jax
import numpy as np

import cfrlib as cfr
from cfrlib.deep import DeepCFR, Responder, Training
from cfrlib.games import Coyote

RESULTS = Path(__file__).with_suffix(".json")
SEED = 0
ITERATIONS = 16
OPTIONS = {"traversals": 400, "memory": 200_000, "advantage": Training((64, 64), 300, 512)}
ROUNDS = 3_000  # against each kind of player, all seats together
JUDGED = 6_000  # with and without the responder
LARGEST = 3  # players for whom the full deck compiles
CFR_PLUS = 1_000  # iterations of CFR+ on the small deck, for comparison


def digits(number):
    """Keep four significant digits."""
    return float(f"{number:.4g}")


def interval(numbers):
    """Return mean and half the width of the 95 % confidence interval."""
    return [
        digits(numbers.mean()),
        digits(1.96 * numbers.std(ddof=1) / math.sqrt(len(numbers))),
    ]


# ---- simple players --------------------------------------------------------------------------


def caller(game, margin):
    """Return a player that calls if a declaration is more than can be expected, and a margin.

    It expects the sum of the cards it sees and the mean of those it does not see.
    """
    worth = {card: card if isinstance(card, int) else 0 for card in game.deck}
    names = {str(card): card for card in game.deck}
    everything = sum(worth[card] * copies for card, copies in game.deck.items())
    cards = sum(game.deck.values())

    def play(decisions, tickets):
        sigma = np.zeros((len(decisions), 2))
        for row, node in zip(sigma, decisions, strict=True):
            words, declaration = node.infoset.split(": ")
            seen = [names[word] for word in words.split() if word != "_"]
            unseen = everything - sum(worth[card] for card in seen)
            expected = game.total(seen) + unseen / (cards - len(seen))
            wanted = "coyote" if int(declaration) > expected + margin else "+1"
            row[node.actions.index(wanted) if wanted in node.actions else 0] = 1.0
        return sigma

    return play


# ---- measures --------------------------------------------------------------------------------


def train(game, lazy):
    """Train; return the run, and the policy at the start, a quarter, half and the end."""
    run = DeepCFR(game, on_demand=lazy, average="mixture", seed=SEED, **OPTIONS)
    policies = [run.policy()]
    for t in (ITERATIONS // 4, ITERATIONS // 2, ITERATIONS):
        run.run(t - run.iterations, progress=False)
        policies.append(run.policy())
    return run, policies


def exactly(game, strategy):
    """Return NashConv and what each player could gain."""
    worth = cfr.expected_utility(game, strategy)
    gains = [
        cfr.best_response(game, strategy, i).value - worth[i] for i in range(game.num_players)
    ]
    return {"nash_conv": digits(sum(gains)), "gains": [digits(gain) for gain in gains]}


def table(game, policy, others):
    """Seat a policy among others, at every seat in turn, and compare with the others there."""
    n, mine, theirs = game.num_players, [], []
    for seat in range(n):
        for who, paid in ((policy, mine), (others, theirs)):
            players = [others] * n
            players[seat] = who
            seed = 1_000 * SEED + seat
            paid.append(cfr.simulate(game, players, ROUNDS // n, seed=seed)[:, seat])
    mine, theirs = np.concatenate(mine), np.concatenate(theirs)
    return {"payoff": interval(mine), "more_than_they": interval(mine - theirs)}


def respond(game, policy):
    """Train a responder at seat 0; return its gain over the policy, with the same cards."""
    responder = Responder(policy, 0, seed=SEED, **OPTIONS).run(ITERATIONS, progress=False)
    paid = []
    for who in (responder.seated(), policy):
        players = [who] + [policy] * (game.num_players - 1)
        paid.append(cfr.simulate(game, players, JUDGED, seed=SEED + 500)[:, 0])
    return responder, {
        "gain": interval(paid[0] - paid[1]),
        "seconds": digits(responder.seconds),
    }


def small_deck(players):
    """Train on the small deck; NashConv beside the start and tabular CFR+."""
    game = Coyote(players, deck=Coyote.SMALL)
    run, _ = train(game, on_demand=False)
    best = cfr.solve(game, "cfr+", CFR_PLUS, progress=False).strategy
    return {
        "infosets": cfr.compile(game).num_infosets,
        "uniform": digits(cfr.nash_conv(game, cfr.Strategy.uniform(game))),
        "deep": digits(cfr.nash_conv(game, run.mixture)),
        "cfr+": digits(cfr.nash_conv(game, best)),
        "seconds": digits(run.seconds),
    }


def judge(players):
    """Return everything that is said about n players."""
    game = Coyote(players)
    run, policies = train(game, on_demand=players > LARGEST)
    policy = policies[-1]
    print(f"{players} players: {run.nodes:,} nodes, {run.seconds:.0f} s", flush=True)
    found = {
        "nodes": run.nodes, "seconds": digits(run.seconds), "lazy": players > LARGEST,
        "fair": digits((players - 2) / players), "losses": [digits(x) for x in run.losses],
    }  # fmt: skip
    kinds = {
        "start (uniform)": policies[0], "a quarter": policies[1], "half": policies[2],
        "caller": caller(game, 0), "bold caller": caller(game, 5),
        "timid caller": caller(game, -3),
    }  # fmt: skip
    found["tables"] = {name: table(game, policy, others) for name, others in kinds.items()}
    print(found["tables"], flush=True)
    responder, found["responder"] = respond(game, policy)
    simple = {name: deviation(game, policy, kinds[name]) for name in list(kinds)[3:]}
    found["simple_deviations"] = simple
    print(found["responder"], simple, flush=True)
    if players <= LARGEST:
        found["uniform"] = exactly(game, cfr.Strategy.uniform(game))
        found["exact"] = exactly(game, run.mixture)
        found["responder"]["exact"] = digits(responder_gain(game, run.mixture, responder))
    if players <= 4:
        found["small_deck"] = small_deck(players)
    return found


def deviation(game, policy, other):
    """Return what a simple player gains at seat 0 over the policy, among the policy."""
    paid = []
    for who in (other, policy):
        players = [who] + [policy] * (game.num_players - 1)
        paid.append(cfr.simulate(game, players, ROUNDS, seed=SEED + 600)[:, 0])
    return interval(paid[0] - paid[1])


def responder_gain(game, strategy, responder):
    """Return the responder's exact gain at seat 0."""
    table, tree = responder.seated().strategy(), cfr.compile(game)
    labels = zip(tree.infoset_label, tree.infoset_player, strict=True)
    changed = strategy.replace({label: table[label] for label, i in labels if i == 0})
    return cfr.expected_utility(game, changed)[0] - cfr.expected_utility(game, strategy)[0]


def main(*numbers):
    """Judge each number of players, and write it down."""
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # these networks are small
    for players in numbers:
        began, cpu = time.perf_counter(), time.process_time()
        found = judge(players)
        found["total_seconds"] = digits(time.perf_counter() - began)
        found["total_cpu_seconds"] = digits(time.process_time() - cpu)
        data = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"players": {}}
        data |= {
            "script": "experiments/coyote_players.py",
            "settings": {
                "seed": SEED, "iterations": ITERATIONS, "traversals": OPTIONS["traversals"],
                "memory": OPTIONS["memory"], "training": repr(OPTIONS["advantage"]),
                "rounds_of_a_table": ROUNDS, "rounds_with_the_responder": JUDGED,
            },
            "versions": {"cfrlib": cfr.__version__, "jax": jax.__version__},
            "processors": os.cpu_count(),
        }  # fmt: skip
        data["players"][str(players)] = found
        data["players"] = dict(sorted(data["players"].items()))
        RESULTS.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or "23456"))
