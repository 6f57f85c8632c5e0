"""Koi-Koi's rules that compile are those of its games, at full size and in miniature."""

import pytest

import cfrlib as cfr
from koikoi import KoiKoi, MiniKoiKoi

GAMES = [
    KoiKoi(),
    KoiKoi(yaku={"sanko": 6, "hanami": 0}, special=6, koi_limit=1, void_points=6),
    KoiKoi(double_at=None, koi_factor=3),
    MiniKoiKoi.K8(),
    MiniKoiKoi.K9(void_points=2),
    MiniKoiKoi.K8(distinct=True, koi_limit=0),
]


class Slow(KoiKoi):
    """Koi-Koi without rules that compile."""

    rules = None


class SlowMini(MiniKoiKoi):
    """A small game without rules that compile."""

    rules = None


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_koi_koi_has_the_same_rules_twice(game):
    cfr.check_rules(game, 150)


def test_koi_koi_has_the_same_rules_twice_in_a_few_rounds():
    cfr.check_rules(GAMES[0], 8, seed=1)


def test_a_deck_of_more_than_64_cards_has_no_rules_that_compile():
    types = [(month, kind, 33) for month, kind in ((3, "plain"), (8, "plain"))]
    game = MiniKoiKoi(types, 1, 1, MiniKoiKoi.K9().yaku)
    assert game.rules is None


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"sampling": "external"}, {"batch": 3, "baseline": 0.2}])
@pytest.mark.parametrize(("game", "slow"), [(GAMES[3], SlowMini.K8()), (GAMES[0], Slow())])
def test_rules_that_compile_give_the_numbers_of_the_rules(game, slow, options):
    if game is GAMES[0]:  # a walk that expands all own actions would not end
        options = {**options, "sampling": "outcome"}
    fast, other = (
        cfr.MCCFR(rules, "dcfr", **options, seed=1, threads=1, on_demand=True).run(20)
        for rules in (game, slow)
    )
    assert not fast._walks.rules.in_python
    assert other._walks.rules.in_python
    assert {I: dict(row) for I, row in fast.average.items()} == {
        I: dict(row) for I, row in other.average.items()
    }
    assert fast.nodes == other.nodes
    assert len(fast.average) > 100
