"""Compilation of a game: one walk over all histories checks the rules and fills flat arrays.

:func:`compile` visits every history breadth first, so that the children of a history are
contiguous, parents come before children, and one level of the tree is one slice.
"""

from __future__ import annotations

import math
import random
import warnings
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping
from itertools import accumulate, islice
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cfrlib.core.memo import remembered
from cfrlib.game import (
    Action,
    Chance,
    Decision,
    Game,
    GameError,
    History,
    Node,
    Terminal,
    history_label,
)

CHANCE = -1
TERMINAL = -2

MAX_HISTORIES = 2_000_000  # default limit of `compile`
BYTES_PER_HISTORY = 300  # while compiling and solving, measured on liar's dice and Kuhn poker

# Whether a game compiles is decided by a look at a bounded number of histories.
NUM_ESTIMATES = 4  # estimates of the size of a game
LOOK_VISITS = 30_000  # histories visited for each of them, or a few more in a deep game
LEAST_SAMPLE = 16  # histories visited at each depth, however deep the game
HUGE = 1.25  # too large: every estimate exceeds this multiple of the limit
BEYOND = 1e30  # larger sizes are not told apart
EARLY_CHECK = 200_000  # histories that `compile` visits before the look

WATCHED = 1_000  # histories at which `step` is checked to leave its argument alone

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class TooLarge(GameError):
    """A game has more histories than the limit of `compile`."""


class Tree:
    """The history tree of a game as flat arrays; made by :func:`compile`.

    Histories are numbered 0 … N-1 breadth first; number 0 is the empty history.
    Infosets are numbered player by player, each player's in order of discovery, so an infoset
    comes after all of its player's earlier infosets. A *sequence* of player i is either the
    empty one or a pair (infoset, action). Sequences are numbered in the same order: player 0's
    empty sequence, then the pairs of player 0, then player 1's empty sequence, and so on.

    Attributes
    ----------
    game : Game
        The compiled game.
    num_players : int
        Number of players.
    player : int array, shape (N,)
        The player who acts: 0, 1, …, or ``CHANCE``; ``TERMINAL`` where the game is over.
    infoset : int array, shape (N,)
        Number of the infoset at decisions, -1 elsewhere.
    parent, first_child, num_children : int arrays, shape (N,)
        The edges of the tree. ``parent[0]`` is -1.
    action : list of N actions
        The action that leads to each history (None for the empty one).
    chance_reach : float array, shape (N,)
        π_c(h): chance's reach probability.
    probability : float array, shape (N,)
        The probability of the last action if chance took it, else 1.
    utility : float array, shape (N, players)
        Payoffs at terminal histories, 0 elsewhere.
    sequence : int array, shape (N, players)
        The last sequence of each player at h.
    level_start : int array, shape (depths + 1,)
        Histories of depth d are ``level_start[d]`` … ``level_start[d+1] - 1``.
    infoset_label, infoset_actions : list
        Label and actions of each infoset.
    infoset_player, infoset_start, infoset_parent : int arrays, shape (infosets,)
        Owner of each infoset, its first sequence, and the owner's last sequence before it.
    player_infosets, player_sequences : int arrays, shape (players + 1,)
        Player i owns infosets ``player_infosets[i]:player_infosets[i+1]``; likewise sequences.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> tree = cfr.compile(cfr.games.RockPaperScissors())
    >>> k = tree.find(("rock", "paper"))
    >>> tree.history(k), tree.utility[k].tolist()
    (('rock', 'paper'), [-1.0, 1.0])
    """

    game: Game
    num_players: int
    player: npt.NDArray[np.int8]
    infoset: Ints
    parent: Ints
    first_child: Ints
    num_children: Ints
    action: list[Action]
    chance_reach: Floats
    probability: Floats
    utility: Floats
    sequence: Ints
    level_start: Ints
    infoset_label: list[str]
    infoset_actions: list[tuple[Action, ...]]
    infoset_player: Ints
    infoset_start: Ints
    infoset_parent: Ints
    player_infosets: Ints
    player_sequences: Ints

    @property
    def num_histories(self) -> int:
        """Number of histories, including the empty one and the terminal ones."""
        return len(self.player)

    @property
    def num_terminals(self) -> int:
        """Number of terminal histories."""
        return int(np.count_nonzero(self.player == TERMINAL))

    @property
    def num_infosets(self) -> int:
        """Number of infosets of all players."""
        return len(self.infoset_label)

    @property
    def zero_sum(self) -> bool:
        """Whether payoffs sum to zero at every terminal history, up to rounding errors."""
        size = np.abs(self.utility).max(axis=1)
        scale = size.max() or 1.0
        total = np.abs((self.utility / scale).sum(axis=1))
        return bool(np.all(total <= 1e-9 * (size / scale) + 1e-14))

    @property
    def constant_sum(self) -> float | None:
        """The sum of the payoffs if it is the same at every end, up to rounding, else None."""
        if self.zero_sum:
            return 0.0
        utility = self.utility[self.player == TERMINAL]
        size = np.abs(utility).max(axis=1)
        scale = float(size.max())  # sums of the largest floats overflow
        total = (utility / scale).sum(axis=1)
        constant = float(np.median(total))
        if np.any(np.abs(total - constant) > 1e-9 * (size / scale) + 1e-14):
            return None
        return constant * scale

    @property
    def kind(self) -> str:
        """The number of players, and the sum of their payoffs, in words."""
        if self.num_players == 1:
            return "1 player"
        sums = {0.0: "zero-sum", None: "general-sum"}
        return f"{self.num_players} players, {sums.get(self.constant_sum, 'constant-sum')}"

    def history(self, k: int) -> tuple[Action, ...]:
        """Return history `k` as a tuple of actions."""
        actions: list[Action] = []
        while k > 0:
            actions.append(self.action[k])
            k = int(self.parent[k])
        return tuple(reversed(actions))

    def find(self, h: tuple[Action, ...]) -> int:
        """Return the number of a history, given as a tuple of actions.

        Raises
        ------
        ValueError
            If the game has no such history; the message lists the legal actions.
        """
        k = 0
        for depth, a in enumerate(h):
            children = range(self.first_child[k], self.first_child[k] + self.num_children[k])
            actions = [self.action[c] for c in children]
            if a not in actions:
                legal = ", ".join(map(repr, actions)) or "none, the game is over"
                raise ValueError(
                    f"{self.game!r} has no history {h!r}: after {h[:depth]!r} "
                    f"the legal actions are {legal}"
                )
            k = children[actions.index(a)]
        return k

    def __repr__(self) -> str:
        return (
            f"{self.game!r}: {self.kind}, "
            f"{self.num_histories:,} histories ({self.num_terminals:,} terminal), "
            f"{self.num_infosets:,} infosets"
        )


