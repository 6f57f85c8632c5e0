"""OpenSpiel's games as games of cfrlib, and conversion of policies in both directions.

OpenSpiel identifies an infoset by its *information state string* and an action by an integer.
Here an infoset has a one-line label that begins with its player, ``"1: 2pb"``, and an action
has the name that OpenSpiel prints for it, ``"Bet"``. The package `pyspiel` is optional; it is
imported on the first call of one of these functions.

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
    """State of OpenSpiel and, after the first call of `node`, the integers of its actions."""

    __slots__ = ("numbers", "state")

    def __init__(self, state: Any):
        self.state = state
        self.numbers: dict[Action, int] | None = None


class _Infoset(NamedTuple):
    """Identifiers of an infoset and its actions in cfrlib and in OpenSpiel."""

    label: str
    text: str  # the information state string
    legal: list[int]  # legal actions in OpenSpiel …
    actions: tuple[str, ...]  # … and their names, in the same order
    numbers: dict[Action, int]  # from name to OpenSpiel's integer


class OpenSpielGame(Game):
    """Game of OpenSpiel, loaded by :func:`from_open_spiel`.

    Parameters
    ----------
    name : str or pyspiel.Game
        As in :func:`from_open_spiel`.

    Attributes
    ----------
    pyspiel_game : pyspiel.Game
        The turn-based game in OpenSpiel; evaluate policies with this one.

    Notes
    -----
    The names of the actions of an infoset are those of its first history in the tree.
    """

    def __init__(self, name: Any):
        loaded = _load(name)
        self.name = name if isinstance(name, str) else str(loaded).removesuffix("()")
        self.pyspiel_game = _sequential(loaded, self.name)
        self.num_players = self.pyspiel_game.num_players()
        self._infosets: dict[tuple[int, str], _Infoset] = {}
        self._labels: dict[str, _Infoset] = {}

    def root(self) -> _History:
        """Return the empty history; a history holds a state of OpenSpiel."""
        try:
            return _History(self.pyspiel_game.new_initial_state())
        except _pyspiel().SpielError as error:
            self._failed([], error)

    def step(self, h: _History, a: Action) -> _History:
        """Return history `h` followed by action `a`."""
        if h.numbers is None:
            self.node(h)
        try:
            return _History(h.state.child(h.numbers[a]))  # type: ignore[index]
        except _pyspiel().SpielError as error:
            self._failed(h.state.history(), error)

    def node(self, h: _History) -> Node:
        """Return the node at history `h`."""
        try:
            return self._node(h)
        except _pyspiel().SpielError as error:
            self._failed(h.state.history(), error)

    def _failed(self, history: Sequence[int], error: Exception) -> NoReturn:
        """Raise a GameError which makes clear that the error comes from OpenSpiel."""
        why = " ".join(str(error).split())
        raise GameError(
            f"{self!r}, history {_truncated(str(list(history)))}: OpenSpiel itself fails here "
            f"({_truncated(why)}); choose other parameters, or another game"
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
        names = _action_names(state, player, legal)
        h.numbers = dict(zip(names, legal, strict=True))
        return Chance(dict(zip(names, probabilities, strict=True)))

    def _infoset(self, state: Any, player: int) -> _Infoset:
        """Return the infoset of a state; on the first visit, name it and its actions."""
        text, legal = state.information_state_string(player), state.legal_actions()
        known = self._infosets.get((player, text))
        if known is not None and known.legal == legal:
            return known
        actions = tuple(_action_names(state, player, legal))
        numbers: dict[Action, int] = dict(zip(actions, legal, strict=True))
        if known is not None:  # other legal actions than before: compile raises
            return known._replace(legal=legal, actions=actions, numbers=numbers)
        label = f"{player}: {_one_line(text)}"
        if label in self._labels:  # two strings differ only in white space
            label = f"{player}: {text!r}"
        infoset = _Infoset(label, text, legal, actions, numbers)
        self._infosets[player, text] = self._labels[label] = infoset
        return infoset

    def state(self, actions: Iterable[Action]) -> Any:
        """Return OpenSpiel's state after these actions.

        Parameters
        ----------
        actions : iterable of actions
            Their names, from the root.

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
        """Return the identifiers of the infoset `label` and its actions."""
        compile(self)  # creates all infosets
        return self._labels[label]

    def __repr__(self) -> str:
        return f"OpenSpielGame({self.name!r})"


