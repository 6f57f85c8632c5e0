"""OpenSpiel's games as games of cfrlib, and strategies out and back.

OpenSpiel calls an infoset by its *information state string* and an action by a number. Here
an infoset has a one-line label that begins with its player, ``"1: 2pb"``, and an action has
the words that OpenSpiel prints for it, ``"Bet"``. The package `pyspiel` is optional: it is
imported when one of these functions is called, never before.

OpenSpiel: Lanctot et al., *OpenSpiel: A Framework for Reinforcement Learning in Games* (2019).
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from cfrlib.core.tree import compile
from cfrlib.game import Action, Chance, Decision, Game, GameError, Node, Terminal
from cfrlib.strategy import Strategy

ADVICE = "load one with cfrlib.from_open_spiel, e.g. cfrlib.from_open_spiel('leduc_poker')"


class _History:
    """A state of OpenSpiel and, once its node was asked for, the numbers of its actions."""

    __slots__ = ("numbers", "state")

    def __init__(self, state: Any):
        self.state = state
        self.numbers: dict[Action, int] | None = None


class _Infoset(NamedTuple):
    """What both sides call an infoset and its actions."""

    label: str
    text: str  # the information state string
    legal: list[int]  # OpenSpiel's numbers of the actions …
    actions: tuple[str, ...]  # … and our words for them, in the same order
    numbers: dict[Action, int]


class OpenSpielGame(Game):
    """A game of OpenSpiel; made by :func:`from_open_spiel`.

    Parameters
    ----------
    name : str or pyspiel.Game
        As in :func:`from_open_spiel`.

    Attributes
    ----------
    pyspiel_game : pyspiel.Game
        The game in OpenSpiel, turn-based: the one to evaluate policies with.

    Notes
    -----
    The words for the actions of an infoset are those of its first history in the tree.
    """

    def __init__(self, name: Any):
        loaded = _load(name)
        self.name = name if isinstance(name, str) else str(loaded).removesuffix("()")
        self.pyspiel_game = _sequential(loaded, self.name)
        self.num_players = self.pyspiel_game.num_players()
        self._infosets: dict[tuple[int, str], _Infoset] = {}
        self._labels: dict[str, _Infoset] = {}

    def root(self) -> _History:
        """Return the empty history; histories carry a state of OpenSpiel."""
        try:
            return _History(self.pyspiel_game.new_initial_state())
        except _pyspiel().SpielError as error:
            self._failed([], error)

    def step(self, h: _History, a: Action) -> _History:
        """Return the history `h` followed by the action `a`."""
        if h.numbers is None:
            self.node(h)
        try:
            return _History(h.state.child(h.numbers[a]))  # type: ignore[index]
        except _pyspiel().SpielError as error:
            self._failed(h.state.history(), error)

    def node(self, h: _History) -> Node:
        """Say what the history `h` is: a `Chance`, a `Decision` or a `Terminal`."""
        try:
            return self._node(h)
        except _pyspiel().SpielError as error:
            self._failed(h.state.history(), error)

    def _failed(self, history: Sequence[int], error: Exception) -> NoReturn:
        """Say that it is not the rules, nor cfrlib, but OpenSpiel that fails."""
        why = " ".join(str(error).split())
        raise GameError(
            f"{self!r}, history {_beginning(str(list(history)))}: OpenSpiel itself fails here "
            f"({_beginning(why)}); choose other parameters, or another game"
        ) from error

    def _node(self, h: _History) -> Node:
        state = h.state
        player = state.current_player()
        if player >= 0:
            infoset = self._infoset(state, player)
            h.numbers = infoset.numbers
            return Decision(player, infoset.label, infoset.actions)
        if state.is_terminal():
            return Terminal(state.returns())
        legal, probabilities = zip(*state.chance_outcomes(), strict=True)
        words = _words(state, player, legal)
        h.numbers = dict(zip(words, legal, strict=True))
        return Chance(dict(zip(words, probabilities, strict=True)))

    def _infoset(self, state: Any, player: int) -> _Infoset:
        """Look up the infoset of a state, or name it and its actions."""
        text, legal = state.information_state_string(player), state.legal_actions()
        known = self._infosets.get((player, text))
        if known is not None and known.legal == legal:
            return known
        actions = tuple(_words(state, player, legal))
        numbers: dict[Action, int] = dict(zip(actions, legal, strict=True))
        if known is not None:  # not the same actions: compile says where, and stops
            return known._replace(legal=legal, actions=actions, numbers=numbers)
        label = f"{player}: {_one_line(text)}"
        if label in self._labels:  # two strings that differ by white space alone
            label = f"{player}: {text!r}"
        infoset = _Infoset(label, text, legal, actions, numbers)
        self._infosets[player, text] = self._labels[label] = infoset
        return infoset

    def state(self, actions: Iterable[Action]) -> Any:
        """Return OpenSpiel's state after these actions, given as words.

        Examples
        --------
        >>> import cfrlib as cfr
        >>> game = cfr.from_open_spiel("kuhn_poker")
        >>> print(game.state(["Deal:0", "Deal:1", "Pass"]))
        0 1 p
        """
        h = self.root()
        for a in actions:
            h = self.step(h, a)
        return h.state

    def infoset(self, label: str) -> _Infoset:
        """Return what OpenSpiel calls the infoset `label` and its actions."""
        compile(self)  # names every infoset
        return self._labels[label]

    def __repr__(self) -> str:
        return f"OpenSpielGame({self.name!r})"


def from_open_spiel(name: Any) -> OpenSpielGame:
    """Return a game of OpenSpiel as a game of cfrlib.

    Parameters
    ----------
    name : str or pyspiel.Game
        OpenSpiel's short name, with parameters if you like:
        ``"liars_dice(dice_sides=3)"``. Or a game that OpenSpiel has loaded, say from a file.

    Returns
    -------
    OpenSpielGame
        Infosets are labeled ``"player: information state string"``, on one line; actions are
        OpenSpiel's words for them. In a game of simultaneous moves the players move in turn,
        none seeing the moves of the others.

    Raises
    ------
    ImportError
        If OpenSpiel is not installed; the message says how to.
    ValueError
        If OpenSpiel cannot load the game; the message names games of similar names, or the
        parameters.
    GameError
        If the game is of a kind that has no finite tree of infosets: a mean-field game, one
        where chance is only sampled, one without information state strings. Compiling it
        raises the same if the players forget what they knew.

    Notes
    -----
    OpenSpiel has large games, too: `cfrlib.compile` stops at its limit of histories.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> cfr.compile(cfr.from_open_spiel("leduc_poker"))
    OpenSpielGame('leduc_poker'): 2 players, zero-sum, 9,457 histories (5,520 terminal),
    936 infosets
    """
    return OpenSpielGame(name)


def to_open_spiel(strategy: Strategy) -> Any:
    """Return a strategy as a policy of OpenSpiel.

    Parameters
    ----------
    strategy : Strategy
        For a game made by :func:`from_open_spiel`.

    Returns
    -------
    pyspiel.TabularPolicy
        One row for each information state string. Evaluate it with ``game.pyspiel_game``,
        which is turn-based even if the game was not.

    Raises
    ------
    ImportError
        If OpenSpiel is not installed.
    ValueError
        If the strategy is for a game of another origin; or if the game gives two players the
        same information state string, which OpenSpiel's tables cannot tell apart.

    Examples
    --------
    >>> import cfrlib as cfr, pyspiel
    >>> game = cfr.from_open_spiel("kuhn_poker")
    >>> policy = cfr.to_open_spiel(cfr.Strategy.uniform(game))
    >>> round(pyspiel.nash_conv(game.pyspiel_game, policy), 9)
    0.916666667
    """
    if not isinstance(strategy, Strategy):
        raise ValueError(
            f"expected a Strategy, got {type(strategy).__name__}; a solution holds its "
            "strategy as solution.strategy, and Strategy(game, ...) makes one of a dict"
        )
    game = strategy.game
    if not isinstance(game, OpenSpielGame):
        raise ValueError(
            f"{game!r} is not a game of OpenSpiel, so OpenSpiel has no names for its "
            f"infosets; {ADVICE}, and solve that"
        )
    table: dict[str, list[tuple[int, float]]] = {}
    for label, row in strategy.items():
        infoset = game.infoset(label)
        if infoset.text in table:
            raise ValueError(
                f"in {game!r} two players share the information state string "
                f"{infoset.text!r}, and a table of OpenSpiel has room for one; write the "
                "strategy as a policy object of your own, which is asked with the state"
            )
        table[infoset.text] = list(zip(infoset.legal, row.values(), strict=True))
    return _pyspiel().TabularPolicy(table)


def from_open_spiel_policy(game: Game, policy: Any) -> Strategy:
    """Return a policy of OpenSpiel as a strategy.

    Parameters
    ----------
    game : OpenSpielGame
        What :func:`from_open_spiel` made of the game that the policy is for.
    policy : pyspiel.Policy, open_spiel.python.policy.Policy or mapping
        OpenSpiel's policies from C++ or from Python; or for each information state string the
        pairs (action, probability). Actions left out have probability 0.

    Returns
    -------
    Strategy

    Raises
    ------
    ValueError
        If the game is not from OpenSpiel, or the policy says nothing about an infoset, names
        an action that is not legal, or gives no probabilities. The message says where.

    Notes
    -----
    A caution about OpenSpiel: ``pyspiel.CFRSolver(game).average_policy()`` points into the
    solver. Keep the solver in a variable for as long as its policy is used; in one line the
    solver is freed first, and reading the policy then ends the process.

    Examples
    --------
    >>> import cfrlib as cfr, pyspiel
    >>> game = cfr.from_open_spiel("kuhn_poker")
    >>> uniform = pyspiel.UniformRandomPolicy(game.pyspiel_game)
    >>> cfr.from_open_spiel_policy(game, uniform)["1: 2b"]
    {'Pass': 0.5, 'Bet': 0.5}
    """
    if not isinstance(game, OpenSpielGame):
        raise ValueError(f"{game!r} is not a game of OpenSpiel; {ADVICE}")
    read = _reader(game, policy)
    tree = compile(game)
    numbers, first = np.unique(tree.infoset, return_index=True)
    probabilities: dict[str, dict[Action, float]] = {}
    for I, k in zip(numbers.tolist(), first.tolist(), strict=True):
        if I < 0:
            continue
        infoset = game.infoset(tree.infoset_label[I])
        row = read(infoset, k)
        if not row:
            raise ValueError(
                f"the policy says nothing about {infoset.text!r}, where player "
                f"{tree.infoset_player[I]} acts in {game!r}; was it made for this game? "
                "OpenSpiel's policies are for game.pyspiel_game"
            )
        illegal = sorted(set(row) - set(infoset.legal))
        if illegal:
            raise ValueError(
                f"the policy gives a probability to action {illegal[0]!r} at "
                f"{infoset.text!r}, but the legal actions are "
                f"{dict(zip(infoset.legal, infoset.actions, strict=True))!r}"
            )
        probabilities[infoset.label] = {a: row.get(n, 0.0) for a, n in infoset.numbers.items()}
    return Strategy(game, probabilities)


def _reader(
    game: OpenSpielGame, policy: Any
) -> Callable[[_Infoset, int], Mapping[int, float] | None]:
    """Return how to ask `policy` about an infoset, given also its first history in the tree."""
    if isinstance(policy, Mapping):
        return lambda infoset, k: dict(policy.get(infoset.text, ()))
    if not hasattr(policy, "action_probabilities"):
        raise ValueError(
            f"expected a policy of OpenSpiel, got {type(policy).__name__}; a solver of "
            "OpenSpiel holds one as solver.average_policy(), and a dict from information "
            "state strings to pairs (action, probability) will do"
        )
    tree = compile(game)

    def ask(infoset: _Infoset, k: int) -> Mapping[int, float] | None:
        # Asked with the state, which every policy understands, not all with the string.
        try:
            row: Mapping[int, float] = policy.action_probabilities(game.state(tree.history(k)))
        except (KeyError, IndexError):  # how tables of OpenSpiel say that they have no row
            return None
        return row

    return ask


def _pyspiel() -> Any:
    """Import OpenSpiel, or say how to install it."""
    try:
        import pyspiel
    except ImportError as error:
        raise ModuleNotFoundError(
            "this needs OpenSpiel, which is not installed: pip install open-spiel",
            name="pyspiel",
        ) from error
    return pyspiel


def _register_python_games() -> None:
    """Import OpenSpiel's games in Python, which are known to it only from then on."""
    try:
        importlib.import_module("open_spiel.python.games")
    except ImportError as error:
        raise ImportError(
            f"OpenSpiel's games in Python cannot be imported ({error}); "
            "import open_spiel.python.games must work first",
            name=error.name,
        ) from error