def compile(game: Game, *, max_histories: int = MAX_HISTORIES, max_depth: int = 1_000) -> Tree:
    """Visit all histories of `game`, check its rules, and return flat arrays.

    The result is cached on the game object; solvers call this for you. Call it yourself to
    see the size of a game, to check one you wrote, or to raise a limit.

    Parameters
    ----------
    game : Game
        The rules.
    max_histories, max_depth : int
        Largest number of histories, and of actions in one history.

    Returns
    -------
    Tree
        The arrays; a game that was compiled before is not compiled again.

    Raises
    ------
    GameError
        If the rules are unsound or a limit is exceeded; the message names the history and
        suggests a remedy.
    ValueError
        If `game` is not a game.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> cfr.compile(cfr.games.KuhnPoker())
    KuhnPoker(): 2 players, zero-sum, 55 histories (30 terminal), 12 infosets
    """
    check_game(game)
    kept = _trees(game)
    if not kept:
        kept.append(_Compiler(game, max_histories, max_depth).tree())
    return kept[0]


@remembered
def _trees(game: Game) -> list[Tree]:
    """Return a list that holds the tree of a game once it is compiled, with any limits."""
    return []


def is_compiled(game: Game) -> bool:
    """Return whether `compile` has succeeded for this game."""
    return bool(_trees(game))


def check_game(game: object) -> None:
    """Raise a ValueError unless `game` is a Game."""
    if isinstance(game, type) and issubclass(game, Game):
        raise ValueError(
            f"{game.__name__} is a class of games; make one of them: {game.__name__}()"
        )
    if not isinstance(game, Game):
        raise ValueError(
            f"expected a Game, got {type(game).__name__}: subclass cfrlib.Game, or use one of "
            "cfrlib.games, e.g. cfrlib.games.KuhnPoker()"
        )


