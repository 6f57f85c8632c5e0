"""Strategies: for every infoset, a probability for every action.

A :class:`Strategy` reads like a dictionary of dictionaries,
``strategy["Q check-bet"]["call"]``, and stands for a whole profile: all players' choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Protocol, TypeAlias

import numpy as np

from cfrlib.core import files
from cfrlib.core.files import Kind, PathLike
from cfrlib.core.schema import Array
from cfrlib.core.sequence import SequenceForm, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Action, Game, action_label

ROWS_SHOWN = 24
SIGMA = Array(("sequences",))  # what `check_probabilities` looks at besides
STRATEGY_FILE = Kind("cfrlib.Strategy 1", "strategy", "Strategy.save", {}, {"strategy": SIGMA})


class Labels(Protocol):
    """What a table needs to know of a game: the infosets it is about, and where they stand."""

    @property
    def tree(self) -> Any:
        """Something with a game, and with the attributes of a Tree that describe infosets."""

    @property
    def infoset_number(self) -> dict[str, int]:
        """Where an infoset stands in these."""


class InfosetTable(Mapping[str, dict[Action, float]]):
    """One number for every action at every infoset, addressed by readable labels.

    Parameters
    ----------
    form : SequenceForm, or other labels
        The game the infosets belong to.
    values : float array, shape (sequences,)
        One number for each sequence; a copy is kept.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> regrets = cfr.CFR(cfr.games.KuhnPoker()).run(10).regrets
    >>> regrets.player("Q bet"), sorted(regrets["Q bet"]), len(regrets.values_by_sequence)
    (1, ['call', 'fold'], 26)
    """

    def __init__(self, form: Labels, values: Floats):
        self._form = form
        self._values = np.array(values, np.float64)
        self._values.setflags(write=False)

    @property
    def game(self) -> Game:
        """The game it is for."""
        game: Game = self._form.tree.game
        return game

    @property
    def values_by_sequence(self) -> Floats:
        """The numbers as a read-only vector over sequences, as the solvers hold them."""
        return self._values

    def player(self, infoset: str) -> int:
        """Return which player acts at `infoset`."""
        return int(self._form.tree.infoset_player[self._find(infoset)])

    def _find(self, infoset: str) -> int:
        number = self._form.infoset_number.get(infoset)
        if number is None:
            raise KeyError(
                f"no infoset {infoset!r}; {self._form.tree.game!r} has {_some(list(self))}"
            )
        return number

    def _row(self, I: int) -> dict[Action, float]:
        start = self._form.tree.infoset_start[I]
        actions = self._form.tree.infoset_actions[I]
        return {a: float(self._values[start + n]) for n, a in enumerate(actions)}

    def __getitem__(self, infoset: str) -> dict[Action, float]:
        return self._row(self._find(infoset))

    def __iter__(self) -> Iterator[str]:
        return iter(self._form.tree.infoset_label)

    def __len__(self) -> int:
        return int(self._form.tree.num_infosets)

    def _shown(self) -> tuple[list[tuple[str, str, list[str]]], int]:
        """Return the rows to show as words, and how many are left out."""
        tree = self._form.tree
        rows = [
            (
                str(tree.infoset_player[I]),
                tree.infoset_label[I],
                [f"{action_label(a)} {_number(p)}" for a, p in self._row(I).items()],
            )
            for I in range(min(len(self), ROWS_SHOWN))
        ]
        return rows, len(self) - len(rows)

    def __repr__(self) -> str:
        rows, hidden = self._shown()
        width = max([len(label) for _, label, _ in rows], default=0)
        lines = [f"{type(self).__name__} of {self._form.tree.game!r}"]
        lines += [f"  {p}  {label:<{width}}  {'  '.join(cells)}" for p, label, cells in rows]
        if hidden:
            lines.append(f"  … and {hidden:,} more infosets")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows, hidden = self._shown()
        body = "".join(
            f"<tr><td>{p}</td><td>{escape(label)}</td>"
            + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            + "</tr>"
            for p, label, cells in rows
        )
        more = f"<p>… and {hidden:,} more infosets</p>" if hidden else ""
        return (
            '<table class="cfr-table"><thead><tr><th scope="col">player</th>'
            '<th scope="col">infoset</th><th scope="col" colspan="9">'
            f"{type(self).__name__.lower()}</th></tr></thead><tbody>{body}</tbody></table>{more}"
        )


class Strategy(InfosetTable):
    """A behavioral strategy for every player: the profile σ.

    Parameters
    ----------
    game : Game
        The game it is for.
    probabilities : mapping from infoset to mapping from action to float
        Every infoset of every player. Actions left out have probability 0.

    Raises
    ------
    ValueError
        If an infoset is missing or unknown, an action is unknown, or the numbers at an
        infoset are not probabilities. The message says which.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.RockPaperScissors()
    >>> s = cfr.Strategy(game, {"player 0": {"rock": 1},
    ...                         "player 1": {"paper": 0.5, "scissors": 0.5}})
    >>> s["player 1"]
    {'rock': 0.0, 'paper': 0.5, 'scissors': 0.5}
    >>> s.player("player 1"), round(s.max_difference(cfr.Strategy.uniform(game)), 9)
    (1, 0.666666667)

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     s.save(f"{folder}/rps.npz")
    ...     cfr.Strategy.load(f"{folder}/rps.npz", game) == s
    True
    """

    def __init__(self, game: Game, probabilities: Mapping[str, Mapping[Action, float]]):
        form = sequence_form(game)
        super().__init__(form, _read(form, probabilities))

    _form: SequenceForm

    @classmethod
    def from_vector(cls, form: SequenceForm, sigma: Floats) -> Strategy:
        """Wrap probabilities that a solver holds, shape (sequences,).

        Examples
        --------
        >>> import cfrlib as cfr
        >>> from cfrlib.core.sequence import sequence_form
        >>> form = sequence_form(cfr.games.RockPaperScissors())
        >>> cfr.Strategy.from_vector(form, form.uniform())["player 0"]["paper"].__round__(3)
        0.333
        """
        self = cls.__new__(cls)
        InfosetTable.__init__(self, form, sigma)
        return self

    @classmethod
    def uniform(cls, game: Game) -> Strategy:
        """Return the profile in which everybody picks each action equally often."""
        form = sequence_form(game)
        return cls.from_vector(form, form.uniform())

    @classmethod
    def random(
        cls,
        game: Game,
        seed: int | np.random.Generator | None = None,
        concentration: float = 1.0,
    ) -> Strategy:
        """Return a profile drawn at random, which gives every action some probability.

        The row of every infoset is drawn from a symmetric Dirichlet distribution, one after
        the other in the order in which the game comes to the infosets, level by level.

        Parameters
        ----------
        game : Game
            The game it is for.
        seed : int or numpy Generator, optional
            The same int gives the same profile. A generator goes on: the next one is another.
        concentration : float above 0
            With 1 all rows are equally likely. Large numbers stay near uniform play, small
            ones near pure strategies.

        Raises
        ------
        ValueError
            If `concentration` is not a number above 0.

        Examples
        --------
        >>> import cfrlib as cfr
        >>> sigma = cfr.Strategy.random(cfr.games.KuhnPoker(), seed=0, concentration=2)
        >>> {a: round(p, 3) for a, p in sigma["Q check"].items()}
        {'check': 0.17, 'bet': 0.83}
        """
        if not 0 < concentration < np.inf:
            raise ValueError(f"concentration must be a number above 0, got {concentration!r}")
        form, rng = sequence_form(game), np.random.default_rng(seed)
        tree, sigma = form.tree, form.uniform()
        met, first = np.unique(tree.infoset, return_index=True)
        for I in met[np.argsort(first)]:
            if I >= 0:  # no infoset: an end, or chance
                n, start = len(tree.infoset_actions[I]), tree.infoset_start[I]
                sigma[start : start + n] = rng.dirichlet(np.full(n, concentration))
        return cls.from_vector(form, sigma)

    def replace(self, changes: Mapping[str, Mapping[Action, float]]) -> Strategy:
        """Return a copy in which the given infosets play differently.

        Raises
        ------
        ValueError
            If an infoset or an action is unknown, or numbers are not probabilities.

        Examples
        --------
        >>> import cfrlib as cfr
        >>> uniform = cfr.Strategy.uniform(cfr.games.KuhnPoker())
        >>> uniform.replace({"K bet": {"call": 1}})["K bet"]
        {'fold': 0.0, 'call': 1.0}
        """
        unknown = [label for label in changes if label not in self]
        if unknown:
            raise ValueError(
                f"no infoset {_some(unknown)} in {self._form.tree.game!r}; "
                f"it has {_some(list(self))}"
            )
        return Strategy.from_vector(self._form, _read(self._form, {**self, **changes}))

    def max_difference(self, other: StrategyLike) -> float:
        """Return the largest difference in any probability, a number from 0 to 1."""
        sigma = strategy_vector(self._form, other)
        return float(np.max(np.abs(self._values - sigma), initial=0.0))

    def save(self, path: PathLike) -> None:
        """Write the strategy to `path` (npz: one array and a JSON header, no pickle).

        The array ``strategy`` holds a probability for each sequence, in the order that
        :mod:`cfrlib.core.files` describes; the header names the infosets and actions. A file
        that is already there is replaced only once the new one is complete.
        """
        files.write(path, STRATEGY_FILE, self._form, {}, {"strategy": self._values})

    @classmethod
    def load(cls, path: PathLike, game: Game) -> Strategy:
        """Read a strategy of `game` from `path`.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        form = sequence_form(game)

        with files.reading(path, STRATEGY_FILE, form) as file:
            sigma = file.arrays()["strategy"]
            check_probabilities(form, sigma)
        return cls.from_vector(form, sigma)


