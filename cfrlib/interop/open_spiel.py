"""OpenSpiel's games as games of cfrlib and the reverse, and policies in both directions.

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
from typing import Any, NoReturn

import numpy as np

from cfrlib.core.tree import Floats, check_game, compile, compiles
from cfrlib.game import Action, Chance, Decision, Game, GameError, Node, Terminal
from cfrlib.interop.names import Infoset
from cfrlib.playing.matches import BatchPolicy, Player, batch_policy
from cfrlib.solution import Solution
from cfrlib.strategy import Strategy, probability_row

ADVICE = "load one with cfrlib.from_open_spiel, e.g. cfrlib.from_open_spiel('leduc_poker')"


class _History:
    """State of OpenSpiel and, after the first call of `node`, the integers of its actions."""

    __slots__ = ("numbers", "state")

    def __init__(self, state: Any):
        self.state = state
        self.numbers: dict[Action, int] | None = None


class _DecisionAt(Decision):
    """A decision, and the state of OpenSpiel it belongs to."""

    __slots__ = ("state",)

    def __init__(self, state: Any, infoset: Infoset, player: int):
        super().__init__(player, infoset.label, infoset.actions)
        self.state = state


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
        self._infosets: dict[tuple[int, str], Infoset] = {}
        self._labels: dict[str, Infoset] = {}

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
            return _DecisionAt(state, infoset, player)
        if state.is_terminal():
            return Terminal(state.returns())
        legal, probabilities = zip(*state.chance_outcomes(), strict=True)
        names = _action_names(state, player, legal)
        h.numbers = dict(zip(names, legal, strict=True))
        return Chance(dict(zip(names, probabilities, strict=True)))

    def _infoset(self, state: Any, player: int) -> Infoset:
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
        infoset = Infoset(label, text, legal, actions, numbers)
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

    def infoset(self, label: str) -> Infoset:
        """Return the identifiers of the infoset `label` and its actions."""
        compile(self)  # creates all infosets
        return self._labels[label]

    def decision(self, state: Any) -> tuple[Decision, Infoset]:
        """Return the decision at a state, and the identifiers of its infoset."""
        node: Any = self.node(_History(state))
        return node, self._labels[node.infoset]

    def state_of(self, node: Decision) -> Any:
        """Return the state that `node` belongs to."""
        return node.state  # type: ignore[attr-defined]

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


def to_open_spiel(
    what: Game | Strategy | Player,
    game: Game | None = None,
    *,
    actions: Sequence[Action] | None = None,
) -> Any:
    """Convert a game to a game of OpenSpiel, or a strategy to a policy of that game.

    Parameters
    ----------
    what : Game, Strategy, or another player of :func:`simulate`
        A player is a strategy; a dictionary of infosets, uniform at the others; or a function
        of decisions, such as a :class:`cfrlib.deep.Policy` of one network for each player.
    game : Game, optional
        The game of a player that does not know it: of a dictionary, or a function.
    actions : sequence of actions, optional
        All actions of the players of a game that is too large to compile; by default those
        that occur in a thousand random games.

    Returns
    -------
    pyspiel.Game, pyspiel.TabularPolicy or open_spiel.python.policy.Policy
        A game becomes a `pyspiel.Game`, always the same object; OpenSpiel's algorithms in
        Python and in C++ accept it. A `Strategy` becomes a `pyspiel.TabularPolicy`, and any
        other player a policy in Python, for which the game need not compile.

    Raises
    ------
    ImportError
        If OpenSpiel is not installed.
    ValueError
        If the game is missing, or if two players share an information state string, which a
        tabular policy cannot distinguish.

    Notes
    -----
    Information state strings are the labels of infosets, and actions have their names. An
    action has the same number wherever it is legal. At histories where they do not act,
    players know their last infoset and their action there. Tensors encode the words of the
    label by position, as :func:`cfrlib.deep.encode` does, or the game's method ``features``.
    Observations are information states.

    Of a game that does not compile, `pyspiel` learns from random games whether its payoffs sum
    to zero; infinities bound its payoffs.

    A game of :func:`from_open_spiel` becomes the game of OpenSpiel that it was, in its
    turn-based form.

    Examples
    --------
    >>> import cfrlib as cfr, pyspiel
    >>> game = cfr.games.KuhnPoker()
    >>> theirs = cfr.to_open_spiel(game)
    >>> state = theirs.new_initial_state().child(0)
    >>> state.information_state_string(), [state.action_to_string(a) for a in (0, 1)]
    ('J', ['check', 'bet'])
    >>> policy = cfr.to_open_spiel(cfr.Strategy.uniform(game))
    >>> round(pyspiel.nash_conv(theirs, policy), 9)
    0.916666667
    """
    _pyspiel()
    if isinstance(what, Game):
        return _translator(what, actions).pyspiel_game
    if game is None:
        game = getattr(what, "game", None)
    if isinstance(what, Solution) or not isinstance(game, Game):
        raise ValueError(
            f"expected a game or a Strategy, got {type(what).__name__}; use solution.strategy "
            "of a solution, and to_open_spiel(player, game) for a dict or a function"
        )
    translator = _translator(game, actions)
    if isinstance(what, Strategy):
        return _tabular_policy(what, translator)
    from cfrlib.interop.adapter import AdaptedPolicy

    return AdaptedPolicy(translator, batch_policy(what))


def _translator(game: Game, actions: Sequence[Action] | None = None) -> Any:
    """Return what translates between a game and its form in OpenSpiel."""
    check_game(game)
    if isinstance(game, OpenSpielGame):
        return game
    _pyspiel()
    from cfrlib.interop.adapter import adapted

    return adapted(game) if actions is None else adapted(game, tuple(actions))


def _tabular_policy(strategy: Strategy, translator: Any) -> Any:
    """Return a policy with one row per information state string."""
    table: dict[str, list[tuple[int, float]]] = {}
    for label, row in strategy.items():
        infoset = translator.infoset(label)
        if infoset.text in table:
            raise ValueError(
                f"in {strategy.game!r} two players share the information state string "
                f"{infoset.text!r}, which a tabular policy of OpenSpiel cannot distinguish; "
                "give to_open_spiel(dict(strategy), game) instead, a policy in Python"
            )
        table[infoset.text] = sorted(zip(infoset.legal, row.values(), strict=True))
    return _pyspiel().TabularPolicy(table)


def from_open_spiel_policy(game: Game, policy: Any) -> Strategy | BatchPolicy:
    """Convert an OpenSpiel policy to a strategy, or to a player of :func:`simulate`.

    Parameters
    ----------
    game : Game
        The game of the policy, loaded by :func:`from_open_spiel` or converted by
        :func:`to_open_spiel`.
    policy : pyspiel.Policy, open_spiel.python.policy.Policy, function, mapping or sequence
        A C++ or Python policy, or its method ``action_probabilities``; a mapping from
        information state string to pairs (action, probability); or a sequence with one of
        these for each player. Missing actions have probability 0. Numbers in single or half
        precision are divided by their sum.

    Returns
    -------
    Strategy or function
        A strategy of a game that compiles. For a larger game a function, which asks the policy
        at the infosets that `simulate` visits. It gives the policy a state that holds what the
        player knows, but not the history.

    Raises
    ------
    ValueError
        If the policy has no entry for an infoset, contains an illegal action, or is not a
        distribution. The message gives the infoset.

    Notes
    -----
    A pitfall of OpenSpiel: the policy returned by ``pyspiel.CFRSolver(game).average_policy()``
    points into the solver, and this expression frees the solver, so that reading the policy
    crashes the process. Keep the solver in a variable while its policy is in use.

    Examples
    --------
    >>> import cfrlib as cfr, pyspiel
    >>> game = cfr.games.KuhnPoker()
    >>> uniform = pyspiel.UniformRandomPolicy(cfr.to_open_spiel(game))
    >>> cfr.from_open_spiel_policy(game, uniform)["Q bet"]
    {'fold': 0.5, 'call': 0.5}
    """
    translator = _translator(game)
    lookup = _policy_lookup(game, policy)

    def row(infoset: Infoset, player: int, state: Any) -> dict[Action, float]:
        given = lookup(infoset, player, state)
        if not given:
            raise ValueError(
                f"the policy has no entry for {infoset.text!r}, where player {player} acts in "
                f"{game!r}; it must be a policy for cfrlib.to_open_spiel(game), or a list with "
                "one policy per player"
            )
        illegal = sorted(set(given) - set(infoset.legal))
        if illegal:
            raise ValueError(
                f"the policy has a probability for action {illegal[0]!r} at "
                f"{infoset.text!r}, but the legal actions are "
                f"{dict(zip(infoset.legal, infoset.actions, strict=True))!r}"
            )
        return {a: given.get(n, 0.0) for a, n in infoset.numbers.items()}

    if compiles(game):
        tree = compile(game)
        numbers, first = np.unique(tree.infoset, return_index=True)
        probabilities: dict[str, dict[Action, float]] = {}
        for I, k in zip(numbers.tolist(), first.tolist(), strict=True):
            if I >= 0:
                infoset = translator.infoset(tree.infoset_label[I])
                state = translator.state(tree.history(k))
                probabilities[infoset.label] = row(infoset, int(tree.infoset_player[I]), state)
        return Strategy(game, probabilities)

    def player(nodes: Sequence[Decision], uniforms: Floats) -> Floats:
        sigma = np.zeros((len(nodes), max(len(node.actions) for node in nodes)))
        for n, node in enumerate(nodes):
            state = translator.state_of(node)
            given = row(translator.decision(state)[1], node.player, state)
            sigma[n, : len(node.actions)] = probability_row(node.infoset, node.actions, given)
        return sigma

    return player


def _policy_lookup(
    game: Game, policy: Any
) -> Callable[[Infoset, int, Any], Mapping[int, float] | None]:
    """Return a function from an infoset, its player and a state to a row of the policy."""
    if isinstance(policy, Mapping):
        return lambda infoset, player, state: dict(policy.get(infoset.text, ()))
    if isinstance(policy, Sequence) and len(policy) == game.num_players:
        seats = [_policy_lookup(game, own) for own in policy]
        return lambda infoset, player, state: seats[player](infoset, player, state)
    ask = getattr(policy, "action_probabilities", policy)
    if not callable(ask):
        raise ValueError(
            f"expected a policy of OpenSpiel, got {type(policy).__name__}; use "
            "solver.average_policy() of an OpenSpiel solver, a dict from information state "
            "strings to pairs (action, probability), or a list with one policy per player"
        )

    def lookup(infoset: Infoset, player: int, state: Any) -> Mapping[int, float] | None:
        # Every policy accepts a state, but not every policy an information state string.
        try:
            return dict(ask(state))
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
