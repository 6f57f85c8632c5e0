"""A CFR run whose states can be read after any number of iterations, in any order."""

from __future__ import annotations

from cfrlib.cfr import CFR


class Rewind:
    """A run that stores earlier states, so that a slider can move both ways.

    The iterations of stored states grow by an eighth from one to the next, so reading any
    earlier state costs at most an eighth of its iterations.

    Parameters
    ----------
    run : CFR
        The state to start from; it is copied and not changed.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrbook.explore import Rewind
    >>> film = Rewind(cfr.CFR(cfr.games.KuhnPoker()))
    >>> film.at(1_000).iterations, film.at(10).iterations
    (1000, 10)
    """

    def __init__(self, run: CFR):
        self._first = run.iterations
        self._states = {run.iterations: run.copy()}

    def at(self, iterations: int) -> CFR:
        """Return a copy of the run after the given number of iterations.

        Raises
        ------
        ValueError
            If `iterations` lies before the start.
        """
        if iterations < self._first:
            raise ValueError(f"the run starts at {self._first:,}; {iterations:,} lies before")
        run = self._states[max(t for t in self._states if t <= iterations)].copy()
        while run.iterations < iterations:
            mark = run.iterations + run.iterations // 8 + 1
            run.run(min(mark, iterations) - run.iterations, progress=False)
            if run.iterations == mark:
                self._states[mark] = run.copy()
        return run