class RuleChecker:
    """Checks of a game's rules, history by history, in any order of visits.

    Attributes
    ----------
    parent, action : list
        Parent and last action of each visited history; error messages name a history by them.
    infoset_of_label : dict from label to int
        The infosets found so far, in order of discovery.
    known : list of (player, actions, number of the first history visited)
        The same infosets, in the same order.
    """

    def __init__(self, game: Game):
        self.game = game
        self.parent: list[int] = [-1]
        self.action: list[Action] = [None]
        self.infoset_of_label: dict[str, int] = {}
        self.known: list[tuple[int, tuple[Action, ...], int]] = []
        self.spelled: list[tuple[int, str]] = []  # actions given as one str, with a history

    def node(self, k: int, h: History) -> Node:
        """Return the node of history `k`, which is `h`; errors of the rules name it."""
        try:
            return self.game.node(h)
        except Exception as error:
            name_history(error, self.game, self.path(k))
            raise

    def infoset_number(self, k: int, node: Decision) -> int:
        """Return the number of a decision's infoset, which may be new."""
        if not isinstance(node.infoset, str):
            self.fail(
                k,
                f"the infoset label {node.infoset!r} is a {type(node.infoset).__name__}; "
                "labels are readable strings: use str(...) or an f-string",
            )
        number = self.infoset_of_label.get(node.infoset)
        if number is None:
            return self.new_infoset(k, node)
        player, actions, first = self.known[number]
        if node.player != player:
            self.fail(
                k,
                f"infoset {node.infoset!r} belongs to player {player} at history "
                f"{self.name(first)} but to player {node.player} here; give each player "
                "labels of their own, e.g. by putting the player into the label",
            )
        if tuple(node.actions) != actions:
            self.fail(
                k,
                f"infoset {node.infoset!r} offers {tuple(node.actions)!r} here but "
                f"{actions!r} at history {self.name(first)}; a player who cannot tell two "
                "histories apart must have the same actions, in the same order, at both: "
                "put what differs into the label, or mend the actions",
            )
        return number

    def new_infoset(self, k: int, node: Decision) -> int:
        """Check a decision whose infoset is new, and number the infoset."""
        actions = tuple(node.actions)
        if node.player not in range(self.game.num_players):
            self.fail(
                k,
                f"player {node.player!r} acts, but the players are "
                f"0 to {self.game.num_players - 1}; mend the Decision, or set num_players",
            )
        if not actions:
            self.fail(
                k,
                f"infoset {node.infoset!r} has no actions; return a Terminal if the game "
                "is over, or give at least one action",
            )
        if not all(isinstance(a, Hashable) for a in actions):
            self.fail(
                k,
                f"infoset {node.infoset!r} has an action that is not hashable: {actions!r}; "
                "make actions words, numbers or tuples of them",
            )
        if isinstance(node.actions, str) and len(actions) > 1:
            self.spelled.append((k, node.actions))
        if len(set(actions)) < len(actions):
            if isinstance(node.actions, str):
                self.forgotten_comma(k, node.actions)
            self.fail(
                k,
                f"infoset {node.infoset!r} repeats an action: {actions!r}; "
                "every action must appear once",
            )
        number = len(self.known)
        self.infoset_of_label[node.infoset] = number
        self.known.append((node.player, actions, k))
        return number

    def forgotten_comma(self, k: int, word: str) -> NoReturn:
        """Raise the error for ("fold"), which is no tuple."""
        self.fail(
            k,
            f"the actions are the letters {tuple(word)!r}, since Python reads ({word!r}) as a "
            f"word; write a comma for a single action, ({word!r},), or list the letters: "
            f"tuple({word!r})",
        )

    def check_words(self) -> None:
        """Raise an error if letters as actions are meant as a word: ("fold") for ("fold",).

        A word is meant if it is an action elsewhere, or if the rules tell it from its letters,
        but no letter from another.
        """
        words = set(self.action) if self.spelled else set()
        for k, word in self.spelled:
            if word in words or (len(word) > 2 and self.means_the_word(k, word)):
                self.forgotten_comma(k, word)

    def means_the_word(self, k: int, word: str) -> bool:
        """Return whether only the word, not its letters, makes a difference at history `k`."""
        h = self.game.root()
        try:
            for a in self.path(k):
                h = self.game.step(h, a)
            whole, *letters = (
                _outline(self.game.node(self.game.step(h, a))) for a in (word, *word)
            )
        except Exception:  # the rules do not know the word
            return False
        return len(set(letters)) == 1 and whole not in letters

    def children_of(self, k: int, h: History, actions: tuple[Action, ...]) -> Iterator[History]:
        """Yield the history after each action, and check that `step` does not change `h`."""
        watched = k < WATCHED and isinstance(h, (list, dict, set))
        before = _outline(self.node(k, h)) if watched else ()
        for a in actions:
            try:
                child = self.game.step(h, a)
            except Exception as error:
                name_history(error, self.game, (*self.path(k), a))
                raise
            if child is h or (watched and _outline(self.node(k, h)) != before):
                self.fail(
                    k,
                    f"step(h, {a!r}) changes the history h that it is given, which other "
                    "actions still need; change a copy, or return a new one: [*h, a]",
                )
            yield child

    def check_chance(self, k: int, outcomes: Mapping[Action, float]) -> None:
        """Check that a chance event is a probability distribution."""
        if not isinstance(outcomes, Mapping) or any(
            not isinstance(p, Real) for p in outcomes.values()
        ):
            self.fail(
                k,
                f"Chance({outcomes!r}) does not map actions to probabilities; pass a dict "
                "from action to probability",
            )
        probabilities = list(outcomes.values())
        if not probabilities:
            self.fail(k, "a Chance node has no outcomes; give at least one action")
        if not all(math.isfinite(p) and p >= 0 for p in probabilities):
            self.fail(
                k,
                f"chance has a negative or non-finite probability in {probabilities!r}; "
                "probabilities lie between 0 and 1",
            )
        total = math.fsum(probabilities)
        if abs(total - 1) > 1e-9:
            self.fail(
                k,
                f"chance probabilities sum to {total:.10g}, not 1; divide each by their "
                "sum, or add the missing outcome",
            )

    def read_payoff(self, k: int, payoff: Any, utility: Floats) -> None:
        """Write the payoffs of a terminal history into `utility`, one for each player."""
        try:
            utility[:] = payoff
            valid = len(payoff) == self.game.num_players
        except (TypeError, ValueError):
            valid = False
        if not valid:
            self.fail(
                k,
                f"Terminal({payoff!r}) does not hold {self.game.num_players} numbers; "
                "give one utility for each player, or set num_players",
            )

    def not_finite(self, k: int, utility: Floats) -> NoReturn:
        """Raise the error for a payoff that is infinite or NaN."""
        self.fail(
            k,
            f"a utility is not finite: {utility.tolist()}; CFR averages "
            "payoffs, so each must be an ordinary number",
        )

    def name(self, k: int) -> str:
        """Return history `k` for an error message."""
        return _name(self.path(k))

    def path(self, k: int) -> tuple[Action, ...]:
        """Return the actions of history `k`."""
        actions: list[Action] = []
        while k > 0:
            actions.append(self.action[k])
            k = self.parent[k]
        return tuple(reversed(actions))

    def fail(self, k: int, why: str) -> NoReturn:
        """Raise a GameError that names history `k`."""
        raise GameError(f"{self.game!r}, history {self.name(k)}: {why}")