class PartialStrategy(InfosetTable):
    """The strategy at the infosets a run has met; everywhere else nothing is known.

    What :class:`cfrlib.MCCFR` has of a game too large to compile. It reads as a `Strategy`
    does; an infoset that was not met is a KeyError, and stands for the uniform strategy.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> options = {"sampling": "outcome", "on_demand": True, "seed": 0}
    >>> run = cfr.MCCFR(cfr.games.LiarsDice(), **options).run(100)
    >>> met = run.average
    >>> "6" in met, 100 < len(met) < 24_576  # of 24,576 infosets
    (True, True)
    """


class Regrets(InfosetTable):
    """Cumulative counterfactual regrets. Not a strategy: see chapter 1."""


def check_probabilities(form: SequenceForm, *sigmas: Floats) -> None:
    """Raise a ValueError unless these, which were read from a file, are strategies."""
    for sigma in sigmas:
        check_rows(form.treeplexes.infoset_start, form.treeplexes.infoset_stop, sigma)


def check_rows(start: Any, stop: Any, sigma: Floats) -> None:
    """Raise a ValueError unless sigma[start[I]:stop[I]] are probabilities for every I."""
    before = np.concatenate(([0.0], np.cumsum(sigma)))
    sums = before[stop] - before[start]
    possible = ((sigma >= 0) & (sigma <= 1 + 1e-9)).all()
    if not (possible and (np.abs(sums - 1) <= 1e-9).all()):
        raise ValueError("not probabilities")


