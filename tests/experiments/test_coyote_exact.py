"""The exact experiment of chapter 12: stored results, and a part of them made again."""

import coyote_exact as script
import numpy as np
import pytest
from recorded import recorded

from cfrlib.core.sequence import sequence_form
from cfrlib.games import Coyote

RESULTS = recorded("coyote_exact")


def test_stored_results_of_two_players():
    two = RESULTS["two"]
    assert two["infosets"] == 630
    assert two["nash_conv"] <= 1e-4
    assert two["value"] == pytest.approx(two["value_lp"], abs=1e-6)
    call, arrives = np.array(two["call"]), np.array(two["arrives"])
    assert call.shape == arrives.shape == (15, 42)
    assert arrives[:, 0].sum() == pytest.approx(1, abs=1e-3)  # every deal starts here
    assert (call[:, -1] == 1).all()  # the only legal action
    row = two["cards"].index("2")
    assert call[row, 5] == pytest.approx(0.4, abs=0.02)  # a mixed choice


def test_with_more_players_nash_conv_stays_above_regret():
    for run in RESULTS["runs"]:
        last = run["rows"][-1]
        if run["players"] == 2:
            assert last["nash_conv"] == pytest.approx(last["regret"], rel=1e-3)
        elif run["players"] == 3:
            assert run["infosets"] == 15_768
            assert last["regret"] < 0.0025 < 0.014 < last["nash_conv"]
        else:  # few iterations, so the regret is still falling
            assert run["infosets"] == 317_730
            assert last["regret"] < last["nash_conv"] / 3


@pytest.mark.slow
def test_experiment_reproduces_its_stored_results():
    run = RESULTS["runs"][0]
    again = script.follow(Coyote(run["players"]), run["variant"], run["update"], 64)
    assert len(again) == 7
    for row, expected in zip(again, run["rows"], strict=False):
        assert row["iterations"] == expected["iterations"]
        for name in ("regrets", "gains", "values"):
            assert row[name] == pytest.approx(expected[name], rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("deck", [Coyote.TINY, {**Coyote.TINY, "?": 1}])
def test_a_call_wins_above_the_total(deck):
    """All three cards, or two and a "?" that becomes the third, add up to 6."""
    form = sequence_form(Coyote(3, deck=deck))
    wins = script.wins_of_calls(form, form.plans(form.uniform()))
    said = [int(label.split(": ")[1]) for label in form.tree.infoset_label]
    assert wins.tolist() == [float(number > 6) for number in said]


def test_stored_results_of_three_players():
    alternating, simultaneous = RESULTS["three"]
    assert [row["iterations"] for row in alternating["rows"]] == [4**k for k in range(7)]
    for run, variant in ((alternating, "alternating"), (simultaneous, "simultaneous")):
        last = run["rows"][-1]
        (same,) = [
            other["rows"][-1]["nash_conv"]
            for other in RESULTS["runs"]
            if (other["players"], other["variant"], other["update"]) == (3, "cfr+", variant)
        ]
        assert last["nash_conv"] == pytest.approx(same, rel=1e-3)
        for view in ("3 10", "10 3"):
            assert last["call"][view][16] < 0.01 and run["wins"][view][16] < 0.25


@pytest.mark.slow
def test_experiment_reproduces_its_calls_of_three():
    again = script.three_players("alternating", [1, 4])["rows"]
    for row, expected in zip(again, RESULTS["three"][0]["rows"], strict=False):
        assert row["nash_conv"] == pytest.approx(expected["nash_conv"], rel=1e-3)
        assert row["call"].keys() == expected["call"].keys()
        for view, calls in row["call"].items():
            assert calls == pytest.approx(expected["call"][view], abs=2e-3)
