"""Strategies: a probability for every action at every infoset.

A :class:`Strategy` reads like a dictionary of dictionaries,
``strategy["Q check-bet"]["call"]``, and holds a whole profile: a strategy for each player.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Protocol, TypeAlias

import numpy as np

from cfrlib.core import files
from cfrlib.core.checks import distributions
from cfrlib.core.files import PathLike
from cfrlib.core.sequence import SequenceForm, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Action, Game, action_label

ROWS_SHOWN = 24
STRATEGY_FORMAT = "cfrlib.Strategy 2"


class InfosetIndex(Protocol):
    """The part of a `SequenceForm` that an `InfosetTable` uses."""

    @property
    def tree(self) -> Any:
        """The game, and the attributes of its `Tree` that describe infosets."""

    @property
    def infoset_number(self) -> dict[str, int]:
        """The index of each infoset, by label."""


class InfosetTable(Mapping[str, dict[Action, float]]):
    """One number for every action at every infoset, addressed by readable labels.

    Parameters
    ----------
    form : SequenceForm or InfosetIndex
        The game's infosets.
    values : float array, shape (sequences,)
        One number for each sequence; a copy is kept, with 0.0 for -0.0.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> regrets = cfr.CFR(cfr.games.KuhnPoker()).run(10).regrets
    >>> regrets.player("Q bet"), sorted(regrets["Q bet"]), len(regrets.values_by_sequence)
    (1, ['call', 'fold'], 26)
    """

    def __init__(self, form: InfosetIndex, values: Floats):
        self._form = form
        self._values = np.array(values, np.float64) + 0.0
        self._values.setflags(write=False)

    @property
    def game(self) -> Game:
        """The game that the infosets belong to."""
        game: Game = self._form.tree.game
        return game

    @property
    def values_by_sequence(self) -> Floats:
        """The numbers as a read-only vector, one per sequence, in the order of the game."""
        return self._values

    def player(self, infoset: str) -> int:
        """Return the player who acts at `infoset`."""
        return int(self._form.tree.infoset_player[self._find(infoset)])

    def _find(self, infoset: str) -> int:
        number = self._form.infoset_number.get(infoset)
        if number is None:
            tree = self._form.tree
            raise KeyError(
                f"no infoset {infoset!r}; {tree.game!r} has {_first(tree.infoset_label)}"
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

    def _display_rows(self) -> tuple[list[tuple[str, str, list[str]]], int]:
        """Return the formatted rows to display, and the number of rows left out."""
        tree = self._form.tree
        rows = [
            (
                str(tree.infoset_player[I]),
                tree.infoset_label[I],
                [f"{action_label(a)} {_format_number(p)}" for a, p in self._row(I).items()],
            )
            for I in range(min(len(self), ROWS_SHOWN))
        ]
        return rows, len(self) - len(rows)

    def __repr__(self) -> str:
        rows, hidden = self._display_rows()
        width = max([len(label) for _, label, _ in rows], default=0)
        lines = [f"{type(self).__name__} of {self._form.tree.game!r}"]
        lines += [f"  {p}  {label:<{width}}  {'  '.join(cells)}" for p, label, cells in rows]
        if hidden:
            lines.append(f"  … and {hidden:,} more infosets")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows, hidden = self._display_rows()
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
        The game that is played.
    probabilities : mapping from infoset to mapping from action to float
        Every infoset of every player. Omitted actions have probability 0. Rows may sum to
        1 ± 0.001, since a network's softmax in single or half precision does; they are divided
        by their sums.

    Raises
    ------
    ValueError
        If an infoset is missing or unknown, an action is unknown, or the numbers at an
        infoset are not probabilities.

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
        super().__init__(form, _to_vector(form, probabilities))

    _form: SequenceForm

    @classmethod
    def from_vector(cls, form: SequenceForm, sigma: Floats) -> Strategy:
        """Create a strategy from a vector of probabilities, shape (sequences,).

        Examples
        --------
        >>> import cfrlib as cfr
        >>> from cfrlib.core.sequence import sequence_form
        >>> form = sequence_form(cfr.games.RockPaperScissors())
        >>> round(cfr.Strategy.from_vector(form, form.uniform())["player 0"]["paper"], 3)
        0.333
        """
        self = cls.__new__(cls)
        InfosetTable.__init__(self, form, sigma)
        return self

    @classmethod
    def uniform(cls, game: Game) -> Strategy:
        """Return the profile in which all actions of an infoset are equally likely."""
        form = sequence_form(game)
        return cls.from_vector(form, form.uniform())

    @classmethod
    def random(
        cls,
        game: Game,
        seed: int | np.random.Generator | None = None,
        concentration: float = 1.0,
    ) -> Strategy:
        """Return a random profile.

        The row of every infoset is sampled from a symmetric Dirichlet distribution. Infosets
        are sampled in the order in which they first occur in the tree, level by level.

        Parameters
        ----------
        game : Game
            The game that is played.
        seed : int or numpy Generator, optional
            The same int gives the same profile. A generator advances, so that the next
            profile differs.
        concentration : float above 0
            With 1, all rows are equally likely. Rows are near uniform if it is large, near
            pure strategies if it is small.

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
        infosets, first = np.unique(tree.infoset, return_index=True)
        for I in infosets[np.argsort(first)]:
            if I >= 0:  # -1 at terminal and chance nodes
                n, start = len(tree.infoset_actions[I]), tree.infoset_start[I]
                sigma[start : start + n] = rng.dirichlet(np.full(n, concentration))
        return cls.from_vector(form, sigma)

    def replace(self, changes: Mapping[str, Mapping[Action, float]]) -> Strategy:
        """Return a copy with other probabilities at the given infosets.

        Raises
        ------
        ValueError
            If an infoset or an action is unknown, or a row is no distribution.

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
                f"no infoset {_first(unknown)} in {self._form.tree.game!r}; "
                f"it has {_first(self._form.tree.infoset_label)}"
            )
        sigma = self._values.copy()
        _write_rows(self._form, sigma, changes)
        return Strategy.from_vector(self._form, sigma)

    def max_difference(self, other: StrategyLike) -> float:
        """Return the largest difference between probabilities of the same action, 0 to 1."""
        sigma = strategy_vector(self._form, other)
        return float(np.max(np.abs(self._values - sigma), initial=0.0))

    def save(self, path: PathLike) -> None:
        """Write the strategy to `path` (npz: one array and a JSON header, no pickle).

        The array ``strategy`` holds a probability for each sequence, in the order that
        :mod:`cfrlib.core.files` describes; the header lists the infosets and actions. An
        existing file is replaced only after the new one is complete.
        """
        files.write(path, STRATEGY_FORMAT, self._form, {}, {"strategy": self._values})

    @classmethod
    def load(cls, path: PathLike, game: Game) -> Strategy:
        """Read a strategy of `game` from `path`.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        form = sequence_form(game)
        with files.reading(path, STRATEGY_FORMAT) as file:
            file.require_game(form)
            return cls.from_vector(form, file.array("strategy", (form.num_sequences,)))


