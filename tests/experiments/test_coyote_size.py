"""Estimated sizes of Coyote: on games small enough to count, they agree with the tree."""

import coyote_size as script
import pytest

import cfrlib as cfr
from cfrlib.games import Coyote

UNFAIR = {-1: 1, 0: 1, 2: 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "game",
    [
        Coyote(deck=UNFAIR, lives=2), Coyote(deck={1: 2, 2: 1, "x2": 1, "?": 1}, lives=1),
        Coyote(3, deck={1: 2, 2: 2, -1: 1}, cap=2, lives=1),
    ],
    ids=repr,
)  # fmt: skip
def test_size_estimates_agree_with_the_tree(game):
    tree = cfr.compile(game)
    found = script.estimate(game, 2_000, 0)
    for name, exact in (("histories", tree.num_histories), ("infosets", tree.num_infosets)):
        mean, error = found[name]
        assert abs(mean - exact) <= 5 * error
        assert error < 0.1 * exact
