"""A game of cfrlib as a game of OpenSpiel, which asks `node` and `step` for everything.

:func:`cfrlib.to_open_spiel` returns it. The information state string is the infoset's label. A
player's action has the same number wherever it is legal; chance's outcomes are numbered in the
order of their node.
"""

from __future__ import annotations

import itertools
import random
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyspiel
from open_spiel.python import policy as their_policy  # type: ignore[import-untyped]

from cfrlib.core.memo import remembered
from cfrlib.core.sequence import sequence_form
from cfrlib.core.tree import TERMINAL, compile, compiles, name_history
from cfrlib.game import (
    Action,
    Decision,
    Game,
    GameError,
    History,
    Node,
    Terminal,
    action_label,
    history_label,
)
from cfrlib.interop.names import Infoset
from cfrlib.words import columns_of, encode, hashed

PROBES = 1_000  # random games that show which actions a game has that does not compile
LONGEST = 1_000_000  # actions in such a game

Seen: TypeAlias = tuple[tuple[str, str] | None, ...]  # each player's last label and action
_Kinds = pyspiel.GameType
_numbers = itertools.count()  # of the short names


class _Facts(NamedTuple):
    """What OpenSpiel wants to know about a game in advance."""

    actions: list[Action]  # of the players, without repetition
    labels: list[str]  # of all infosets, or of some
    outcomes: int  # the most outcomes of a chance event
    payoffs: tuple[float, float]  # bounds
    total: float | None  # the sum of the payoffs if it is constant
    length: int  # most decisions in a game
    perfect_information: bool


def _facts_of_tree(game: Game) -> _Facts:
    """Return the facts about a game that compiles."""
    tree = compile(game)
    utility = tree.utility[tree.player == TERMINAL]
    length = np.zeros(tree.num_histories, np.int64)
    for start, stop in zip(tree.level_start[1:-1], tree.level_start[2:], strict=True):
        parent = tree.parent[start:stop]
        length[start:stop] = length[parent] + (tree.player[parent] >= 0)
    return _Facts(
        list(dict.fromkeys(itertools.chain.from_iterable(tree.infoset_actions))),
        tree.infoset_label,
        int(np.where(tree.player == -1, tree.num_children, 0).max()),
        (float(utility.min()), float(utility.max())),
        tree.constant_sum,
        int(length.max()),
        tree.num_infosets == np.count_nonzero(tree.player >= 0),
    )


def _facts_of_probes(game: Game) -> _Facts:
    """Return the facts that random games show, or bounds that hold in any game."""
    rng, outcomes, zero_sum = random.Random(0), 0, True
    actions: dict[Action, None] = {}
    labels: dict[str, None] = {}
    for _ in range(PROBES):
        at = _At.root(game)
        while not isinstance(node := at.node, Terminal):
            legal = tuple(node.actions)
            if isinstance(node, Decision):
                actions |= dict.fromkeys(legal)
                labels[node.infoset] = None
            else:
                outcomes = max(outcomes, len(legal))
            at = at.after(game, rng.choice(legal))
        size = max(map(abs, node.utilities))
        zero_sum &= abs(sum(node.utilities)) <= 1e-9 * size
    total = 0.0 if zero_sum else None
    return _Facts(list(actions), list(labels), outcomes, (-inf, inf), total, LONGEST, False)


class _At:
    """A history: its actions, its node, and what each player saw and did last.

    It never changes, so copies of a state share it.
    """

    __slots__ = ("actions", "h", "node", "seen")

    def __init__(self, actions: tuple[Action, ...], h: History, node: Node, seen: Seen):
        self.actions, self.h, self.node, self.seen = actions, h, node, seen

    @classmethod
    def root(cls, game: Game) -> _At:
        """Return the empty history."""
        return cls._visit(game, (), game.root(), (None,) * game.num_players)

    @classmethod
    def _visit(cls, game: Game, actions: tuple[Action, ...], h: History, seen: Seen) -> _At:
        """Return the history `h`, or its child by the last of the actions."""
        try:
            h = game.step(h, actions[-1]) if actions else h
            return cls(actions, h, game.node(h), seen)
        except Exception as error:
            name_history(error, game, actions)
            raise

    def after(self, game: Game, a: Action) -> _At:
        """Return the history that follows by an action."""
        seen, node = self.seen, self.node
        if isinstance(node, Decision):
            i = node.player
            seen = (*seen[:i], (node.infoset, action_label(a)), *seen[i + 1 :])
        return self._visit(game, (*self.actions, a), self.h, seen)

    def __deepcopy__(self, memo: Any) -> _At:
        return self


