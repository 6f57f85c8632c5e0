"""Continual re-solving: play a game by solving a part of it at every decision.

Between two decisions a player keeps their own range and an alternative value for each hand of
the opponent, and nothing else (Moravčík et al., 2017). :func:`continual` does at every public
state what a player at the table does at those of one path, and returns the whole strategy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.sequence import sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Game
from cfrlib.strategy import Strategy
from cfrlib.subgames.public import PublicState, public_tree
from cfrlib.subgames.ranges import Part, ValueFunction, ValuePair
from cfrlib.subgames.resolving import check_solver

NOBODY = np.empty(0)


def continual(
    game: Game,
    player: int,
    *,
    safe: bool = True,
    iterations: int = 1_000,
    horizon: Iterable[PublicState] = (),
    values: ValueFunction | None = None,
) -> Strategy:
    """Return the strategy of a player who solves again at each of their decisions.

    Parameters
    ----------
    game : Game
        A two-player zero-sum game.
    player : int
        The player who solves. The other player's part of the result is uniform.
    safe : bool
        Whether the opponent may decline each subgame for the alternative value of the hand, as
        in a gadget game. Otherwise the opponent's range is assumed: the one of the last solve.
    iterations : int
        Iterations of CFR+ at each decision.
    horizon : iterable of PublicState
        How far a solve that begins earlier looks ahead; a solve that begins in or after one of
        these states looks ahead to the end.
    values : ValueFunction, optional
        What stands for the rest of the game at the horizon.

    Returns
    -------
    Strategy

    Raises
    ------
    ValueError
        If the game is not a zero-sum game of two players, it has no such player, or a value
        function is missing.

    Notes
    -----
    After an own action and after chance, alternative values are those of the last solve; an
    action of the opponent does not change them. Source: Moravčík et al. (2017).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> mine = continual(game, 0, iterations=1_000)
    >>> cfr.best_response(game, mine, 1).value < 1 / 18 + 0.01
    True
    """
    check_solver(game, player)
    search = _Search(game, player, safe, whole_number("iterations", iterations, 1))
    search.horizon, search.value_function = list(horizon), values
    search.visit(search.public.states[0], NOBODY, {})
    sigma = search.form.uniform()
    own = slice(*search.form.treeplexes.player_sequences[player : player + 2])
    sigma[own] = search.sigma[own]
    return Strategy.from_vector(search.form, sigma)


class _Search:
    """The walk over all public states, and the strategies of both that it has found so far."""

    def __init__(self, game: Game, player: int, safe: bool, iterations: int):
        self.public, self.form = public_tree(game), sequence_form(game)
        self.player, self.safe, self.iterations = player, safe, iterations
        self.horizon: list[PublicState] = []
        self.value_function: ValueFunction | None = None
        self.sigma = self.form.uniform()
        self._parts: dict[int, Part] = {}

    def visit(self, state: PublicState, out: Floats, ends: dict[int, ValuePair]) -> None:
        """Solve at a public state if it is our turn, and go on.

        `out` holds the alternative values of the opponent's hands, as counterfactual values,
        and `ends` the values found at the horizon by the last solve.
        """
        if state.player == self.player or state.number == 0:
            ends = self.solve(state, out)
        for n in self.public.children[state.number]:
            child = self.public.states[n]
            if state.player == 1 - self.player:
                below = self._carried(state, child, out)
            elif n in ends:
                below = ends[n][1 - self.player]
            else:
                below = self._best_values(child, ends)
            self.visit(child, below, ends)

    def solve(self, state: PublicState, out: Floats) -> dict[int, ValuePair]:
        """Solve the part that begins here, and write both strategies into `sigma`."""
        part, ranges = self._part(state), list(self._ranges(state))
        outs = [NOBODY, NOBODY]
        if self.safe and len(out):
            ranges[1 - self.player] = np.ones_like(out)
            outs[1 - self.player] = out
        solved = part.solve(
            (ranges[0], ranges[1]),
            self.iterations,
            values=self.value_function if part.ends else None,
            alternatives=(outs[0], outs[1]),
        )
        known = ~np.isnan(solved.sigma)
        self.sigma[known] = solved.sigma[known]
        return solved.ends

    def _part(self, state: PublicState) -> Part:
        """Return the part of the game that is looked at from a public state."""
        if state.number not in self._parts:
            self._parts[state.number] = Part(self.public, state, self.horizon)
        return self._parts[state.number]

    def _best_values(self, state: PublicState, ends: dict[int, ValuePair]) -> Floats:
        """Return what the opponent's hands can earn from here against the last solve.

        At the horizon they earn the averages that were found there. Asking the value function
        again, with average ranges, would assume the opponent's range.
        """

        def found(
            states: Sequence[PublicState], ranges: Sequence[ValuePair]
        ) -> list[ValuePair]:
            return [ends[end.number] for end in states]

        part = self._part(state)
        return part.values(self._ranges(state), self.sigma, values=found)[1 - self.player]

    def _ranges(self, state: PublicState) -> ValuePair:
        """Return both ranges: how likely each hand makes the moves that lead here."""
        plan, tree, found = self.form.plans(self.sigma), self.public.tree, []
        for i in (0, 1):
            row = np.zeros(len(state.hand_label[i]))
            row[state.hand[i]] = plan[tree.sequence[state.histories, i]]
            found.append(row)
        return found[0], found[1]

    def _carried(self, state: PublicState, child: PublicState, out: Floats) -> Floats:
        """Return the same numbers for the opponent's hands after their action."""
        j, below = 1 - self.player, np.zeros(len(child.hand_label[1 - self.player]))
        hand = dict(zip(state.histories.tolist(), state.hand[j].tolist(), strict=True))
        for k, c in zip(child.histories.tolist(), child.hand[j].tolist(), strict=True):
            below[c] = out[hand[int(self.public.tree.parent[k])]]
        return below