class PartialStrategy(InfosetTable):
    """A strategy at the infosets that a run has visited.

    :class:`cfrlib.MCCFR` returns it for a game that is too large to compile. It reads like a
    `Strategy`, but an infoset that was not visited raises a KeyError; play there is uniform.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> options = {"sampling": "outcome", "on_demand": True, "seed": 0}
    >>> run = cfr.MCCFR(cfr.games.LiarsDice(), **options).run(100)
    >>> average = run.average
    >>> "6" in average, 100 < len(average) < 24_576  # the game has 24,576 infosets
    (True, True)
    """


class Regrets(InfosetTable):
    """Cumulative counterfactual regrets. Not a strategy: see chapter 1."""


StrategyLike: TypeAlias = Strategy | Mapping[str, Mapping[Action, float]]


def strategy_vector(form: SequenceForm, strategy: StrategyLike) -> Floats:
    """Return the probabilities of `strategy` as a vector, shape (sequences,).

    Raises
    ------
    ValueError
        If the strategy belongs to a game with other infosets or actions.
    """
    if isinstance(strategy, Strategy):
        tree, other = form.tree, strategy._form.tree
        if tree is not other and (
            tree.infoset_label != other.infoset_label
            or tree.infoset_actions != other.infoset_actions
        ):
            raise ValueError(
                f"this is a strategy of {other.game!r} with {_first(other.infoset_label)}; "
                f"{tree.game!r} has {_first(tree.infoset_label)}. "
                "Solve the game you evaluate, or evaluate the game you solved"
            )
        return strategy.values_by_sequence
    if not isinstance(strategy, Mapping):
        raise ValueError(
            f"expected a Strategy or a dict of infosets, got {type(strategy).__name__}; "
            "a solution holds its strategy as solution.strategy"
        )
    return _to_vector(form, strategy)


