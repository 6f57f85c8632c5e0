"""The exact experiment of chapter 13: stored results, and a part of them made again."""

import koikoi_exact as script
import pytest
from recorded import recorded
from toy_games import mini

import cfrlib as cfr

RESULTS = recorded("koikoi_exact")


def test_recorded_values_and_curves():
    assert RESULTS["K8"]["value"]["lp"] == pytest.approx(-83 / 90, abs=1e-8)
    assert RESULTS["K10"]["value"]["lp"] == pytest.approx(0.041380, abs=5e-7)
    for name, found in RESULTS.items():
        value = found["value"]
        assert value["exploitability"] < (2e-4 if name == "K12" else 2e-6)
        if "lp" in value:
            assert value["cfr+"] == pytest.approx(value["lp"], abs=5e-6)
        for algorithm, rows in found["curves"].items():
            gaps = [gap for _, gap in rows]
            assert gaps[-1] < gaps[0], algorithm
        won = found["duels"]
        for one in won:
            assert won[one][one] == 0
            for other in won:
                assert won[one][other] == pytest.approx(-won[other][one], abs=1e-6)


def test_recorded_losses_do_not_exceed_exploitability():
    for found in RESULTS.values():
        gaps = found["players"]
        for one, row in found["duels"].items():
            for other, won in row.items():
                assert won <= gaps[other] + 2e-5, (one, other)
        assert all(won >= -gaps["CFR+"] - 2e-5 for won in found["duels"]["CFR+"].values())


def test_recorded_bluff_of_the_dealer():
    rows = {(r["captured"], r["left"]): r for r in RESULTS["K10"]["first calls"]}
    bluff = rows["Moon Moon Pine Pine", "Sake"]
    assert bluff["p"] == pytest.approx([0.209, 0.209], abs=2e-3)
    assert bluff["koi"] == pytest.approx(bluff["stop"], abs=2e-3)
    assert rows["Moon Moon Pine Pine", "Plum"]["p"] == [1, 1]
    assert rows["Pine Pine Plum Plum", "Moon"]["p"] == pytest.approx([0, 0], abs=1e-4)


@pytest.mark.slow
def test_recorded_results_are_reproducible():
    game, found = mini("K8"), RESULTS["K8"]
    form = script.sequence_form(game)
    for name in ("cfr+", "external"):
        wanted = found["curves"][name][:3]
        again = script.curve(game, name, [t for t, _ in wanted][: 3 if name == "cfr+" else 1])
        for (t, gap), (goal, other) in zip(again, wanted, strict=False):
            assert t == goal
            assert gap == pytest.approx(other, rel=1e-3)
    known = script.examples(form.tree)
    players = {
        "uniform": form.uniform(),
        "greedy, stops": script.greedy(form, known, "stop"),
        "greedy, calls": script.greedy(form, known, "koi-koi"),
        "perfect information": script.perfect_information(form),
    }
    for name, sigma in players.items():
        gap = script.measured(form, sigma)[1]
        assert gap == pytest.approx(found["players"][name], rel=1e-4)
    other = script.options("K8")["other never calls"]
    change = cfr.solve_lp(other).value - cfr.solve_lp(game).value
    assert change == pytest.approx(found["options"]["other never calls"]["change"], abs=1e-4)
