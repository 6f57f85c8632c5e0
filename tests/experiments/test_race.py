"""Tests of the race: its runs are the solver's, and its file is what the script makes."""

import csv
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from atlas import race
from atlas.race import Entrant

import cfrlib as cfr
from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.last_iterate import Iterates, RegretMatching

KUHN = cfr.games.KuhnPoker(5)
FORM = sequence_form(KUHN)


def filed():
    with race.RESULTS.open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == race.HEADER
    return {tuple(row[:6]): row[6:] for row in rows}


def late_average(run, T):
    """Run T iterations; return the exploitability of their second half, weighted by t²."""
    total, sigma = np.zeros(FORM.num_sequences), np.empty(FORM.num_sequences)
    for t in range(1, T + 1):
        if t > T // 2:
            total += t**2 * FORM.plans(run.current.values_by_sequence)
        run.run(1)
    behavior(FORM.treeplexes, total, sigma)
    return cfr.exploitability(KUHN, cfr.Strategy.from_vector(FORM, sigma))


@pytest.mark.parametrize("order", ["alternating", "simultaneous"])
@pytest.mark.parametrize("numbers", [(inf, -inf, 1 / 3), (1.5, 0.0, 1.0)])
def test_outputs_are_those_of_the_solver(numbers, order):
    found = {row[0] // 2: row[1:] for row in race.scores(FORM, Entrant(*numbers, order), 64)}
    variant = cfr.Variant("", *numbers[:2], 2, numbers[2])
    for T in (4, 16, 64):
        solution = cfr.CFR(KUHN, variant, update=order).run(T).solution()
        late = late_average(cfr.CFR(KUHN, variant, update=order), T)
        expected = solution.current_exploitability, late, solution.exploitability
        assert found[T] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("order", ["alternating", "simultaneous"])
def test_norm_is_kept_as_in_chapter_15(order):
    entrant = Entrant(inf, -inf, 1.0, order, "norm kept")
    *_, (spent, last, _, whole) = race.scores(FORM, entrant, 64)
    method = RegretMatching(prediction=1.0, keep_norm=True, alternating=order == "alternating")
    found = Iterates(KUHN, method, weight=2.0).run(64).solution()
    expected = found.current_exploitability, found.exploitability
    assert spent == 128
    assert (last, whole) == pytest.approx(expected, abs=1e-12)


def test_restart_plays_the_average_and_keeps_the_sums_of_regrets():
    run = race.Family(FORM, Entrant(inf, -inf, 1 / 3, extra="restarted"))
    run.run(20)
    sigma = np.empty(FORM.num_sequences)
    behavior(FORM.treeplexes, run.total, sigma)
    before = run.layout.unpack(run.tables.regret).sum()
    run.restart(sigma)
    assert run.plan == pytest.approx(FORM.plans(sigma))
    assert not run.total.any()
    assert run.layout.unpack(run.tables.regret).sum() == pytest.approx(before)
    again = run.plan.copy()
    run.run(1)
    assert run.total == pytest.approx(again)  # weight 1: the new average begins with sigma


def test_measurements_that_decide_restarts_are_charged():
    plain, restarted = (
        [row[0] for row in race.scores(FORM, Entrant(inf, -inf, 0.0, extra=extra), 64)]
        for extra in ("", "restarted")
    )
    counted = [2 * k for k in range(1, len(plain) + 1)]
    assert restarted == [a + b for a, b in zip(plain, counted, strict=True)]


def test_checkpoints_hold_the_halves_of_later_ones():
    marks = race.checkpoints(100_000)
    assert marks[-1] == 92_682
    late = [t for t in marks if t >= 64]
    assert all(b <= 1.1 * a for a, b in pairwise(late))
    assert all(max(s for s in marks if 2 * s <= t) > 0.45 * t for t in late)


def test_file_holds_the_whole_race():
    rows = filed()
    assert rows.keys() == {(g, *e.label) for g in race.GAMES for e in race.ENTRANTS}
    assert list(dict.fromkeys(key[0] for key in rows)) == list(race.GAMES)  # by size
    for (game, *_, extra), (spent, *cells) in rows.items():
        best, output, whole = cells[:3], cells[3:6], cells[6:]
        assert [bool(x) for x in best] == [bool(x) for x in output]
        counts = [int(x) for x in best if x]
        assert counts == sorted(counts) and best[: len(counts)] == [str(n) for n in counts]
        budget = race.BUDGET[race.GAMES[game][1]]
        arrived = len(counts) == 3 and (whole[1] or extra == "restarted")
        assert int(spent) <= 1.01 * budget and (arrived or int(spent) > 0.9 * budget)


@pytest.mark.slow
def test_games_are_listed_by_size():
    sizes = [len(sequence_form(make()).treeplexes.leaf_payoff) for make, _ in SMALL.values()]
    assert sizes == sorted(sizes)


SMALL = {name: game for name, game in race.GAMES.items() if game[1] == "small"}
CELLS = [
    Entrant(inf, -inf, 1 / 3),
    Entrant(inf, -inf, 1.0, "simultaneous", "norm kept"),
    Entrant(inf, -inf, 1 / 3, extra="restarted"),
]


@pytest.mark.slow
@pytest.mark.parametrize("entrant", CELLS, ids=str)
@pytest.mark.parametrize("game", ["liar's dice, 4 faces", "Blotto, 8 soldiers"])
def test_file_agrees_with_the_script(game, entrant):
    make, size = race.GAMES[game]
    old, new = filed()[(game, *entrant.label)], race.race(make, entrant, race.BUDGET[size])
    assert old[1] == str(new[1])
    for a, b in zip(old, new, strict=True):  # rounding may move a count by a checkpoint or two
        assert a == str(b) or 0.8 < int(a) / b < 1.25


def test_river_pays_the_pot_to_the_better_hand():
    game = race.River()
    hands = ("Qh", "Jh"), ("Th", "9h"), ("Ad", "Ah"), ("Kh", "Th"), ("4h", "4s")
    worths = [game.worth[hand] for hand in hands]  # nothing, tens, aces, two pair, three fours
    assert worths == sorted(worths) and len({*worths}) == 5
    deal = next(d for d in game.deals if d[0] == ("Th", "9h") and "A" in d[1][0] + d[1][1])
    assert game.worth[deal[1]] != game.worth[deal[0]]
    lost = -1 if game.worth[deal[1]] > game.worth[deal[0]] else 1
    for moves, paid in (
        (("check", "check"), 10),
        (("half", "call"), 20),
        (("pot", "call"), 30),
        (("check", "half", "raise", "call"), 60),
        (("pot", "raise", "call"), 90),
    ):
        assert game.node((deal, *moves)).utilities == (lost * paid, -lost * paid)
    assert game.node((deal, "pot", "fold")).utilities == (10, -10)
    assert game.node((deal, "check", "half", "raise", "fold")).utilities == (20, -20)
    assert game.node((deal, "pot")).actions == ("fold", "call", "raise")
