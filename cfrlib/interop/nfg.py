"""Read and write Gambit's normal-form game files (.nfg).

A file lists the players, their strategies, and payoffs for each profile of strategies; the
first player's strategy changes fastest. In the payoff version the numbers follow directly, one
for each player; in the outcome version, outcomes with payoffs come first, and each profile
refers to one of them by its position, or to none by 0. The same game twice::

    NFG 1 R "chicken" { "Ann" "Bob" }      NFG 1 R "chicken" { "Ann" "Bob" }
    { { "yield" "go" } { "yield" "go" } }  { { "yield" "go" } { "yield" "go" } }
                                           { { "crash" -9, -9 } { "" 1, -1 } { "" -1, 1 } }
    0 0  1 -1                              0 2
    -1 1  -9 -9                            3 1

Format: The Gambit Project, *The strategic game (.nfg) file format*, Gambit manual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import overload

import numpy as np

from cfrlib.core.files import PathLike
from cfrlib.core.tree import TERMINAL, Floats, Tree, compile
from cfrlib.game import Decision, Game, GameError, History, Node, Terminal, action_label
from cfrlib.interop.savefile import (
    SavedGame,
    Tokens,
    labels,
    number_text,
    opening,
    quoted,
    saved,
    unique,
)


class NfgError(GameError):
    """Raised if a file is not in Gambit's .nfg format; the message gives line and column.

    Examples
    --------
    >>> read_nfg("NFG 1 R")
    Traceback (most recent call last):
    ...
    cfrlib.interop.nfg.NfgError: text, line 1, column 8: expected the title of the game in
    quotes, found the end of the file
    """


class NormalFormGame(SavedGame):
    """Game read from an .nfg file by :func:`read_nfg`.

    The players move in turn, and none of them sees a move. A player's only infoset has the
    player's name.

    Attributes
    ----------
    title, comment : str
        From the header.
    player_names : tuple of str
        From the header, in order, made unique.
    strategies : tuple of tuples of str
        The names of each player's strategies.
    payoffs : float array, shape (strategies of player 0, of player 1, …, players)
        The payoffs of each profile.
    """

    def __init__(
        self,
        title: str,
        comment: str,
        player_names: Sequence[str],
        strategies: Sequence[Sequence[str]],
        payoffs: Floats,
    ):
        super().__init__(title, comment, player_names)
        self.strategies = tuple(map(tuple, strategies))
        self.payoffs = payoffs
        self._numbers = [{name: n for n, name in enumerate(own)} for own in self.strategies]

    def node(self, h: History) -> Node:
        """Return the node at history `h`: the strategies chosen so far."""
        if len(h) < self.num_players:
            return Decision(len(h), self.player_names[len(h)], self.strategies[len(h)])
        profile = tuple(number[name] for number, name in zip(self._numbers, h, strict=True))
        return Terminal(self.payoffs[profile].tolist())


def read_nfg(source: PathLike) -> NormalFormGame:
    """Read a game from a file in Gambit's normal form, in the payoff or the outcome version.

    Simultaneous moves become moves in turn that nobody sees: player 0 moves first, and each
    player has one infoset, labeled by the player's name. Names are made unique as by
    :func:`read_efg`.

    Parameters
    ----------
    source : str or path
        A path, or the text itself: a string that starts with ``NFG`` (or the first word of
        another Gambit format) or has several lines.

    Returns
    -------
    NormalFormGame

    Raises
    ------
    NfgError
        If the text is not in the format; the message gives line and column, counted from 1,
        and what was expected there.
    OSError
        If the file cannot be read.

    Notes
    -----
    Format: Gambit manual, *The strategic game (.nfg) file format*.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.read_nfg('''
    ... NFG 1 R "inspection" { "visitor" "inspector" } { { "pay" "ride" } { "rest" "check" } }
    ... -1 1  0 0
    ... -1 0  -3 2
    ... ''')
    >>> game.payoffs[1, 0].tolist()  # ride, rest
    [0.0, 0.0]
    >>> cfr.compile(game)
    NormalFormGame('inspection'): 2 players, general-sum, 7 histories (4 terminal), 2 infosets
    """
    return _NfgReader(source).game()


class _NfgReader(Tokens):
    """Parser of both versions."""

    ERROR, FORMAT = NfgError, "NFG"

    def game(self) -> NormalFormGame:
        """Read the whole file."""
        title = self.header("1", "a normal-form game file")
        self.players = self.player_names()
        strategies = self.strategy_names()
        comment = self.comment()
        shape = [len(own) for own in strategies]
        row = self.row_of_outcome(self.outcomes()) if self.at_mark("{") else self.row
        rows = np.array([row(f"profile {n + 1} of {prod(shape)}") for n in range(prod(shape))])
        if self.kind != "end":
            self.expected("the end of the file after the last profile")
        tables = [column.reshape(shape, order="F") for column in rows.T]
        return NormalFormGame(title, comment, self.players, strategies, np.stack(tables, -1))

    def row(self, profile: str) -> list[float]:
        """Read the payoffs of one profile."""
        return [
            float(self.number(f"a number, the payoff of {quoted(player)} in {profile}"))
            for player in self.players
        ]

    def outcomes(self) -> list[list[float]]:
        """Read the payoffs of all outcomes, in braces; before them, put those of no outcome."""
        self.advance()
        table = [[0.0] * len(self.players)]
        while not self.at_mark("}"):
            self.mark("{", "'{' and an outcome, or '}' after the last one")
            if self.kind == "text":
                self.string("the name of the outcome")
            table.append([float(u) for u in self.payoffs(self.players)])
        self.advance()
        return table

    def row_of_outcome(self, table: list[list[float]]) -> Callable[[str], list[float]]:
        """Return a function that reads the number of an outcome and returns its payoffs."""

        def row(profile: str) -> list[float]:
            at = self.at
            number = self.whole(f"the number of the outcome of {profile} (0 for none)")
            if number >= len(table):
                self.fail(f"there is no outcome {number}, only 1 to {len(table) - 1}", at)
            return table[number]

        return row

    def strategy_names(self) -> list[list[str]]:
        """Read the names of each player's strategies in braces, or only their numbers."""
        self.mark("{", "'{' and the strategies after the names of the players")
        strategies = []
        named = self.at_mark("{")
        for player in map(quoted, self.players):
            at = self.at
            if named:
                self.mark("{", f"'{{' and the names of the strategies of {player}")
                given = []
                while not self.at_mark("}"):
                    given.append(self.string(f"a strategy of {player} in quotes or '}}'"))
                self.advance()
            else:
                count = self.whole(f"the number of strategies of {player}")
                if count > len(self.text):  # each needs a payoff
                    self.fail(f"{count} strategies, but the file is shorter", at)
                given = [""] * count
            if not given:
                self.fail(f"{player} has no strategies; each player needs at least one", at)
            strategies.append(unique(given, [str(n + 1) for n in range(len(given))]))
        self.mark("}", "'}' after the strategies of the last player")
        if prod(map(len, strategies)) > len(self.text):
            self.fail("the file is shorter than the number of profiles of strategies")
        return strategies