def name_history(error: Exception, game: Game, path: tuple[Action, ...]) -> None:
    """Add the history to an error that `node` or `step` has raised there.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> error = KeyError("card")
    >>> name_history(error, cfr.games.KuhnPoker(), (("J", "Q"), "check"))
    >>> error.__notes__
    ["raised by the rules of KuhnPoker() at history (('J', 'Q'), 'check')"]
    """
    error.add_note(f"raised by the rules of {game!r} at history {_name(path)}")


def _name(path: tuple[Action, ...]) -> str:
    """Return a history for an error message; of a long one, the last ten actions."""
    return f"{path!r}" if len(path) < 40 else f"'… {history_label(path[-10:])}'"


def _outline(node: Node) -> tuple[object, ...]:
    """Return what distinguishes a node: its kind, its payoffs, or its infoset."""
    if isinstance(node, Terminal):
        return Terminal, *node.utilities
    infoset = getattr(node, "player", None), getattr(node, "infoset", None)
    return type(node), *infoset, len(getattr(node, "actions", ()))


class _Compiler(RuleChecker):
    """One breadth-first traversal: append to lists, then turn the lists into a Tree."""

    def __init__(self, game: Game, max_histories: int, max_depth: int):
        super().__init__(game)
        self.max_histories = max_histories
        self.max_depth = max_depth
        self.player: list[int] = []
        self.infoset: list[int] = []
        self.first_child: list[int] = []
        self.probability: list[float] = [1.0]
        self.terminals: list[int] = []
        self.payoffs: list[Any] = []
        self.level_start = [0]
        self.visit_all()

    def visit_all(self) -> None:
        """Visit every history, level by level."""
        level: Iterator[History] = iter([self.game.root()])
        limit = min(EARLY_CHECK, self.max_histories)
        k = 0
        while True:
            parents: list[tuple[History, tuple[Action, ...]]] = []
            for h in level:
                actions = self.visit(k, self.node(k, h))
                k += 1
                if actions:
                    parents.append((h, actions))
                    while len(self.parent) > limit:
                        if limit == self.max_histories or is_huge(
                            self.game, self.max_histories, self.max_depth
                        ):
                            self.too_large()
                        limit = self.max_histories
            self.level_start.append(k)
            if not parents:
                return
            if len(self.level_start) > self.max_depth + 1:
                self.fail(
                    k,
                    f"the game is deeper than max_depth={self.max_depth} actions; if it "
                    "surely ends, raise the limit: cfrlib.compile(game, max_depth=...)",
                )
            level = self.children(parents)

    def children(self, parents: list[tuple[History, tuple[Action, ...]]]) -> Iterator[History]:
        """Yield the children of each history; free each parent when its children are done."""
        plain_tuples = type(self.game).step is Game.step
        parents.reverse()
        while parents:
            h, actions = parents.pop()
            if plain_tuples:  # spares a call for each history
                for a in actions:
                    yield (*h, a)
            else:
                yield from self.children_of(self.parent[len(self.player)], h, actions)

    def visit(self, k: int, node: Node) -> tuple[Action, ...]:
        """Record history `k` and return its legal actions."""
        self.first_child.append(len(self.parent))
        actions: tuple[Action, ...]
        if isinstance(node, Terminal):
            self.player.append(TERMINAL)
            self.infoset.append(-1)
            self.terminals.append(k)
            self.payoffs.append(node.utilities)
            return ()
        if isinstance(node, Decision):
            self.player.append(node.player)
            self.infoset.append(self.infoset_number(k, node))
            actions = self.known[self.infoset[k]][1]
            self.probability.extend([1.0] * len(actions))
        elif isinstance(node, Chance):
            self.player.append(CHANCE)
            self.infoset.append(-1)
            self.check_chance(k, node.probabilities)
            actions = tuple(node.probabilities)
            self.probability.extend(node.probabilities.values())
        else:
            self.fail(k, f"node() returned {node!r}; return a Chance, Decision or Terminal")
        self.parent.extend([k] * len(actions))
        self.action.extend(actions)
        return actions

    def tree(self) -> Tree:
        """Turn the lists into arrays, and check utilities and perfect recall."""
        self.check_words()
        t = Tree()
        t.game, t.num_players = self.game, self.game.num_players
        t.player = np.array(self.player, np.int8)
        t.parent = np.array(self.parent, np.int32)
        t.first_child = np.array(self.first_child, np.int32)
        t.num_children = np.diff(t.first_child, append=np.int32(len(self.parent)))
        t.action = self.action
        t.probability = np.array(self.probability, np.float64)
        t.level_start = np.array(self.level_start, np.int32)
        t.utility = self.utilities()
        self.number_infosets(t)
        self.propagate_paths(t)
        return t

    def utilities(self) -> Floats:
        """Return the payoffs at all histories, shape (N, players)."""
        utility = np.zeros((len(self.player), self.game.num_players))
        for k, payoff in zip(self.terminals, self.payoffs, strict=True):
            self.read_payoff(k, payoff, utility[k])
        for bad in np.flatnonzero(~np.isfinite(utility).all(axis=1)):
            self.not_finite(int(bad), utility[bad])
        return utility

    def number_infosets(self, t: Tree) -> None:
        """Order infosets and sequences by player, then by discovery."""
        players = np.array([player for player, _, _ in self.known], np.int32)
        order = np.argsort(players, kind="stable")
        number = np.empty(len(order), np.int32)
        number[order] = np.arange(len(order))
        labels = list(self.infoset_of_label)
        t.infoset_label = [labels[n] for n in order]
        t.infoset_actions = [self.known[n][1] for n in order]
        t.infoset_player = players[order]
        discovered = np.array(self.infoset, np.int32)
        t.infoset = discovered
        if len(order):
            t.infoset = np.where(discovered >= 0, number[discovered], -1).astype(np.int32)

        count = [len(actions) for actions in t.infoset_actions]
        before = np.concatenate(([0], np.cumsum(count, dtype=np.int64)))
        # Each player up to and including the owner of an infoset adds one empty sequence.
        t.infoset_start = (before[:-1] + t.infoset_player + 1).astype(np.int32)
        t.player_infosets = np.searchsorted(
            t.infoset_player, np.arange(t.num_players + 1)
        ).astype(np.int32)
        t.player_sequences = (before[t.player_infosets] + np.arange(t.num_players + 1)).astype(
            np.int32
        )

    def propagate_paths(self, t: Tree) -> None:
        """Compute chance reach and last sequences at each history; check perfect recall."""
        n = t.num_histories
        t.chance_reach = np.ones(n)
        t.sequence = np.empty((n, t.num_players), np.int32)
        t.sequence[0] = t.player_sequences[:-1]
        position = np.arange(n, dtype=np.int32) - t.first_child[t.parent]  # among siblings
        for start, stop in zip(t.level_start[1:-1], t.level_start[2:], strict=True):
            h = np.arange(start, stop)
            up = t.parent[start:stop]
            t.chance_reach[h] = t.chance_reach[up] * t.probability[h]
            t.sequence[h] = t.sequence[up]
            mover = t.player[up]
            moved = mover >= 0
            t.sequence[h[moved], mover[moved]] = (
                t.infoset_start[t.infoset[up[moved]]] + position[h[moved]]
            )
        decisions = np.flatnonzero(t.player >= 0)
        infoset = t.infoset[decisions]
        parent = t.sequence[decisions, t.player[decisions]]
        t.infoset_parent = np.full(t.num_infosets, -1, np.int32)
        t.infoset_parent[infoset[::-1]] = parent[::-1]  # the first history is written last
        for k in decisions[parent != t.infoset_parent[infoset]]:
            self.imperfect_recall(t, int(k))

    def imperfect_recall(self, t: Tree, k: int) -> NoReturn:
        """Raise the error that names two histories of one infoset with different pasts."""
        infoset, player = int(t.infoset[k]), int(t.player[k])
        first = int(np.flatnonzero(t.infoset == infoset)[0])

        def memory(h: int) -> str:
            q = int(t.sequence[h, player])
            if q == t.player_sequences[player]:
                return "nothing done before"
            owner = int(np.searchsorted(t.infoset_start, q, side="right")) - 1
            action = t.infoset_actions[owner][q - t.infoset_start[owner]]
            return f"{action!r} at {t.infoset_label[owner]!r}"

        self.fail(
            k,
            f"imperfect recall: infoset {t.infoset_label[infoset]!r} joins this history "
            f"(player {player}'s last act: {memory(k)}) with {self.name(first)} "
            f"({memory(first)}), so the player forgets; put the player's own past actions "
            "and observations into the label",
        )

    def too_large(self) -> NoReturn:
        """Raise the error that estimates the size of the game and suggests a remedy."""
        try:
            sizes = list(islice(estimates(self.game, BEYOND, self.max_depth), 2))
        except Exception:  # node() or step() failed at a history that was not visited before
            self.fail(
                0,
                f"more than max_histories={self.max_histories:,} histories, and node() "
                "fails on one beyond them; mend it, then make the game smaller, or raise the "
                "limit",
            )
        size = max(sum(sizes) / len(sizes), self.max_histories)
        about = f"about {size:.1e}" if size < BEYOND else f"more than {BEYOND:.0e}"
        gigabytes = max(BYTES_PER_HISTORY / 1e9 * size, 0.1)
        if gigabytes > 1_000:
            remedy = "Far too many for a solver of the whole tree: make"
        else:
            limit = int(float(f"{2 * size:.0e}"))
            remedy = (
                f"A solver of the whole tree needs about {gigabytes:,.1f} GB for them: if that "
                f"fits, raise the limit, cfrlib.compile(game, max_histories={limit:_}), and "
                "solve then. If not, make"
            )
        raise TooLarge(
            f"{self.game!r} has more than max_histories={self.max_histories:,} histories, "
            f"{about} by sampling. {remedy} the game smaller, or use a solver "
            "that samples histories and needs no tree: cfrlib.MCCFR"
        )