def _load(name: Any) -> Any:
    """Return the pyspiel.Game of that name."""
    pyspiel = _pyspiel()
    if isinstance(name, pyspiel.Game):
        return name
    if not isinstance(name, str):
        raise ValueError(
            f"expected a name or a pyspiel.Game, got {type(name).__name__}; {ADVICE}"
        )
    short, bracket, _ = name.partition("(")
    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if short not in known and short.startswith("python_"):
        _register_python_games()
        known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if short not in known:
        near = difflib.get_close_matches(short, known, n=4, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "no game is named like it;"
        raise ValueError(
            f"OpenSpiel has no game {short!r}: {hint} pyspiel.registered_names() lists all"
        )
    # OpenSpiel reads up to the closing bracket and says nothing about what comes after it.
    if bracket and (not name.endswith(")") or name.count("(") != name.count(")")):
        raise ValueError(
            f"the brackets of {name!r} do not match; write name(parameter=value,...), "
            "e.g. 'liars_dice(dice_sides=3)'"
        )
    try:
        return pyspiel.load_game(name)
    except (pyspiel.SpielError, LookupError) as error:
        why = str(error).strip().split(" Available")[0].replace("\n", ", ")
        takes = known[short].parameter_specification
        parameters = ", ".join(f"{key}={value!r}" for key, value in takes.items()) or "none"
        raise ValueError(
            f"OpenSpiel cannot load {name!r} ({why}); the parameters of {short} "
            f"and their defaults: {parameters}"
        ) from error


def _sequential(game: Any, name: str) -> Any:
    """Return a game in which one player moves at a time, if it can be had and has infosets."""
    kinds = _pyspiel().GameType
    if game.get_type().dynamics == kinds.Dynamics.SIMULTANEOUS:
        game = _pyspiel().convert_to_turn_based(game)
    kind = game.get_type()
    if kind.dynamics != kinds.Dynamics.SEQUENTIAL:
        why = "is a mean-field game: its players are a crowd, and cfrlib needs single ones"
    elif kind.chance_mode == kinds.ChanceMode.SAMPLED_STOCHASTIC:
        why = "only samples its chance events, and cfrlib needs the probability of each outcome"
    elif not kind.provides_information_state_string:
        why = "has no information state strings, and cfrlib needs them to tell infosets apart"
    else:
        return game
    raise GameError(f"OpenSpiel's {name!r} {why}; choose another game")


def _words(state: Any, player: int, legal: Sequence[int]) -> list[str]:
    """Return a word for each legal action, no two the same; its number if there is none.

    A repeated word is numbered: ``"pass"``, ``"pass (2)"``.

    Raises
    ------
    GameError
        If OpenSpiel itself gives two actions the same number; its reader of EFG files does,
        if two actions of an infoset have the same name.
    """
    if len(set(legal)) < len(legal):
        raise GameError(
            f"OpenSpiel lists the legal actions {list(legal)!r} after {state.history()!r}: it "
            "takes two actions for one; give the actions different names in the game's file"
        )
    words: dict[str, None] = {}
    for action in legal:
        plain = " ".join(state.action_to_string(player, action).split()) or str(action)
        word, n = plain, 1
        while word in words:
            n += 1
            word = f"{plain} ({n})"
        words[word] = None
    return list(words)


def _beginning(text: str) -> str:
    """Return so much of a text as a message has room for."""
    return text if len(text) <= 100 else text[:100] + "…"


def _one_line(text: str) -> str:
    r"""Write an information state string on one line.

    Examples
    --------
    >>> _one_line("Hand: 1 2\nPoints: 0\n"), _one_line("")
    ('Hand: 1 2 | Points: 0', '∅')
    """
    lines = [" ".join(line.split()) for line in text.split("\n")]
    return " | ".join(line for line in lines if line) or "∅"