@overload
def write_nfg(game: Game, path: None = None, *, title: str | None = None) -> str: ...


@overload
def write_nfg(game: Game, path: PathLike, *, title: str | None = None) -> None: ...


def write_nfg(
    game: Game, path: PathLike | None = None, *, title: str | None = None
) -> str | None:
    """Write a game in which each player decides once in Gambit's normal form.

    Parameters
    ----------
    game : Game
        A game with at most one infoset for each player. If chance moves, expected payoffs are
        written.
    path : str or path, optional
        The file to write. An existing file is replaced only when the new one is complete. By
        default the text is returned.
    title : str, optional
        Title in the header; by default that of the file the game was read from, or its repr.

    Returns
    -------
    str or None
        The text, in the payoff version, if `path` is None.

    Raises
    ------
    GameError
        If the game does not compile, or a player has several infosets.

    Notes
    -----
    Format: Gambit manual, *The strategic game (.nfg) file format*. The players are named like
    their infosets, unless the game was read from a file. Labels and numbers are written as by
    :func:`write_efg`. OpenSpiel's ``load_nfg_game`` reads only files without names of
    strategies and without a comment, so names that are just 1, 2, … are left out. For others
    use :func:`write_efg` and ``load_efg_game``, which keep the names.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> print(cfr.write_nfg(cfr.games.MatrixGame([[1 / 3, 0]]), title="choose"))
    NFG 1 R "choose" { "player 0" "player 1" }
    { { "row 0" } { "column 0" "column 1" } }
    <BLANKLINE>
    1/3 -1/3
    0 0
    <BLANKLINE>
    """
    return saved(_text_of(compile(game), title), path)


def _text_of(tree: Tree, title: str | None) -> str:
    """Return the text of a file."""
    names = [""] * tree.num_players
    strategies = [["1"] for _ in names]  # of a player who never acts
    for i, label, actions in zip(
        tree.infoset_player, tree.infoset_label, tree.infoset_actions, strict=True
    ):
        names[i], strategies[i] = label, [action_label(a) for a in actions]
    header, comment = opening("NFG 1 R", tree.game, title, names)
    numbers = [[str(n + 1) for n in range(len(own))] for own in strategies]
    each = [str(len(own)) for own in strategies]
    if strategies != numbers:
        pairs = zip(strategies, numbers, strict=True)
        each = [f"{{ {' '.join(labels(own, plain))} }}" for own, plain in pairs]
    lines = [header, f"{{ {' '.join(each)} }}", *comment, ""]
    payoffs = _payoffs(tree, [len(own) for own in strategies])
    rows = payoffs.reshape(-1, len(strategies), order="F").tolist()
    return "\n".join([*lines, *(" ".join(map(number_text, row)) for row in rows), ""])


def _payoffs(tree: Tree, shape: list[int]) -> Floats:
    """Return the expected payoffs of each profile, shape (actions of each player, players)."""
    for i, label in zip(tree.infoset_player, tree.infoset_label, strict=True):
        others = tree.player_infosets[i + 1] - tree.player_infosets[i]
        if others > 1:
            raise GameError(
                f"{tree.game!r} is no normal form: player {i} has {others} infosets, "
                f"{label!r} among them; write its tree with cfrlib.write_efg, from which "
                "Gambit computes a normal form"
            )
    payoffs = np.zeros((*shape, len(shape)))
    for k in np.flatnonzero(tree.player == TERMINAL):
        own = tree.sequence[k] - tree.player_sequences[:-1] - 1  # -1: the player has not acted
        cells = tuple(slice(None) if n < 0 else int(n) for n in own)
        payoffs[cells] += tree.chance_reach[k] * tree.utility[k]
    return payoffs