def from_open_spiel(name: Any) -> OpenSpielGame:
    """Load a game of OpenSpiel as a game of cfrlib.

    Parameters
    ----------
    name : str or pyspiel.Game
        OpenSpiel's short name, optionally with parameters, ``"liars_dice(dice_sides=3)"``; or
        a game already loaded by OpenSpiel, e.g. from a file.

    Returns
    -------
    OpenSpielGame
        Infosets are labeled ``"player: information state string"`` on one line; actions have
        OpenSpiel's names. In a game with simultaneous moves the players move in turn without
        seeing each other's moves.

    Raises
    ------
    ImportError
        If OpenSpiel is not installed; the message contains the command to install it.
    ValueError
        If OpenSpiel cannot load the game; the message lists games with similar names, or the
        parameters.
    GameError
        If the game has no finite tree of infosets: mean-field games, games with sampled chance
        outcomes, games without information state strings. `cfrlib.compile` raises it for
        games with imperfect recall.

    Notes
    -----
    Many of OpenSpiel's games are too large for `cfrlib.compile`, which raises a GameError at
    its limit of histories.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> cfr.compile(cfr.from_open_spiel("leduc_poker"))
    OpenSpielGame('leduc_poker'): 2 players, zero-sum, 9,457 histories (5,520 terminal),
    936 infosets
    """
    return OpenSpielGame(name)


def to_open_spiel(strategy: Strategy) -> Any:
    """Convert a strategy to an OpenSpiel policy.

    Parameters
    ----------
    strategy : Strategy
        Strategy of a game returned by :func:`from_open_spiel`.

    Returns
    -------
    pyspiel.TabularPolicy
        One row per information state string. Evaluate it with ``game.pyspiel_game``, which is
        turn-based even if the original game is not.

    Raises
    ------
    ImportError
        If OpenSpiel is not installed.
    ValueError
        If the game of the strategy does not come from OpenSpiel, or if two of its players
        share an information state string, which a tabular policy cannot distinguish.

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
            f"expected a Strategy, got {type(strategy).__name__}; use solution.strategy of a "
            "solution, or Strategy(game, ...) to create one from a dict"
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
                f"{infoset.text!r}, which a tabular policy of OpenSpiel cannot distinguish; "
                "write a policy class of your own whose action_probabilities takes the state"
            )
        table[infoset.text] = list(zip(infoset.legal, row.values(), strict=True))
    return _pyspiel().TabularPolicy(table)


def from_open_spiel_policy(game: Game, policy: Any) -> Strategy:
    """Convert an OpenSpiel policy to a strategy.

    Parameters
    ----------
    game : OpenSpielGame
        The game of the policy, loaded by :func:`from_open_spiel`.
    policy : pyspiel.Policy, open_spiel.python.policy.Policy, function, mapping or sequence
        A C++ or Python policy, or its method ``action_probabilities``; a mapping from
        information state string to pairs (action, probability); or a sequence with one of
        these for each player. Missing actions have probability 0. Numbers in single or half
        precision are divided by their sum.

    Returns
    -------
    Strategy

    Raises
    ------
    ValueError
        If the game is not from OpenSpiel, or the policy has no entry for an infoset, contains
        an illegal action, or is not a distribution. The message gives the infoset.

    Notes
    -----
    A pitfall of OpenSpiel: the policy returned by ``pyspiel.CFRSolver(game).average_policy()``
    points into the solver, and this expression frees the solver, so that reading the policy
    crashes the process. Keep the solver in a variable while its policy is in use.

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
    lookup = _policy_lookup(game, policy)
    tree = compile(game)
    numbers, first = np.unique(tree.infoset, return_index=True)
    probabilities: dict[str, dict[Action, float]] = {}
    for I, k in zip(numbers.tolist(), first.tolist(), strict=True):
        if I < 0:
            continue
        infoset = game.infoset(tree.infoset_label[I])
        row = lookup(infoset, k)
        if not row:
            raise ValueError(
                f"the policy has no entry for {infoset.text!r}, where player "
                f"{tree.infoset_player[I]} acts in {game!r}; it must be a policy for "
                "game.pyspiel_game, or a list with one policy per player"
            )
        illegal = sorted(set(row) - set(infoset.legal))
        if illegal:
            raise ValueError(
                f"the policy has a probability for action {illegal[0]!r} at "
                f"{infoset.text!r}, but the legal actions are "
                f"{dict(zip(infoset.legal, infoset.actions, strict=True))!r}"
            )
        probabilities[infoset.label] = {a: row.get(n, 0.0) for a, n in infoset.numbers.items()}
    return Strategy(game, probabilities)


