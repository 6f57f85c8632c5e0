"""The formal definition of an extensive-form game, as one method.

A *history* is the tuple of all actions so far, as recorded by someone who sees
all cards. :meth:`Game.node` maps it to a chance event, a decision of some
player, or the end of the game. Nothing else is needed.

Definition after Osborne & Rubinstein, *A Course in Game Theory* (1994), §11.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Action: TypeAlias = Hashable
History: TypeAlias = Any  # a tuple of actions, unless the game overrides root() and step()


class GameError(ValueError):
    """The rules of a game contradict themselves; the message names the history and a fix.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> class Coin(Game):
    ...     def node(self, h):
    ...         return Terminal((1, -1)) if h else Chance({"heads": 0.5, "tails": 0.4})
    >>> cfr.compile(Coin())
    Traceback (most recent call last):
    ...
    cfrlib.game.GameError: Coin(), history (): chance probabilities sum to 0.9, not 1; divide
    each by their sum, or add the missing outcome
    """


class Chance:
    """A node where chance acts.

    Parameters
    ----------
    probabilities : mapping from action to float
        The publicly known distribution f_c(· | h): nonnegative numbers that sum to 1.

    Examples
    --------
    >>> Chance({"heads": 0.5, "tails": 0.5})
    Chance({'heads': 0.5, 'tails': 0.5})
    """

    __slots__ = ("probabilities",)

    def __init__(self, probabilities: Mapping[Action, float]):
        self.probabilities = probabilities

    @property
    def actions(self) -> tuple[Action, ...]:
        """The possible outcomes."""
        return tuple(self.probabilities)

    def __repr__(self) -> str:
        return f"Chance({dict(self.probabilities)!r})"


class Decision:
    """A node where a player chooses.

    Parameters
    ----------
    player : int
        The acting player: 0, 1, …
    infoset : str
        What this player knows (OpenSpiel's information state string), as a readable label,
        e.g. ``"Q check-bet"``. Histories with
        the same label are indistinguishable to the player. No two players share a label.
    actions : sequence of actions
        The legal actions, equal (and in equal order) at every history of the infoset.

    Examples
    --------
    >>> Decision(0, "Q check-bet", ("fold", "call"))
    Decision(0, 'Q check-bet', ('fold', 'call'))
    """

    __slots__ = ("actions", "infoset", "player")

    def __init__(self, player: int, infoset: str, actions: Sequence[Action]):
        self.player = player
        self.infoset = infoset
        self.actions = actions

    def __repr__(self) -> str:
        return f"Decision({self.player!r}, {self.infoset!r}, {tuple(self.actions)!r})"


class Terminal:
    """A node where the game is over.

    Parameters
    ----------
    utilities : sequence of float
        One payoff for each player, in units of the game (chips, points).

    Examples
    --------
    >>> Terminal((2, -2))
    Terminal((2, -2))
    """

    __slots__ = ("utilities",)

    def __init__(self, utilities: Sequence[float]):
        self.utilities = utilities

    def __repr__(self) -> str:
        return f"Terminal({tuple(self.utilities)!r})"


Node: TypeAlias = Chance | Decision | Terminal


class Game(ABC):
    """An extensive-form game: subclass it and write :meth:`node`.

    Attributes
    ----------
    num_players : int
        The number of players, chance excluded; 2 by default.

    Notes
    -----
    Solvers compile a game once and cache the result, so do not change the rules of a game
    in place: create a new object.

    Examples
    --------
    >>> class MatchingPennies(Game):
    ...     def node(self, h):
    ...         if len(h) == 0:
    ...             return Decision(0, "hide", ("heads", "tails"))
    ...         if len(h) == 1:
    ...             return Decision(1, "guess", ("heads", "tails"))
    ...         return Terminal((-1, 1) if h[0] == h[1] else (1, -1))
    >>> game = MatchingPennies()
    >>> game.node(game.step(game.step(game.root(), "heads"), "tails"))
    Terminal((1, -1))
    """

    num_players: int = 2

    @abstractmethod
    def node(self, h: History) -> Node:
        """Return the node of the history `h`: a `Chance`, a `Decision` or a `Terminal`."""

    def root(self) -> History:
        """Return the empty history. Override together with `step` to carry richer states."""
        return ()

    def step(self, h: History, a: Action) -> History:
        """Return the history `h` followed by the action `a`."""
        return (*h, a)

    def __getstate__(self) -> Any:
        """Pickle the rules without the compiled tree."""
        state = super().__getstate__()
        if isinstance(state, dict):
            return {name: state[name] for name in state if name != "_memo"}
        return state

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def action_label(action: Action) -> str:
    """Format an action for display; a tuple of one-character actions is concatenated.

    Examples
    --------
    >>> action_label("bet"), action_label(("J", "Q"))
    ('bet', 'JQ')
    """
    if isinstance(action, tuple):
        parts = [action_label(part) for part in action]
        return ("" if all(len(part) == 1 for part in parts) else ",").join(parts)
    return str(action)


def history_label(actions: Iterable[Action]) -> str:
    """Format a history on one line; the empty history is ``∅``.

    Examples
    --------
    >>> history_label((("J", "Q"), "check", "bet")), history_label(())
    ('JQ check bet', '∅')
    """
    return " ".join(action_label(a) for a in actions) or "∅"
