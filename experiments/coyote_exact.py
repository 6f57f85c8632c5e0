"""CFR on the whole tree of Coyote: two players solved, three and four without guarantee.

    python experiments/coyote_exact.py [players ...]

Writes experiments/coyote_exact.json; given numbers of players, repeats only their runs. Two and
three players take a few minutes and 1 GB. Four have 22 million histories, whose tree alone
takes 5 GB. Nothing is random: every run gives the same numbers, up to rounding. `two` is an
almost exact equilibrium of the two-player game and its calling frequencies. `runs` tracks two
numbers over the iterations: the external regret of the joint average play, which CFR drives to
zero for any number of players, and NashConv of the average strategies. With two players these
are equal; with three, NashConv stalls. `three` has the calling frequencies of three players
with a 10 in sight, after 1, 4, 16, … iterations, and how often a call wins.
"""

import json
import sys
import time
from pathlib import Path

import flat_json
import numpy as np

import cfrlib as cfr
from cfrlib.core.sequence import SequenceForm, best_backup, sequence_form
from cfrlib.core.tree import TERMINAL
from cfrlib.equilibrium import evaluate
from cfrlib.games import Coyote

RESULTS = Path(__file__).with_name("coyote_exact.json")
TWO = 20_000  # iterations of CFR+ with two players
RUNS = [  # players, variant, update, iterations
    (2, "cfr", "simultaneous", 4_096),
    (3, "cfr", "simultaneous", 4_096),
    (3, "cfr+", "simultaneous", 4_096),
    (3, "cfr+", "alternating", 4_096),
    (4, "cfr+", "simultaneous", 128),
]
MAX_HISTORIES = 25_000_000  # to compile
THREE = {"alternating": [4**k for k in range(7)], "simultaneous": [4**6]}  # checkpoints
SEEN, LAST = "10", 36  # a card in sight and the last declaration that are written for three


def digits(number: float) -> float:
    """Round to five significant digits, which do not depend on the machine."""
    return float(f"{number:.5g}")


def external_regret(
    form: SequenceForm, gradients: np.ndarray, earned: np.ndarray
) -> np.ndarray:
    """Return each player's gain from the best fixed strategy, shape (players,).

    Parameters
    ----------
    form : SequenceForm
        The game.
    gradients, earned : float arrays
        Weighted means over the iterations: the gradient by sequence, the payoff by player.
    """
    values, choice = gradients.copy(), np.ones(form.num_sequences)
    for i in range(form.num_players):
        best_backup(form.treeplexes, i, values, choice)
    return values[form.treeplexes.player_sequences[:-1]] - earned


def follow(game: cfr.Game, variant: str, update: str, iterations: int) -> list[dict]:
    """Run CFR; return regret and NashConv by player at every power of two.

    The joint average play samples an iteration (by the weights of the average), and all players
    follow the profile with which it began. A regret may be negative: with more than two players
    the joint play can be worth more to every player than any fixed strategy against it. If no
    regret is positive, the joint play is a coarse correlated equilibrium.
    """
    form = sequence_form(game)
    first = form.treeplexes.player_sequences[:-1]
    run = cfr.CFR(game, variant, update=update)
    gradients, earned, total = np.zeros(form.num_sequences), np.zeros(form.num_players), 0.0
    rows = []
    for t in range(1, iterations + 1):
        x = form.plans(run.current.values_by_sequence)
        g = form.gradients(x)
        weight = t**run.variant.gamma
        gradients += weight * g
        earned += weight * np.add.reduceat(x * g, first)
        total += weight
        run.run(1, progress=False)
        if t & (t - 1) == 0:
            regrets = external_regret(form, gradients / total, earned / total)
            values, gains, _ = evaluate(form, form.plans(run.average.values_by_sequence))
            row = {
                "iterations": t,
                "regrets": [digits(r) for r in regrets],
                "regret": digits(np.maximum(regrets, 0).sum()),
                "gains": [digits(r) for r in gains],
                "nash_conv": digits(gains.sum()),
                "values": [digits(u) for u in values],
            }
            print(f"{variant} {update} {t:5,}: {row['regret']:.5f} {row['nash_conv']:.5f}")
            rows.append(row)
    return rows


def two_players(iterations: int) -> dict:
    """Solve the two-player game; return its value and when the players call."""
    game = Coyote()
    form = sequence_form(game)
    solution = cfr.solve(game, "cfr+", iterations, progress=False)
    x = form.plans(solution.strategy.values_by_sequence)
    tree = form.tree
    reach = tree.chance_reach * x[tree.sequence].prod(axis=1)
    cards = list(map(str, game.deck))
    calls = np.zeros((len(cards), game.cap + 1))  # probability of calling
    arrives = np.zeros_like(calls)  # probability of facing this decision
    for k in np.flatnonzero(tree.infoset >= 0):
        I = tree.infoset[k]
        seen, declaration = tree.infoset_label[I].split(": ")
        cell = cards.index(seen.replace("_", "").strip()), int(declaration)
        calls[cell] = solution.strategy[tree.infoset_label[I]]["coyote"]
        arrives[cell] += reach[k]
    declared = right = 0.0
    for k in np.flatnonzero(tree.player == TERMINAL):
        declaration = tree.history(k).count("+1")
        declared += reach[k] * declaration
        right += reach[k] * (tree.utility[k, declaration % 2] > 0)
    return {
        "iterations": iterations,
        "infosets": tree.num_infosets,
        "value": digits(solution.value),
        "value_lp": digits(cfr.solve_lp(game).value),
        "value_if_the_first_must_declare": digits(
            cfr.solve_lp(Coyote(first_may_call=False)).value
        ),
        "nash_conv": digits(2 * solution.exploitability),
        "mean_declaration_called": round(float(declared), 3),
        "calls_that_are_right": round(float(right), 3),
        "cards": cards,
        "call": calls.round(3).tolist(),  # a row per visible card, a column per declaration
        "arrives": [[digits(p) for p in row] for row in arrives],
    }