def _to_vector(form: SequenceForm, given: Mapping[str, Mapping[Action, float]]) -> Floats:
    """Convert a dictionary of probabilities to a vector, shape (sequences,)."""
    tree = form.tree
    extra = [label for label in given if label not in form.infoset_number]
    missing = [label for label in tree.infoset_label if label not in given]
    if extra:
        raise ValueError(
            f"{tree.game!r} has no infoset {_first(extra)}; its infosets are "
            f"{_first(tree.infoset_label)}"
        )
    if missing:
        raise ValueError(
            f"the strategy has no probabilities for {_first(missing)}; give every infoset, or "
            "start from Strategy.uniform(game).replace({...})"
        )
    sigma = np.ones(form.num_sequences)
    _write_rows(form, sigma, given)
    return sigma


def _write_rows(
    form: SequenceForm, sigma: Floats, given: Mapping[str, Mapping[Action, float]]
) -> None:
    """Write the probabilities of some infosets into a vector, shape (sequences,)."""
    tree = form.tree
    for label, row in given.items():
        I = form.infoset_number[label]
        start, actions = tree.infoset_start[I], tree.infoset_actions[I]
        sigma[start : start + len(actions)] = probability_row(label, actions, row)


def probability_row(
    infoset: str, actions: Sequence[Action], given: Mapping[Action, float]
) -> Floats:
    """Return the probabilities at an infoset in the order of `actions`; omitted ones are 0.

    Rows in single or half precision are divided by their sum. Numbers as actions may be
    written as words, since JSON turns the action 1 into "1".

    Raises
    ------
    ValueError
        If an action is unknown, or the numbers are not probabilities.

    Examples
    --------
    >>> probability_row("bid", (1, 2), {"2": 1.0})
    array([0., 1.])
    """
    unknown = [a for a in given if a not in actions]
    if unknown:
        numbers: dict[Action, Action] = {
            json.dumps(a): a for a in actions if isinstance(a, (int, float))
        }
        named = {numbers.get(a, a) if a in unknown else a: p for a, p in given.items()}
        wrong = [a for a in unknown if a not in numbers or numbers[a] in given]
        if wrong:
            raise ValueError(
                f"infoset {infoset!r} has no action {wrong[0]!r}, only {tuple(actions)!r}"
            )
        given = named
    row = np.array([given.get(a, 0.0) for a in actions], np.float64)
    probabilities = distributions(row)
    if probabilities is None:
        raise ValueError(
            f"the numbers at infoset {infoset!r} are not probabilities: "
            f"{dict(zip(actions, row.tolist(), strict=True))!r}; "
            f"each must be at least 0, and they must sum to 1, not {row.sum():.6g}"
        )
    return probabilities


def _first(labels: list[str], limit: int = 6) -> str:
    """Format the first few labels of a list."""
    head = ", ".join(repr(label) for label in labels[:limit])
    return head if len(labels) <= limit else f"{head}, … ({len(labels):,} in all)"


def _format_number(p: float) -> str:
    """Format a number with four decimals; a small one does not look like 0."""
    return f"{p:.4f}" if p == 0 or abs(p) >= 5e-5 else f"{p:.0e}"