def _policy_lookup(
    game: OpenSpielGame, policy: Any
) -> Callable[[_Infoset, int], Mapping[int, float] | None]:
    """Return a function from an infoset and the index of its first history to a policy row."""
    tree = compile(game)
    if isinstance(policy, Mapping):
        return lambda infoset, k: dict(policy.get(infoset.text, ()))
    if isinstance(policy, Sequence) and len(policy) == game.num_players:
        seats = [_policy_lookup(game, own) for own in policy]
        return lambda infoset, k: seats[tree.player[k]](infoset, k)
    ask = getattr(policy, "action_probabilities", policy)
    if not callable(ask):
        raise ValueError(
            f"expected a policy of OpenSpiel, got {type(policy).__name__}; use "
            "solver.average_policy() of an OpenSpiel solver, a dict from information state "
            "strings to pairs (action, probability), or a list with one policy per player"
        )

    def lookup(infoset: _Infoset, k: int) -> Mapping[int, float] | None:
        # Every policy accepts a state, but not every policy an information state string.
        try:
            return dict(ask(game.state(tree.history(k))))
        except (KeyError, IndexError):  # raised by tabular policies without a row
            return None

    return lookup


def _pyspiel() -> Any:
    """Import OpenSpiel; raise an ImportError with the command to install it."""
    try:
        import pyspiel
    except ImportError as error:
        raise ModuleNotFoundError(
            "this needs OpenSpiel, which is not installed: pip install open-spiel",
            name="pyspiel",
        ) from error
    return pyspiel


def _register_python_games() -> None:
    """Import OpenSpiel's games written in Python, which registers them."""
    try:
        importlib.import_module("open_spiel.python.games")
    except ImportError as error:
        raise ImportError(
            f"OpenSpiel's games written in Python cannot be imported ({error}); "
            "fix `import open_spiel.python.games` first",
            name=error.name,
        ) from error


def _load(name: Any) -> Any:
    """Return the pyspiel.Game with this name."""
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
        hint = f"did you mean {' or '.join(near)}?" if near else "no name is similar;"
        raise ValueError(
            f"OpenSpiel has no game {short!r}: {hint} pyspiel.registered_names() lists all"
        )
    # OpenSpiel ignores everything after the closing bracket.
    if bracket and (not name.endswith(")") or name.count("(") != name.count(")")):
        raise ValueError(
            f"the brackets of {name!r} do not match; write name(parameter=value,...), "
            "e.g. 'liars_dice(dice_sides=3)'"
        )
    try:
        return pyspiel.load_game(name)
    except (pyspiel.SpielError, LookupError) as error:
        why = str(error).strip().split(" Available")[0].replace("\n", ", ")
        defaults = known[short].parameter_specification
        parameters = ", ".join(f"{key}={value!r}" for key, value in defaults.items()) or "none"
        raise ValueError(
            f"OpenSpiel cannot load {name!r} ({why}); the parameters of {short} "
            f"and their defaults: {parameters}"
        ) from error


def _sequential(game: Any, name: str) -> Any:
    """Return the game in turn-based form; raise a GameError if cfrlib cannot represent it."""
    kinds = _pyspiel().GameType
    if game.get_type().dynamics == kinds.Dynamics.SIMULTANEOUS:
        game = _pyspiel().convert_to_turn_based(game)
    kind = game.get_type()
    if kind.dynamics != kinds.Dynamics.SEQUENTIAL:
        why = "is a mean-field game, and cfrlib needs a finite number of players"
    elif kind.chance_mode == kinds.ChanceMode.SAMPLED_STOCHASTIC:
        why = "samples its chance outcomes, and cfrlib needs the probability of each outcome"
    elif not kind.provides_information_state_string:
        why = "has no information state strings, and cfrlib needs them to identify infosets"
    else:
        return game
    raise GameError(f"OpenSpiel's {name!r} {why}; choose another game")


def _action_names(state: Any, player: int, legal: Sequence[int]) -> list[str]:
    """Return unique names of the legal actions; an action without a name gets its integer.

    Repeated names are numbered: ``"pass"``, ``"pass (2)"``.

    Raises
    ------
    GameError
        If OpenSpiel gives two actions the same integer. Its reader of EFG files does so if two
        actions of an infoset have the same name.
    """
    if len(set(legal)) < len(legal):
        raise GameError(
            f"OpenSpiel lists the legal actions {list(legal)!r} after {state.history()!r}, two "
            "of them with the same number; give the actions different names in the game's file"
        )
    names: dict[str, None] = {}
    for action in legal:
        plain = " ".join(state.action_to_string(player, action).split()) or str(action)
        name, n = plain, 1
        while name in names:
            n += 1
            name = f"{plain} ({n})"
        names[name] = None
    return list(names)


def _truncated(text: str) -> str:
    """Return the first 100 characters of a text, for an error message."""
    return text if len(text) <= 100 else text[:100] + "…"


def _one_line(text: str) -> str:
    r"""Return an information state string on one line.

    Examples
    --------
    >>> _one_line("Hand: 1 2\nPoints: 0\n"), _one_line("")
    ('Hand: 1 2 | Points: 0', '∅')
    """
    lines = [" ".join(line.split()) for line in text.split("\n")]
    return " | ".join(line for line in lines if line) or "∅"
