"""A CFR run that can be looked at after any number of iterations, in any order."""

from __future__ import annotations

from cfrlib.cfr import CFR


class Rewind:
    """A run with a memory of where it was, so that a slider may move both ways.

    States are kept at iterations that grow by an eighth from one to the next, so a later look
    costs at most an eighth of its iterations.

    Parameters
    ----------
    run : CFR
        Where to start. It is copied and stays as it is.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.explore import Rewind
    >>> film = Rewind(cfr.CFR(cfr.games.KuhnPoker()))
    >>> film.at(1_000).iterations, film.at(10).iterations
    (1000, 10)
    """

    def __init__(self, run: CFR):
        self._first = run.iterations
        self._states = {run.iterations: run.copy()}

    def at(self, iterations: int) -> CFR:
        """Return the run after that many iterations, yours to continue.

        Raises
        ------
        ValueError
            If that lies before the start.
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
