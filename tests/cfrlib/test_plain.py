"""Plain programs are those of the chapters, digit by digit; those that sample are unbiased."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from math import inf
from random import Random

import pytest
from listing import listing

import cfrlib as cfr
from cfrbook.museum import LADDER, checks
from cfrlib.online.plain import OnlineOutcomeSampling
from cfrlib.plain import (
    ExternalSamplingSolver,
    Family,
    OutcomeSamplingSolver,
    RobustSamplingSolver,
    Vanilla,
)

chapter = partial(listing, cfr=cfr, defaultdict=defaultdict, kuhn=cfr.games.KuhnPoker())
GAMES = [LADDER[name] for name in ("Kuhn poker", "a late coin", "dice, 2 faces")]


def drawing(seed):
    """Return a function that samples as `SamplingSolver.draw`, also an index of a list."""
    rng = Random(seed)

    def draw(row):
        row = row if isinstance(row, dict) else dict(enumerate(row))
        return rng.choices(list(row), list(row.values()))[0]

    return draw


def tables(*names, of):
    """Return tables of a page without entries that are 0."""
    return [{key: x for key, x in of[name].items() if x} for name in names]


def nonzero(*found):
    return [{key: x for key, x in table.items() if x} for table in found]


# ---- the listings ----------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_vanilla_cfr_is_the_listing_of_chapter_4(game):
    page, solver = chapter("04_vanilla_cfr", "traverse", game=game), Vanilla(game)
    for _ in range(5):
        page["sigma"].update(solver.sigma)
        page["traverse"]((), 1, 1, 1)
        solver.iterate()
        assert tables("R", "S", of=page) == nonzero(solver.R, solver.S)


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_family_has_the_regrets_of_the_listing_of_chapter_5(game):
    page = chapter("05_cfr_plus", "traverse", kuhn=game)
    solver = Family(game, inf, -inf, 1)
    for _ in range(5):
        solver.t += 1
        solver.seen = page["sigma"] = solver.sigma
        for i in (0, 1):
            solver.r.clear()
            page["r"].clear()
            solver.walk((), i, 1, 1)
            page["traverse"]((), i, solver.t, 1, 1)
            assert tables("r", of=page) == nonzero(solver.r)
            solver.update(i)


@pytest.mark.parametrize("game", GAMES, ids=repr)
@pytest.mark.parametrize(
    ("walk", "solver"),
    [("external_walk", ExternalSamplingSolver), ("outcome_walk", OutcomeSamplingSolver)],
)
def test_samplers_are_the_listings_of_chapter_7(walk, solver, game):
    mine = solver(game, seed=3)
    new = {"r": defaultdict(float), "S": defaultdict(float)}
    page, draw = chapter("07_monte_carlo_cfr", walk, game=game, **new), drawing(3)
    for t in range(50):
        page["sigma"] = {I: mine.match(I) for I in mine.actions}
        mine.walk((), t % 2)
        page[walk]((), t % 2, draw)
        assert tables("r", "S", of=page) == nonzero(mine.R, mine.S)


@pytest.mark.parametrize("target", ["Q check-bet", "J bet"])
def test_online_outcome_sampling_is_the_listing_of_chapter_9(target):
    game, draw = cfr.games.KuhnPoker(), drawing(3)
    mine = OnlineOutcomeSampling(game, 3, target, epsilon=0.4, delta=0.5)
    page = chapter("09_online_search", "leads", "rows", "mix", "walk")
    page |= {"game": game, "epsilon": 0.4, "delta": 0.5, "draw": draw}
    page |= {"R": defaultdict(float), "S": defaultdict(float)}
    page["aim"] = page["leads"]((), target)
    assert mine.aim == page["aim"]
    for t in range(50):
        page["sigma"] = {I: mine.match(I) for I in mine.actions}
        mine.walk((), t % 2)
        page["walk"]((), t % 2, 1, 1, 1, draw([0.5, 0.5]) == 1)
        assert tables("R", "S", of=page) == nonzero(mine.R, mine.S)


# ---- samples, over all random paths ----------------------------------------------------------


SAMPLERS = {
    "external": ExternalSamplingSolver,
    "outcome": OutcomeSamplingSolver,
    "robust, k = 1": partial(RobustSamplingSolver, k=1),
    "robust, k = 2": partial(RobustSamplingSolver, k=2),
    "OOS": OnlineOutcomeSampling,
    "OOS at the first infoset": lambda game: targeted(game, 0),
    "OOS at the last infoset": lambda game: targeted(game, -1),
}


def targeted(game, n):
    """Return OOS that targets the n-th infoset of a game."""
    infosets = cfr.compile(game).infoset_label
    return OnlineOutcomeSampling(game, target=infosets[n], delta=0.9)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["Kuhn poker", "a late coin"])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers_are_unbiased(sampler, game):
    assert checks.regret_bias(SAMPLERS[sampler], LADDER[game]) < 1e-12
    assert checks.average_bias(SAMPLERS[sampler], LADDER[game]) < 1e-12


def test_robust_sampling_of_all_actions_is_external_sampling():
    game = LADDER["dice, 2 faces"]
    every = RobustSamplingSolver(game, seed=1, k=100)
    every.some = list  # in order, without drawing
    external = ExternalSamplingSolver(game, seed=1)
    assert every.run(50) == external.run(50)


def test_target_must_be_an_infoset():
    with pytest.raises(ValueError, match="'K fold' is no infoset of KuhnPoker"):
        OnlineOutcomeSampling(cfr.games.KuhnPoker(), target="K fold")