def compiles(game: Game) -> bool:
    """Return whether a game compiles by default: it has compiled, or a bounded look says so.

    Warns
    -----
    RuntimeWarning
        If it does not, once for each game.
    """
    return is_compiled(game) or not _is_announced(game)


@remembered
def _is_announced(game: Game) -> bool:
    """Return whether a game is too large to compile; warn if it is."""
    if not is_huge(game):
        return False
    warnings.warn(
        f"{game!r} has more than {MAX_HISTORIES:,} histories by sampling, so it is not "
        "compiled: its tree is expanded on demand, and exploitability is unknown. Say so in "
        "advance with on_demand=True; or raise the limit first, cfrlib.compile(game, "
        "max_histories=...)",
        RuntimeWarning,
        stacklevel=3,
    )
    return True


def is_huge(game: Game, max_histories: int = MAX_HISTORIES, max_depth: int = 1_000) -> bool:
    """Return whether a game is too large to compile, after a look at a few histories.

    The verdict is the same on every machine: the seeds are fixed, and the work is limited in
    histories, not in seconds. All estimates must exceed HUGE times the limit, so that an error
    of one estimate does not refuse a game within the limit.
    """
    enough = HUGE * max_histories
    try:
        return all(size > enough for size in estimates(game, enough, max_depth))
    except Exception:  # the rules are unsound; compiling raises a better error
        return False


