"""Normal-form games of two players: rock–paper–scissors, Colonel Blotto, any bimatrix game."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import whole_number
from cfrlib.game import Decision, Game, History, Node, Terminal


class MatrixGame(Game):
    """Two-player normal-form game, given by its payoff matrices.

    In the extensive form, player 0 moves first and player 1 does not see the move. The infosets
    are called ``"player 0"`` and ``"player 1"``.

    Parameters
    ----------
    row_payoffs : array-like, shape (m, n)
        Payoff of player 0 for each pair of actions.
    column_payoffs : array-like, shape (m, n), optional
        Payoff of player 1; by default minus `row_payoffs` (zero-sum).
    actions : pair of sequences, or one sequence, optional
        Names of the rows and of the columns, or one sequence for both.

    Raises
    ------
    ValueError
        If the payoffs are not finite matrices of the same shape, or the names do not fit.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> pennies = cfr.games.MatrixGame([[1, -1], [-1, 1]], actions=("heads", "tails"))
    >>> cfr.solve_lp(pennies).value
    0.0
    """

    def __init__(
        self,
        row_payoffs: npt.ArrayLike,
        column_payoffs: npt.ArrayLike | None = None,
        actions: Sequence[str] | tuple[Sequence[str], Sequence[str]] | None = None,
    ):
        row = np.array(row_payoffs, np.float64)
        column = -row if column_payoffs is None else np.array(column_payoffs, np.float64)
        if row.ndim != 2 or 0 in row.shape or row.shape != column.shape:
            raise ValueError(
                "payoffs must be matrices of the same shape, with one row per action of player "
                "0 and one column per action of player 1; got shapes "
                f"{row.shape} and {column.shape}"
            )
        if not (np.isfinite(row).all() and np.isfinite(column).all()):
            raise ValueError("every payoff must be a finite number")
        self.row_payoffs, self.column_payoffs = row, column
        self.actions = self._names(actions)

    def _names(
        self, actions: Sequence[str] | tuple[Sequence[str], Sequence[str]] | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of rows and columns, checked against the shape."""
        m, n = self.row_payoffs.shape
        if actions is None:
            return tuple(f"row {k}" for k in range(m)), tuple(f"column {k}" for k in range(n))
        if all(isinstance(a, str) for a in actions):
            rows = columns = tuple(str(a) for a in actions)
        else:
            first, second = actions
            rows, columns = tuple(first), tuple(second)
        if (len(set(rows)), len(set(columns))) != (m, n):
            raise ValueError(
                f"a {m} × {n} game needs {m} different names for rows and {n} for columns, "
                f"got {rows!r} and {columns!r}"
            )
        return rows, columns

    def node(self, h: History) -> Node:
        """Return the node at history `h`."""
        if len(h) < 2:
            return Decision(len(h), f"player {len(h)}", self.actions[len(h)])
        cell = self.actions[0].index(h[0]), self.actions[1].index(h[1])
        return Terminal((float(self.row_payoffs[cell]), float(self.column_payoffs[cell])))

    def __repr__(self) -> str:
        m, n = self.row_payoffs.shape
        return f"MatrixGame({m} × {n})"


class RockPaperScissors(MatrixGame):
    """Rock–paper–scissors with an adjustable payoff for rock against scissors.

    Parameters
    ----------
    rock_beats_scissors : float
        Payoff of rock against scissors. 3 gives the *biased* game of the Qiita article on
        OpenSpiel (2022), whose only equilibrium plays (rock, paper, scissors) = (.2, .6, .2).

    Examples
    --------
    >>> RockPaperScissors().row_payoffs
    array([[ 0., -1.,  1.],
           [ 1.,  0., -1.],
           [-1.,  1.,  0.]])
    """

    def __init__(self, rock_beats_scissors: float = 1.0):
        a = float(rock_beats_scissors)
        super().__init__(
            [[0.0, -1.0, a], [1.0, 0.0, -1.0], [-a, 1.0, 0.0]],
            actions=("rock", "paper", "scissors"),
        )
        self.rock_beats_scissors = a

    def __repr__(self) -> str:
        if self.rock_beats_scissors == 1:
            return "RockPaperScissors()"
        return f"RockPaperScissors(rock_beats_scissors={self.rock_beats_scissors:g})"


class ColonelBlotto(MatrixGame):
    """Colonel Blotto: two colonels distribute their soldiers over battlefields.

    The colonel with more soldiers wins a battlefield; equal numbers win it for neither. The
    colonel who wins more battlefields wins 1. An action is a division such as ``"3-1-1"``.

    Parameters
    ----------
    soldiers, fields : int
        Number of soldiers of each colonel and number of battlefields, at least 1.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    Source: Borel (1921). The default is the exercise of Neller & Lanctot (2013).

    Examples
    --------
    >>> game = ColonelBlotto()
    >>> len(game.actions[0]), game.node(("3-1-1", "5-0-0"))
    (21, Terminal((1.0, -1.0)))
    """

    def __init__(self, soldiers: int = 5, fields: int = 3):
        soldiers = whole_number("soldiers", soldiers)
        fields = whole_number("fields", fields)
        if soldiers < 1 or fields < 1:
            raise ValueError(
                "Colonel Blotto needs at least 1 soldier and 1 field, got "
                f"soldiers={soldiers!r}, fields={fields!r}"
            )
        self.soldiers, self.fields = soldiers, fields
        divisions = [
            d for d in product(range(soldiers, -1, -1), repeat=fields) if sum(d) == soldiers
        ]
        table = np.array(divisions)
        ahead = np.sign(table[:, None, :] - table[None, :, :]).sum(axis=2)
        super().__init__(np.sign(ahead), actions=["-".join(map(str, d)) for d in divisions])

    def __repr__(self) -> str:
        return f"ColonelBlotto(soldiers={self.soldiers}, fields={self.fields})"
