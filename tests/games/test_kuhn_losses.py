"""The table of the page "Play Kuhn": what every action loses to the equilibrium."""

from typing import Any

import numpy as np
import pytest
from kuhn_page import namespace

import cfrlib as cfr

ALPHAS = (0.0, 0.05, 0.2, 1 / 3)


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    return namespace()


def own_reach(strategy: cfr.Strategy, infoset: str) -> float:
    card, _, past = infoset.partition(" ")
    return strategy[card]["check"] if past == "check-bet" else 1.0


def lost(strategy: cfr.Strategy, loss: dict[str, dict[str, float]], player: int) -> float:
    return sum(
        own_reach(strategy, infoset) * strategy[infoset][action] * x
        for infoset, row in loss.items()
        if strategy.player(infoset) == player
        for action, x in row.items()
    )


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_losses_add_up_to_the_gain_of_a_best_response(
    page: dict[str, Any], alpha: float, player: int
) -> None:
    game, rng = page["game"], np.random.default_rng(player)
    sheet = cfr.games.kuhn_equilibrium(game, alpha)
    loss = page["losses"](sheet)
    for _ in range(50):
        mine = cfr.Strategy.random(game, rng, concentration=0.5)
        own = {I: row for I, row in mine.items() if sheet.player(I) == player}
        gain = cfr.best_response(game, sheet.replace(own), player).gain
        assert lost(mine, loss, player) == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize("player", [0, 1])
def test_losses_add_up_against_any_opponent(page: dict[str, Any], player: int) -> None:
    """Of an equilibrium little is lost; here every term of the sum is put to the test."""
    game, rng = page["game"], np.random.default_rng(2)
    for _ in range(50):
        profile = cfr.Strategy.random(game, rng, concentration=0.5)
        gain = cfr.best_response(game, profile, player).gain
        assert lost(profile, page["losses"](profile), player) == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize("mine", ALPHAS)
@pytest.mark.parametrize("theirs", ALPHAS)
def test_no_member_of_the_family_leaks(
    page: dict[str, Any], mine: float, theirs: float
) -> None:
    family = [cfr.games.kuhn_equilibrium(page["game"], alpha) for alpha in (mine, theirs)]
    loss = page["losses"](family[1])
    assert max(lost(family[0], loss, player) for player in (0, 1)) < 1e-15


def test_the_table_holds_the_whole_family(page: dict[str, Any]) -> None:
    members = page["table"]["members"]
    assert [member["sixtieths"] for member in members] == list(range(21))
    for member in members:
        sheet = cfr.games.kuhn_equilibrium(page["game"], member["sixtieths"] / 60)
        assert cfr.exploitability(page["game"], sheet) < 1e-15
        assert member["strategy"] == dict(sheet)
        assert member["value"] == pytest.approx([-1 / 18, 1 / 18], abs=1e-15)


# ---- what the page says of these losses ----


def mistakes(member: dict[str, Any]) -> set[tuple[str, str]]:
    pairs = {(I, a): x for I, row in member["loss"].items() for a, x in row.items()}
    return {pair for pair, x in pairs.items() if x > 1e-9}


def test_no_alpha_punishes_what_one_fifth_does_not(page: dict[str, Any]) -> None:
    members = page["table"]["members"]
    assert len(mistakes(members[12])) == 7
    for member in members:
        assert mistakes(member) <= mistakes(members[12])


def test_no_alpha_punishes_who_never_bluffs_or_calls_with_every_queen(
    page: dict[str, Any],
) -> None:
    spared = {("J", "check"), ("J check", "check"), ("Q bet", "call"), ("Q check-bet", "call")}
    for member in page["table"]["members"]:
        assert not mistakes(member) & spared


def test_who_never_bets_first_punishes_no_answer_to_a_bet(page: dict[str, Any]) -> None:
    names = {infoset for infoset, _ in mistakes(page["table"]["members"][0])}
    assert not names & {"J bet", "Q bet", "K bet"}
