"""Stored results belong to the scripts: the same settings, and a part computed again."""

from functools import partial
from itertools import product
from math import inf

import coyote_exact
import coyote_players
import deep_faults
import deep_steps
import double_neural
import double_neural_leduc as leduc
import koikoi_exact
import koikoi_order
import large_trees
import numpy as np
import online_player
import pytest
import walks
from recorded import recorded
from toy_games import mini

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from cfrlib.games import Coyote, KuhnPoker, LeducPoker, LiarsDice
from cfrlib.last_iterate import RegretMatching, follow
from koikoi import KoiKoi, estimate

FAULTS = (
    "nothing", "one step", "no mask", "wrong value up", "unweighted advantages",
    "unweighted strategies", "uniform, not argmax", "forget", "old network",
)  # fmt: skip


def at(file, place):
    """Return what a file holds at a place like "runs/0/rows"."""
    found = recorded(file)
    for key in place.split("/"):
        found = found[int(key) if isinstance(found, list) else key]
    return found


GAMES = [
    f"{game}, δ = {delta}" for game in online_player.GAMES for delta in online_player.DELTAS
]
SETTINGS = {  # for each file: places, and what the script says; a list of keys in their order
    "coyote_players": {
        "settings/iterations": coyote_players.ITERATIONS,
        "settings/traversals": coyote_players.OPTIONS["traversals"],
        "settings/training": repr(coyote_players.OPTIONS["advantage"]),
    },
    "deep_faults": {
        "games": {name: repr(game) for name, game in deep_faults.GAMES.items()},
        "traversals": deep_faults.TRAVERSALS,
        "iterations": [1, 2, 3, 5, 8, 13, deep_faults.ITERATIONS],
    },
    "deep_steps": {"traversals": deep_steps.TRAVERSALS, **deep_steps.AVERAGES},
    "double_neural": {f"faults/{key}": value for key, value in double_neural.FAULTS.items()},
    "double_neural_leduc": {
        "iterations": leduc.ITERATIONS, "runs": list(leduc.METHODS), "k": leduc.K,
        "batch": leduc.BATCH, **leduc.NETWORK,
    },
    "koikoi_order": {
        f"fitted/{kind}": list(map(str, koikoi_order.SEEDS)) for kind in koikoi_order.NETWORKS
    },
    "online_player": {
        "seeds": online_player.SEEDS, "few": online_player.FEW,
        "budgets": list(online_player.BUDGETS), "oos": GAMES,
    },
    "walks": {
        "seeds": walks.SEEDS, "tolerance": walks.TOLERANCE, "games": list(walks.GAMES),
        **{f"games/{game}/exact": list(walks.RULES) for game in walks.GAMES},
        **{f"games/{game}/walks": list(walks.SCHEMES) for game in walks.GAMES},
    },
}  # fmt: skip


@pytest.mark.parametrize("file", SETTINGS)
def test_stored_settings_are_those_of_the_script(file):
    for place, wanted in SETTINGS[file].items():
        stored = at(file, place)
        keys = isinstance(stored, dict) and isinstance(wanted, list)
        assert (list(stored) if keys else stored) == wanted, place


def test_every_fault_ran_on_both_games_with_every_seed():
    runs = {(run["game"], run["fault"], run["seed"]) for run in recorded("deep_faults")["runs"]}
    assert runs == set(product(deep_faults.GAMES, FAULTS, deep_faults.SEEDS))


def size_of(name):
    tree = cfr.compile(mini(name))
    infosets = np.diff(tree.player_infosets).tolist()
    return {
        "histories": tree.num_histories, "terminals": tree.num_terminals, "infosets": infosets
    }  # fmt: skip


def size_of_koikoi():
    """Return the percentiles of the estimate that do not depend on the machine."""
    found = estimate(KoiKoi(), 300, recorded("koikoi_size")["seed"])
    return {"other": [round(x, 2) for x in found.other]}


def gap_on_k8(player):
    form = koikoi_exact.sequence_form(game := mini("K8"))
    known = koikoi_exact.examples(cfr.compile(game))
    sigma = {
        "uniform": form.uniform,
        "greedy, stops": lambda: koikoi_exact.greedy(form, known, "stop"),
        "greedy, calls": lambda: koikoi_exact.greedy(form, known, "koi-koi"),
        "perfect information": lambda: koikoi_exact.perfect_information(form),
    }[player]()
    return koikoi_exact.measured(form, sigma)[1]


NEVER = "other never calls"


def change_on_k8(option):
    other = koikoi_exact.options("K8")[option]
    return cfr.solve_lp(other).value - cfr.solve_lp(mini("K8")).value


def table_on_leduc(name):
    """Return the fourth row of a table's fourth run, without the seconds."""
    run = leduc.METHODS[name](LeducPoker(), 3).run(4, progress=False)
    return [cfr.nash_conv(run.game, run.average), run.nodes]


def faulty(fault):
    return [row[0] for row in double_neural.curve(double_neural.faulty(fault, 3), [1, 2, 3, 5])]