def wins_of_calls(form: SequenceForm, x: np.ndarray) -> np.ndarray:
    """Return how likely a call is to win at each infoset; NaN if play never gets there.

    Parameters
    ----------
    form : SequenceForm
        The game.
    x : float array, shape (sequences,)
        The players' realization plans.
    """
    tree = form.tree
    won, met = np.zeros((2, tree.num_infosets))
    for k in np.flatnonzero(tree.player == TERMINAL):
        caller = tree.parent[k]
        if tree.infoset[caller] < 0:  # a card replaces the "?" after the call
            caller = tree.parent[caller]
        weight = tree.chance_reach[k] * x[tree.sequence[caller]].prod()
        I = tree.infoset[caller]
        met[I] += weight
        won[I] += weight * (tree.utility[k, tree.player[caller]] > 0)
    return np.divide(won, met, out=np.full_like(won, np.nan), where=met > 0)


def calls_of_three(game: Coyote, strategy: cfr.Strategy) -> dict[str, dict[str, np.ndarray]]:
    """Return what is known about a call if a 10 is in sight.

    ``call`` is its probability, ``arrives`` that of the decision, ``wins`` how likely the call
    is to win. Each maps a view, the cards of the next and of the previous player, to an array
    by declaration, which says whose turn it is.
    """
    form = sequence_form(game)
    tree, x = form.tree, form.plans(strategy.values_by_sequence)
    reach = tree.chance_reach * x[tree.sequence].prod(axis=1)
    arrives, wins = np.zeros(tree.num_infosets), wins_of_calls(form, x)
    decisions = np.flatnonzero(tree.infoset >= 0)
    np.add.at(arrives, tree.infoset[decisions], reach[decisions])
    found: dict = {"call": {}, "arrives": {}, "wins": {}}
    for I, label in enumerate(tree.infoset_label):
        cards, d = label.split(": ")[0].split(), int(label.split(": ")[1])
        view = f"{cards[(d + 1) % 3]} {cards[(d + 2) % 3]}"
        if SEEN in view.split():
            row = strategy[label]["coyote"], arrives[I], wins[I]
            for rows, number in zip(found.values(), row, strict=True):
                rows.setdefault(view, np.zeros(game.cap + 1))[d] = number
    return found


def three_players(update: str, checkpoints: list[int]) -> dict:
    """Run CFR+ for three; return NashConv and calls at each number of iterations."""
    game = Coyote(3)
    run, rows = cfr.CFR(game, "cfr+", update=update), []
    for t in checkpoints:
        run.run(t - run.iterations, progress=False)
        found = calls_of_three(game, run.average)
        conv = digits(cfr.nash_conv(game, run.average))
        call = {view: p[: LAST + 1].round(3).tolist() for view, p in found["call"].items()}
        rows.append({"iterations": t, "nash_conv": conv, "call": call})
        print(update, t, conv, flush=True)
    last = {
        name: {
            view: [float(f"{p:.2g}") if p == p else None for p in row[: LAST + 1]]
            for view, row in found[name].items()
        }
        for name in ("arrives", "wins")
    }
    return {"players": 3, "update": update, "rows": rows, **last}


def followed(players: int, variant: str, update: str, iterations: int) -> dict:
    """Return the results of one run."""
    game = Coyote(players)
    tree = cfr.compile(game, max_histories=MAX_HISTORIES)
    print(tree)
    return {
        "players": players, "histories": tree.num_histories, "infosets": tree.num_infosets,
        "variant": variant, "update": update,
        "rows": follow(game, variant, update, iterations),
    }  # fmt: skip


def main(*players: int) -> None:
    """Run everything, or the runs with these numbers of players, and write the results."""
    began = time.perf_counter()
    before = json.loads(RESULTS.read_text()) if players else {}
    two = two_players(TWO) if not players or 2 in players else before["two"]
    print({name: found for name, found in two.items() if not isinstance(found, list)})
    three = before.get("three")
    if not players or 3 in players:
        three = [three_players(*each) for each in THREE.items()]
    kept = [run for run in before.get("runs", ()) if run["players"] not in players]
    made = [followed(*run) for run in RUNS if not players or run[0] in players]
    runs = sorted(kept + made, key=lambda run: run["players"])
    results = {"two": two, "three": three, "runs": runs}
    flat_json.write(RESULTS, results)
    print(f"{RESULTS} written after {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
