"""Solve a game in one call, by traversals of the whole tree or by sampling."""

from __future__ import annotations

from typing import Any

from cfrlib.cfr import CFR
from cfrlib.game import Game
from cfrlib.montecarlo.mccfr import MCCFR
from cfrlib.montecarlo.schemes import Sampling
from cfrlib.regret import Method, find_variant
from cfrlib.run import Run
from cfrlib.solution import Solution


def solve(
    game: Game,
    variant: str | Method = "cfr",
    iterations: int | None = None,
    *,
    until: float | None = None,
    seconds: float | None = None,
    update: str | None = None,
    delay: int = 0,
    sampling: str | Sampling | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Solution:
    """Solve `game`, by default with CFR, and return the strategies with their exploitability.

    Parameters
    ----------
    game, variant, update, delay
        As in :class:`CFR`; updates alternate by default. The variant may also be a
        `RegretMatching` or a `MirrorDescent` of `cfrlib.last_iterate`, which decides itself
        whether updates alternate.
    sampling : str or Sampling, optional
        As in :class:`MCCFR`. By default every iteration visits the whole tree.
    **options
        Further arguments of :class:`MCCFR`, such as ``batch`` and ``seed``, or ``weight`` of
        `cfrlib.last_iterate.Iterates`.
    iterations, until, seconds, progress
        As in :meth:`CFR.run`: the run ends at the first limit, or after 1,000 iterations if
        there is none. With methods of `cfrlib.last_iterate`, `until` limits the exploitability
        of the current strategy.

    Returns
    -------
    Solution

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is invalid; the message states what is valid.
    TypeError
        If `options` are given without `sampling`.

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
    >>> from cfrlib.last_iterate import RegretMatching
    >>> method = RegretMatching(prediction=1, alternating=True)
    >>> cfr.solve(cfr.games.KuhnPoker(), method, until=1e-9).current_exploitability <= 1e-9
    True
    >>> cfr.solve(cfr.games.LeducPoker(), "cfr", 1_000, sampling="external", seed=0).iterations
    1000
    """
    run: Run
    order = "alternating" if update is None else update
    if isinstance(variant, Method) and hasattr(variant, "run_on"):  # it brings its own run
        if update is not None or delay or sampling is not None:
            raise ValueError(
                f"{variant.name} takes no update, delay or sampling; its setting `alternating` "
                "decides about updates"
            )
        run = variant.run_on(game, **options)
    elif sampling is not None:
        run = MCCFR(
            game,
            find_variant(variant),
            sampling=sampling,
            update=order,
            delay=delay,
            **options,
        )
    elif options:
        raise TypeError(
            f"options of sampling without sampling: {', '.join(options)}; "
            'add sampling="external", or remove the options'
        )
    else:
        whole_tree: Any = variant
        run = CFR(game, whole_tree, update=order, delay=delay)
    return run.run(iterations, until=until, seconds=seconds, progress=progress).solution()