class AdaptedGame(pyspiel.Game):  # type: ignore[misc]
    """A game of cfrlib that OpenSpiel plays; made by :func:`cfrlib.to_open_spiel`.

    Attributes
    ----------
    game : Game
        The rules.
    actions : list of actions
        The players' actions; an action's place is its number in OpenSpiel.
    """

    def __init__(self, game: Game, actions: Sequence[Action] | None):
        whole = compiles(game)
        facts = _facts_of_tree(game) if whole else _facts_of_probes(game)
        self.game, self._root = game, _At.root(game)
        self.actions = list(dict.fromkeys(facts.actions if actions is None else actions))
        self._number = {a: n for n, a in enumerate(self.actions)}
        self._names = _names(self.actions)
        encoder = getattr(game, "features", hashed)
        if whole and encoder is hashed:
            encoder = partial(encode, columns=columns_of(facts.labels))
        self._encode = encoder
        self.columns = len(self.tensor(facts.labels[0])) if facts.labels else 1
        utility = {0.0: _Kinds.Utility.ZERO_SUM, None: _Kinds.Utility.GENERAL_SUM}
        chance, information = _Kinds.ChanceMode, _Kinds.Information
        kind = _Kinds(
            short_name=f"cfrlib_{type(game).__name__}_{next(_numbers)}",
            long_name=repr(game),
            dynamics=_Kinds.Dynamics.SEQUENTIAL,
            chance_mode=(
                chance.EXPLICIT_STOCHASTIC if facts.outcomes else chance.DETERMINISTIC
            ),
            information=(
                information.PERFECT_INFORMATION
                if facts.perfect_information
                else information.IMPERFECT_INFORMATION
            ),
            utility=utility.get(facts.total, _Kinds.Utility.CONSTANT_SUM),
            reward_model=_Kinds.RewardModel.TERMINAL,
            max_num_players=game.num_players,
            min_num_players=game.num_players,
            provides_information_state_string=True,
            provides_information_state_tensor=True,
            provides_observation_string=True,
            provides_observation_tensor=True,
            parameter_specification={},
        )
        info = pyspiel.GameInfo(
            num_distinct_actions=len(self.actions),
            max_chance_outcomes=facts.outcomes,
            num_players=game.num_players,
            min_utility=facts.payoffs[0],
            max_utility=facts.payoffs[1],
            utility_sum=facts.total,
            max_game_length=facts.length,
        )
        super().__init__(kind, info, {})
        _register(kind, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return pyspiel.load_game, (self.get_type().short_name,)

    def new_initial_state(self) -> AdaptedState:
        """Return the empty history."""
        return AdaptedState(self, self._root)

    def make_py_observer(self, kind: Any = None, parameters: Any = None) -> _Observer:
        """Return an observer of what a player knows."""
        return _Observer(self)

    def number(self, a: Action) -> int:
        """Return the number of a player's action in OpenSpiel.

        Raises
        ------
        GameError
            If no random game showed it.
        """
        try:
            return self._number[a]
        except KeyError:
            raise GameError(
                f"{self.game!r} has the action {a!r}, which did not occur in {PROBES:,} "
                "random games; give all actions of the players, cfrlib.to_open_spiel(game, "
                "actions=[...])"
            ) from None

    def name(self, number: int) -> str:
        """Return the name of a player's action."""
        return self._names[number]

    def tensor(self, label: str) -> npt.NDArray[np.float32]:
        """Return the words of a label as numbers."""
        row: npt.NDArray[np.float32] = np.asarray(self._encode([label])[0], np.float32)
        return row

    # ---- what conversions of policies ask ----------------------------------------------------

    @property
    def pyspiel_game(self) -> AdaptedGame:
        """Itself."""
        return self

    def infoset(self, label: str) -> Infoset:
        """Return the identifiers of an infoset of a game that compiles."""
        form = sequence_form(self.game)
        actions = form.tree.infoset_actions[form.infoset_number[label]]
        return self._infoset(label, actions)

    def decision(self, state: AdaptedState) -> tuple[Decision, Infoset]:
        """Return the decision at a state, and the identifiers of its infoset."""
        node: Any = state.at.node
        return node, self._infoset(node.infoset, tuple(node.actions))

    def _infoset(self, label: str, actions: tuple[Action, ...]) -> Infoset:
        numbers = {a: self.number(a) for a in actions}
        return Infoset(label, label, list(numbers.values()), actions, numbers)

    def state(self, actions: Iterable[Action]) -> AdaptedState:
        """Return the state after these actions."""
        at = self._root
        for a in actions:
            at = at.after(self.game, a)
        return AdaptedState(self, at)

    def state_of(self, node: Decision) -> AdaptedState:
        """Return a state that stands for an infoset: its player knows no more."""
        return AdaptedState(self, _At((), None, node, (None,) * self.game.num_players))


class AdaptedState(pyspiel.State):  # type: ignore[misc]
    """A history of an :class:`AdaptedGame`."""

    def __init__(self, adapted: AdaptedGame, at: _At):
        super().__init__(adapted)
        self.adapted, self.at = adapted, at

    def current_player(self) -> int:
        """Return the player to move."""
        node = self.at.node
        if isinstance(node, Decision):
            return node.player
        ended = isinstance(node, Terminal)
        return int(pyspiel.PlayerId.TERMINAL if ended else pyspiel.PlayerId.CHANCE)

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return isinstance(self.at.node, Terminal)

    def _legal_actions(self, player: int) -> list[int]:
        node = self.at.node
        if not isinstance(node, Decision) or node.player != player:
            return []
        return sorted(map(self.adapted.number, node.actions))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the outcomes that have a probability above 0."""
        row: Any = self.at.node
        return [(n, float(p)) for n, p in enumerate(row.probabilities.values()) if p > 0]

    def _apply_action(self, number: int) -> None:
        node: Any = self.at.node
        owned = isinstance(node, Decision)
        a = self.adapted.actions[number] if owned else node.actions[number]
        if a not in node.actions:
            raise ValueError(f"{a!r} is illegal here: the actions are {node.actions!r}")
        self.at = self.at.after(self.adapted.game, a)

    def _action_to_string(self, player: int, number: int) -> str:
        if player >= 0:
            return self.adapted.name(number)
        node: Any = self.at.node
        return _names(node.actions)[number]

    def returns(self) -> list[float]:
        """Return the payoffs, which are 0 until the game is over."""
        node = self.at.node
        if not isinstance(node, Terminal):
            return [0.0] * self.adapted.game.num_players
        return [float(u) for u in node.utilities]

    def __str__(self) -> str:
        return history_label(self.at.actions)


class _Observer:
    """What a player knows: the label of their decision, else their last one and action."""

    def __init__(self, adapted: AdaptedGame):
        self.tensor = np.zeros(adapted.columns, np.float32)
        self.dict = {"label": self.tensor}

    def string_from(self, state: AdaptedState, player: int) -> str:
        """Return what the player knows as a string."""
        label, last = _known(state.at, player)
        return f"{label} → {last}" if last else label

    def set_from(self, state: AdaptedState, player: int) -> None:
        """Write the words of the player's label into `tensor`: zeros before their first one."""
        label, _ = _known(state.at, player)
        self.tensor[:] = state.adapted.tensor(label) if label else 0.0


def _known(at: _At, player: int) -> tuple[str, str]:
    """Return the player's label, and their last action if it is not their turn."""
    if isinstance(at.node, Decision) and at.node.player == player:
        return at.node.infoset, ""
    return at.seen[player] or ("", "")


class AdaptedPolicy(their_policy.Policy):  # type: ignore[misc]
    """A player of :func:`cfrlib.simulate` as a policy of OpenSpiel.

    Parameters
    ----------
    translator : AdaptedGame or OpenSpielGame
        Translates states to decisions.
    player : function
        Returns a row of probabilities for each decision.
    """

    def __init__(self, translator: Any, player: Any):
        game = translator.pyspiel_game
        super().__init__(game, list(range(game.num_players())))
        self._translator, self._player = translator, player

    def action_probabilities(
        self, state: Any, player_id: int | None = None
    ) -> dict[int, float]:
        """Return the probability of each legal action."""
        node, infoset = self._translator.decision(state)
        row = self._player([node], None)[0].tolist()
        return dict(sorted(zip(infoset.legal, row, strict=False)))  # rows may be longer


def _register(kind: Any, adapted: AdaptedGame) -> None:
    """Let OpenSpiel find the game by its name, as long as the game is in use.

    OpenSpiel keeps what it calls, and releases it when Python is gone: only a class survives.
    """
    found = weakref.ref(adapted)
    pyspiel.register_game(kind, type("Loader", (), {"__new__": lambda *_: found()}))


@remembered
def adapted(game: Game, actions: tuple[Action, ...] | None = None) -> AdaptedGame:
    """Return the game as one of OpenSpiel; always the same object."""
    return AdaptedGame(game, actions)


def _names(actions: Sequence[Action]) -> list[str]:
    """Return a name for each action; it is the action's `repr` where labels coincide.

    Examples
    --------
    >>> _names(["bet", 1, "1", (1, 2)])
    ['bet', '1', "'1'", '12']
    """
    names: dict[str, None] = {}
    for a in actions:
        label = action_label(a)
        names[repr(a) if label in names else label] = None
    return list(names)
