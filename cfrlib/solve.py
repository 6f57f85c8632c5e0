"""Solving a game in one call, by the whole tree or by samples of it."""

from __future__ import annotations

from typing import Any

from cfrlib.cfr import CFR
from cfrlib.game import Game
from cfrlib.montecarlo.mccfr import MCCFR
from cfrlib.montecarlo.schemes import Sampling
from cfrlib.regret import Variant
from cfrlib.run import Run
from cfrlib.solution import Solution


def solve(
    game: Game,
    variant: str | Variant = "cfr",
    iterations: int | None = None,
    *,
    until: float | None = None,
    seconds: float | None = None,
    update: str = "alternating",
    delay: int = 0,
    sampling: str | Sampling | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Solution:
    """Run CFR on `game` and return the average strategy with its exploitability.

    Parameters
    ----------
    game, variant, update, delay
        As in :class:`CFR`.
    sampling : str or Sampling, optional
        What to sample, as in :class:`MCCFR`; left out, every iteration visits the whole tree.
    **options
        Further arguments of :class:`MCCFR`, such as ``batch`` and ``seed``; with `sampling`.
    iterations, until, seconds, progress
        As in :meth:`CFR.run`: the run ends at the first of the limits given, or after 1,000
        iterations if there is none.

    Returns
    -------
    Solution

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.
    TypeError
        If options of sampling are given without `sampling`.

    Warns
    -----
    RuntimeWarning
        If `until` was not reached.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> solution = cfr.solve(cfr.games.KuhnPoker(), "cfr", iterations=1_000)
    >>> round(solution.exploitability, 6)
    0.000938
    >>> cfr.solve(cfr.games.KuhnPoker(), "pcfr+", until=1e-6).exploitability <= 1e-6
    True
    >>> cfr.solve(cfr.games.LeducPoker(), "cfr", 1_000, sampling="external", seed=0).iterations
    1000
    """
    run: Run
    if sampling is not None:
        run = MCCFR(game, variant, sampling=sampling, update=update, delay=delay, **options)
    elif options:
        given = ", ".join(options)
        raise TypeError(f'{given} is for sampling; give sampling="external", or leave it out')
    else:
        run = CFR(game, variant, update=update, delay=delay)
    return run.run(iterations, until=until, seconds=seconds, progress=progress).solution()