def last_of(method):
    marks = [t for t in recorded("last_iterate")["checkpoints"] if t <= 30]
    return list(follow(KuhnPoker(), method, marks).last)


def searched():
    kuhn = online_player.GAMES["Kuhn"]
    return online_player.measure(kuhn, online_player.plans(kuhn, 0.5, 100))


def size_of_dice():
    tree = cfr.compile(LiarsDice(2, 2))
    return {"histories": tree.num_histories, "infosets": tree.num_infosets}


def memory_of_dice():
    met, held = large_trees.memory(LiarsDice(9, 2), large_trees.ITERATIONS[:1])
    return {"met": met, "bytes": held}


def calls_of_three():
    again = coyote_exact.three_players("alternating", [1, 4])["rows"]
    return [{key: row[key] for key in ("nash_conv", "call")} for row in again]


def regrets_of_two():
    again = coyote_exact.follow(Coyote(2), "cfr", "simultaneous", 64)
    return [{key: row[key] for key in ("iterations", "regrets", "gains", "values")}
            for row in again]  # fmt: skip


OTHERS = ("nothing", "visited only", "new networks", "raw sums")
PLAYERS = ("uniform", "greedy, stops", "greedy, calls", "perfect information")
TABLES = ("table", "linear table", "linear table, robust")
DICE = f"games/{large_trees.FACES[-1]}"
LONG = {"RM+": RegretMatching(), "PRM+": RegretMatching(prediction=1)}
AGAIN = [  # the file, a place in it, what begins there, relative and absolute tolerance
    ("coyote_exact", "runs/0/rows", regrets_of_two, 1e-3, 1e-6),
    ("coyote_exact", "three/0/rows", calls_of_three, 1e-3, 1e-3),
    ("double_neural", "faults/runs/table/3", partial(faulty, "table"), 0, 1e-5),
    *(("double_neural", f"faults/runs/{n}/3", partial(faulty, n), 0, 0.02) for n in OTHERS),
    *(("double_neural_leduc", f"runs/{n}/3/3", partial(table_on_leduc, n), 0, 1e-5)
      for n in TABLES),
    *(("koikoi_exact", f"K8/players/{n}", partial(gap_on_k8, n), 1e-4, 0) for n in PLAYERS),
    ("koikoi_exact", f"K8/options/{NEVER}/change", partial(change_on_k8, NEVER), 0, 1e-4),
    *(("koikoi_size", f"counted/{n}", partial(size_of, n), 0, 0) for n in ("K8", "K9", "K10")),
    ("koikoi_size", "full/300", size_of_koikoi, 0, 0),
    ("large_trees", f"games/{large_trees.FACES[0]}", size_of_dice, 0, 0),
    ("large_trees", DICE, partial(large_trees.size, LiarsDice(9, 2)), 0, 0),
    ("large_trees", DICE, memory_of_dice, 0.05, 0),
    *(("last_iterate", f"long/{n} | Kuhn poker/last", partial(last_of, m), 0.01, 0)
      for n, m in LONG.items()),
    ("online_player", "oos/Kuhn, δ = 0.5/0", searched, 0, 2e-5),
]  # fmt: skip


def compare(found, stored, rel, abs):
    """Compare with the beginning of what is stored, dictionary by dictionary, list by list."""
    if isinstance(found, dict):
        for key, value in found.items():
            compare(value, stored[key], rel, abs)
    elif isinstance(found, list | tuple):
        assert len(found) <= len(stored)
        for one, other in zip(found, stored, strict=False):
            compare(one, other, rel, abs)
    else:
        assert found == pytest.approx(stored, rel=rel, abs=abs)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "place", "again", "rel", "abs"), AGAIN)
def test_a_part_computed_again_agrees(file, place, again, rel, abs):
    """Only the first iterations of networks: later, rounding leads to other trajectories."""
    compare(again(), at(file, place), rel, abs)


@pytest.mark.slow
def test_walks_computed_again_are_among_the_stored():
    kuhn = walks.GAMES["Kuhn"]
    found = [round(walks.nodes_of_walks(kuhn, "external", seed)) for seed in range(3)]
    assert set(found) <= set(recorded("walks")["games"]["Kuhn"]["walks"]["external"])


# ---- what the stored numbers must satisfy ----------------------------------------------------


def test_with_more_players_nash_conv_stays_above_regret():
    for run in recorded("coyote_exact")["runs"]:
        last = run["rows"][-1]
        if run["players"] == 2:
            assert last["nash_conv"] == pytest.approx(last["regret"], rel=1e-3)
        elif run["players"] == 3:
            assert run["infosets"] == 15_768
            assert last["regret"] < 0.0025 < 0.014 < last["nash_conv"]
        else:  # few iterations, so the regret is still falling
            assert run["infosets"] == 317_730
            assert last["regret"] < last["nash_conv"] / 3