StrategyLike: TypeAlias = Strategy | Mapping[str, Mapping[Action, float]]


def strategy_vector(form: SequenceForm, strategy: StrategyLike) -> Floats:
    """Return the probabilities of `strategy`, shape (sequences,), if it is one for this game.

    Raises
    ------
    ValueError
        If it belongs to a game with other infosets or actions.
    """
    if isinstance(strategy, Strategy):
        mine, theirs = form.tree, strategy._form.tree
        if mine is not theirs and (
            mine.infoset_label != theirs.infoset_label
            or mine.infoset_actions != theirs.infoset_actions
        ):
            raise ValueError(
                f"this is a strategy of {theirs.game!r} with {_some(theirs.infoset_label)}; "
                f"{mine.game!r} has {_some(mine.infoset_label)}. "
                "Solve the game you evaluate, or evaluate the game you solved"
            )
        return strategy.values_by_sequence
    if not isinstance(strategy, Mapping):
        raise ValueError(
            f"expected a Strategy or a dict of infosets, got {type(strategy).__name__}; "
            "a solution holds its strategy as solution.strategy"
        )
    return _read(form, strategy)


def _read(form: SequenceForm, given: Mapping[str, Mapping[Action, float]]) -> Floats:
    """Check a dictionary of probabilities and lay it out over the sequences."""
    tree = form.tree
    wrong = [label for label in given if label not in form.infoset_number]
    missing = [label for label in tree.infoset_label if label not in given]
    if wrong:
        raise ValueError(
            f"{tree.game!r} has no infoset {_some(wrong)}; its infosets are "
            f"{_some(tree.infoset_label)}"
        )
    if missing:
        raise ValueError(
            f"the strategy says nothing about {_some(missing)}; give every infoset, or start "
            "from Strategy.uniform(game).replace({...})"
        )
    sigma = np.ones(form.num_sequences)
    for I, label in enumerate(tree.infoset_label):
        start, actions = tree.infoset_start[I], tree.infoset_actions[I]
        unknown = [a for a in given[label] if a not in actions]
        if unknown:
            raise ValueError(
                f"infoset {label!r} has no action {unknown[0]!r}, only {actions!r}"
            )
        row = np.array([given[label].get(a, 0.0) for a in actions], np.float64)
        if not (np.all(row >= 0) and abs(row.sum() - 1) <= 1e-9):
            raise ValueError(
                f"the numbers at infoset {label!r} are not probabilities: "
                f"{dict(zip(actions, row.tolist(), strict=True))!r}; "
                "each must be at least 0, and they must sum to 1"
            )
        sigma[start : start + len(actions)] = row
    return sigma


def _some(labels: list[str], limit: int = 6) -> str:
    """Name the first few labels of a list."""
    head = ", ".join(repr(label) for label in labels[:limit])
    return head if len(labels) <= limit else f"{head}, … ({len(labels):,} in all)"


def _number(p: float) -> str:
    """Write a number at a fixed width that keeps small ones visible."""
    return f"{p:.4f}" if p == 0 or abs(p) >= 5e-5 else f"{p:.0e}"
