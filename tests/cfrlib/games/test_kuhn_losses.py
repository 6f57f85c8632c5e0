"""Loss of each action against an equilibrium, as used by the page "Play Kuhn"."""

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
def test_losses_sum_to_the_best_response_gain(
    page: dict[str, Any], alpha: float, player: int
) -> None:
    game, rng = page["game"], np.random.default_rng(player)
    equilibrium = cfr.games.kuhn_equilibrium(game, alpha)
    loss = page["losses"](equilibrium)
    for _ in range(50):
        mine = cfr.Strategy.random(game, rng, concentration=0.5)
        own = {I: row for I, row in mine.items() if equilibrium.player(I) == player}
        gain = cfr.best_response(game, equilibrium.replace(own), player).gain
        assert lost(mine, loss, player) == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize("player", [0, 1])
def test_losses_sum_to_the_gain_against_any_opponent(page: dict[str, Any], player: int) -> None:
    """Against an equilibrium most losses are 0; a random opponent tests every term."""
    game, rng = page["game"], np.random.default_rng(2)
    for _ in range(50):
        profile = cfr.Strategy.random(game, rng, concentration=0.5)
        gain = cfr.best_response(game, profile, player).gain
        assert lost(profile, page["losses"](profile), player) == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize("mine", ALPHAS)
@pytest.mark.parametrize("theirs", ALPHAS)
def test_equilibria_of_the_family_lose_nothing_to_each_other(
    page: dict[str, Any], mine: float, theirs: float
) -> None:
    family = [cfr.games.kuhn_equilibrium(page["game"], alpha) for alpha in (mine, theirs)]
    loss = page["losses"](family[1])
    assert max(lost(family[0], loss, player) for player in (0, 1)) < 1e-15


def test_table_contains_the_family_of_equilibria(page: dict[str, Any]) -> None:
    members = page["table"]["members"]
    assert [member["sixtieths"] for member in members] == list(range(21))
    for member in members:
        equilibrium = cfr.games.kuhn_equilibrium(page["game"], member["sixtieths"] / 60)
        assert cfr.exploitability(page["game"], equilibrium) < 1e-15
        assert member["strategy"] == dict(equilibrium)
        assert member["value"] == pytest.approx([-1 / 18, 1 / 18], abs=1e-15)


# ---- claims of the page ----


def mistakes(member: dict[str, Any]) -> set[tuple[str, str]]:
    pairs = {(I, a): x for I, row in member["loss"].items() for a, x in row.items()}
    return {pair for pair, x in pairs.items() if x > 1e-9}


def test_alpha_one_fifth_punishes_most_mistakes(page: dict[str, Any]) -> None:
    members = page["table"]["members"]
    assert len(mistakes(members[12])) == 7
    for member in members:
        assert mistakes(member) <= mistakes(members[12])


def test_never_bluffing_and_always_calling_with_queens_go_unpunished(
    page: dict[str, Any],
) -> None:
    spared = {("J", "check"), ("J check", "check"), ("Q bet", "call"), ("Q check-bet", "call")}
    for member in page["table"]["members"]:
        assert not mistakes(member) & spared


def test_alpha_zero_punishes_no_response_to_a_bet(page: dict[str, Any]) -> None:
    names = {infoset for infoset, _ in mistakes(page["table"]["members"][0])}
    assert not names & {"J bet", "Q bet", "K bet"}