def estimates(game: Game, enough: float = math.inf, max_depth: int = 1_000) -> Iterator[float]:
    """Estimate the number of histories by stochastic enumeration (Rubinstein, 2013).

    Of the histories at each depth, a random sample represents them all: its mean number of
    actions times their number is the number of histories one step deeper. Each estimate is
    unbiased, and exact as long as the samples hold all histories. Sample sizes decrease so
    that all together exceed LOOK_VISITS by at most LEAST_SAMPLE for each depth; a hundred
    actions listed count as one visit. An estimate ends when it exceeds `enough`.
    """
    root = _visited(game, (), game.root())
    for seed in range(NUM_ESTIMATES):
        rng, level, visits = random.Random(seed), [root], 1
        width = total = 1.0  # histories at this depth, and up to it
        for _ in range(max_depth):
            stops = list(accumulate(len(actions) for *_, actions in level))
            width *= stops[-1] / len(level)
            total += width
            if not width or total > enough:
                break
            most = max((LOOK_VISITS - visits) // 20, LEAST_SAMPLE)
            sampled = rng.sample(range(stops[-1]), min(stops[-1], most))
            visits += len(sampled) + stops[-1] // 100
            deeper = []
            for k in sampled:
                n = bisect_right(stops, k)
                path, h, actions = level[n]
                a = actions[k - stops[n]]
                deeper.append(_visited(game, (*path, a), h))
            level = deeper
        yield total


def _visited(
    game: Game, path: tuple[Action, ...], h: History
) -> tuple[tuple[Action, ...], History, tuple[Action, ...]]:
    """Return a path, the history there, and its actions; `h` is its parent, or the root."""
    try:
        h = game.step(h, path[-1]) if path else h
        node = game.node(h)
    except Exception as error:
        name_history(error, game, path)
        raise
    return path, h, () if isinstance(node, Terminal) else tuple(node.actions)