def test_both_runs_of_three_players_of_coyote_agree():
    stored = recorded("coyote_exact")
    convs = {(r["players"], r["variant"], r["update"]): r["rows"][-1] for r in stored["runs"]}
    alternating, simultaneous = stored["three"]
    assert [row["iterations"] for row in alternating["rows"]] == [4**k for k in range(7)]
    for run, update in ((alternating, "alternating"), (simultaneous, "simultaneous")):
        last, same = run["rows"][-1], convs[3, "cfr+", update]["nash_conv"]
        assert last["nash_conv"] == pytest.approx(same, rel=1e-3)
        for view in ("3 10", "10 3"):
            assert last["call"][view][16] < 0.01 and run["wins"][view][16] < 0.25


def test_players_of_coyote_are_better_than_uniform_play():
    for found in recorded("coyote_players")["players"].values():
        assert found["tables"]["start (uniform)"]["more_than_they"][0] > 0.2
        gain, width = found["responder"]["gain"]
        if "exact" in found:
            assert found["exact"]["nash_conv"] < found["uniform"]["nash_conv"] / 4
            assert found["responder"]["exact"] <= found["exact"]["gains"][0]
            assert abs(gain - found["responder"]["exact"]) < 2 * width


def test_steps_of_deep_cfr_have_a_row_for_each_seed():
    stored, look = recorded("deep_steps"), deep_faults.page().LOOK
    assert stored["iterations"] == [t for t in look if t <= deep_steps.ITERATIONS]
    for learn in deep_steps.AVERAGES:
        for rows in stored[learn].values():
            assert len(rows) == deep_steps.SEEDS
            assert all(len(row) == len(stored["iterations"]) for row in rows)


def test_methods_on_leduc_poker_visit_equally_many_histories():
    runs = recorded("double_neural_leduc")["runs"].values()
    nodes = [curve[-1][1] for method in runs for curve in method]
    assert len({len(method) for method in runs}) == 1 and max(nodes) < 1.1 * min(nodes)


def test_values_and_duels_of_small_koi_koi():
    stored = recorded("koikoi_exact")
    assert stored["K8"]["value"]["lp"] == pytest.approx(-83 / 90, abs=1e-8)
    assert stored["K10"]["value"]["lp"] == pytest.approx(0.041380, abs=5e-7)
    for name, found in stored.items():
        value, won, gaps = found["value"], found["duels"], found["players"]
        assert value["exploitability"] < (2e-4 if name == "K12" else 2e-6)
        if "lp" in value:
            assert value["cfr+"] == pytest.approx(value["lp"], abs=5e-6)
        for one, row in won.items():
            assert row[one] == 0
            for other in won:
                assert row[other] == pytest.approx(-won[other][one], abs=1e-6)
                assert row[other] <= gaps[other] + 2e-5, (one, other)
        assert all(x >= -gaps["CFR+"] - 2e-5 for x in won["CFR+"].values())


def test_order_of_play_helps_a_network():
    last = str(koikoi_order.CHECKED[-1])
    table, order = (
        [seed[last] for seed in recorded("koikoi_order")["fitted"][kind].values()]
        for kind in koikoi_order.NETWORKS
    )
    assert min(table) > 5 * max(order)


def test_sizes_of_koi_koi():
    stored = recorded("koikoi_size")
    assert stored["counted"]["K8, copies told apart"]["histories"] == 102_505
    for row in stored["full"].values():
        for kind, wanted in (("terminals", 52.1), ("dealer", 49.4), ("other", 51.1)):
            low, middle, high = row[kind]
            assert low <= middle <= high
            assert middle == pytest.approx(wanted, abs=0.3)


def test_searching_players_are_more_exploitable_in_few_seeds():
    for rows in recorded("online_player")["oos"].values():
        few, every, error = np.transpose(rows)
        assert (few > every).all() and (error > 0).all()  # exploitability is convex


def test_walks_have_a_sorted_row_for_each_seed():
    for row in recorded("walks")["games"].values():
        for nodes in row["walks"].values():
            assert len(nodes) == walks.SEEDS and nodes == sorted(nodes)


# ---- functions of the scripts ----------------------------------------------------------------


@pytest.mark.parametrize("deck", [Coyote.TINY, {**Coyote.TINY, "?": 1}])
def test_a_call_wins_above_the_total(deck):
    """All three cards, or two and a "?" that becomes the third, add up to 6."""
    form = sequence_form(Coyote(3, deck=deck))
    wins = coyote_exact.wins_of_calls(form, form.plans(form.uniform()))
    said = [int(label.split(": ")[1]) for label in form.tree.infoset_label]
    assert wins.tolist() == [float(number > 6) for number in said]


def test_arrival_is_read_between_two_checkpoints():
    work, gap = np.array([1.0, 10, 100, 1000]), np.array([1.0, 0.1, 0.001, 0.01])
    assert walks.arrival(work, gap, 0.01) == pytest.approx(10**1.5)
    assert walks.arrival(work, gap, 1.0) == 1 and walks.arrival(work, gap, 1e-4) == inf
