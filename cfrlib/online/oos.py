"""Online outcome sampling: Monte Carlo CFR that computes while it plays.

In a match a player does not need a strategy for the whole game, only a policy at the infoset
where they are to act now. Walks that begin *there* would be biased: the probabilities of the
infoset's histories depend on strategies, and these on what happens elsewhere in the game. So
every walk begins at the empty history, but some are targeted at the current infoset
(:mod:`cfrlib.online.targeting`).
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from cfrlib.core.checks import real_number, whole_number
from cfrlib.core.rng import LINE, begin, new_key, uniform
from cfrlib.core.sequence import behavior
from cfrlib.core.tree import TERMINAL, Floats, check_game, name_history
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal
from cfrlib.large.partial_tree import PartialTree, enlarged, with_room_for
from cfrlib.montecarlo import updates
from cfrlib.montecarlo.schemes import ROWS, Scheme, check_epsilon
from cfrlib.montecarlo.state import Sampled
from cfrlib.montecarlo.tree_records import UNKNOWN, TreeRecords, records
from cfrlib.online import targeting
from cfrlib.playing.matches import pick
from cfrlib.regret import Variant, find_variant
from cfrlib.run import alone, deferred_interrupt
from cfrlib.strategy import Strategy, probability_row

# ---- results ---------------------------------------------------------------------------------

At: TypeAlias = "str | Sequence[Action] | None"
MAX_LOOKAHEAD = 1_000  # histories whose children are examined when a search begins
Opponent: TypeAlias = "OOS | Mapping[str, Mapping[Action, float]]"


class SearchResult(NamedTuple):
    """Statistics of one search.

    Attributes
    ----------
    iterations, nodes : int
        Iterations, and histories visited, in this search alone.
    walks, targeted, reached : int
        Walks in all; those that were targeted; those that reached the infoset.
    seconds : float
    """

    iterations: int
    nodes: int
    walks: int
    targeted: int
    reached: int
    seconds: float


class Move(NamedTuple):
    """One decision of a match: player, infoset, probabilities and action."""

    player: int
    infoset: str
    probabilities: dict[Action, float]
    action: Action


class MatchGame(NamedTuple):
    """One game of a match.

    Attributes
    ----------
    seat : int
        The player that the searcher was.
    payoffs : tuple of float
        Payoffs of both players.
    history : tuple of actions
        All actions, including chance's.
    moves : list of Move
        Decisions of both players.
    """

    seat: int
    payoffs: tuple[float, ...]
    history: tuple[Action, ...]
    moves: list[Move]


class Match(list[MatchGame]):
    """The games of a match, in order."""

    @property
    def payoffs(self) -> Floats:
        """The searcher's payoff in each game."""
        return np.array([game.payoffs[game.seat] for game in self], np.float64)

    @property
    def mean(self) -> float:
        """The searcher's mean payoff."""
        return float(self.payoffs.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; NaN for a single game."""
        n = len(self)
        return float(self.payoffs.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan

    def __repr__(self) -> str:
        error = f" ± {self.standard_error:.3f}" if len(self) > 1 else ""
        games = f"{len(self):,} game{'s' if len(self) > 1 else ''}"
        return f"Match of {games}: mean payoff {self.mean:+.3f}{error}"


class OOS(Sampled):
    """Online outcome sampling: a player that searches before each of its moves.

    Parameters
    ----------
    game : Game
        Any game of two players. The tree of one too large to compile is expanded on demand.
    variant : str or Variant
        As for :class:`MCCFR`: ``"cfr"``, the default, is regret matching.
    epsilon : float
        Own actions are sampled with probability ``ε / |A(I)| + (1 − ε) σ(a)``. Above 0, at
        most 1.
    delta : float
        Fraction of the walks that are targeted, from 0, which is outcome sampling, to below 1:
        with 1 no walk would update the rest of the game, and the result would be biased.
    seed : int, optional
        Players with the same seed that run the same searches, limited by nodes or iterations,
        have the same policies.
    on_demand : bool, optional
        Whether to expand the tree during the walks. By default only if the game does not
        compile.
    playout : bool, optional
        Whether a walk adds at most one infoset to the tree: after it, the walk continues to the
        end with the current strategy, uniform where there is none, and stores nothing. The
        default if the tree is expanded on demand. If False, every infoset visited is added.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.

    Notes
    -----
    The algorithm is that of Lisý, Lanctot & Bowling (2015), with information set targeting and
    playouts. If the tree is expanded on demand, a history counts as leading to the target until
    it is known not to: because the searching player would decide there at an infoset that is
    not in their own past, because the game is over, or because none of its children leads
    there. A walk examines the children of each history on its path to the target; this does not
    count as visiting them. The sampling probabilities of a walk depend only on what was known
    when it began, so the estimates stay unbiased.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> player = cfr.OOS(cfr.games.KuhnPoker(), seed=0)
    >>> player.search("Q check-bet", iterations=1_000).reached
    1826
    >>> sorted(player.policy("Q check-bet"))
    ['call', 'fold']
    >>> player.copy().search("K", iterations=10).iterations, player.iterations
    (10, 1000)
    >>> player.match(cfr.Strategy.uniform(player.game), games=3, iterations=100, seed=0)
    Match of 3 games: mean payoff +0.000 ± 1.000
    """

    def __init__(
        self,
        game: Game,
        variant: str | Variant = "cfr",
        *,
        epsilon: float = 0.4,
        delta: float = 0.9,
        seed: int | None = None,
        on_demand: bool | None = None,
        playout: bool | None = None,
    ):
        check_epsilon(epsilon)
        if not isinstance(delta, (int, float)) or not 0 <= delta < 1:
            raise ValueError(
                "delta must be at least 0 and below 1: with 1 no walk would visit the rest of "
                f"the game, on which the result depends; got {delta!r}"
            )
        if isinstance(game, Game) and game.num_players != 2:
            raise ValueError(
                f"online outcome sampling is for two players, {game!r} has "
                f"{game.num_players}: the weights in the average would depend on the "
                'strategies of third players; use cfrlib.MCCFR(..., sampling="outcome")'
            )
        check_game(game)
        self.variant = find_variant(variant)
        self.epsilon, self.delta = float(epsilon), float(delta)
        self._plant(game, on_demand)
        self._tree: Any = TreeRecords(self._form.tree) if self._form else PartialTree(game)
        grows = not self.is_complete
        if playout and not grows:
            raise ValueError(
                f"the tree of {self.game!r} is compiled and has all infosets from the start; "
                "leave out playout, or expand the tree on demand with on_demand=True"
            )
        self.playout = grows if playout is None else bool(playout)
        # iterations between checks for an interrupt, about 20 ms
        self._chunk = 1 if grows else 10_000
        self._tables = updates.new_tables(self._tree, baseline=False)
        actions = max([len(a) for a in self._tree.actions_at], default=1)
        self._workspace = targeting.SearchWorkspace(
            path=records(
                len(self._form.tree.level_start) if self._form else 1, targeting.PATH_ENTRY
            ),
            scratch=np.zeros((ROWS, actions)),
            state=np.zeros(LINE, np.uint64),
            sampled_regret=np.zeros(len(self._tree.owner)),
            counts=np.zeros(3, np.int64),
        )
        marks = records(len(self._tree.nodes), targeting.MARK)
        marks.mark = targeting.IN
        route = np.full(len(self._tree.infosets), targeting.ELSEWHERE, np.int32)
        self._target = targeting.Target(marks, route, -1, 0.0)
        self._path: dict[str, Action | None] = {}  # own actions to the target, where it is None
        self._dead_ends: list[int] = []  # to be marked OUT when the current walk ends
        alpha, beta, gamma = self.variant.exponents
        self._settings = updates.Settings(
            scheme=Scheme(1, self.epsilon, False),
            rule=updates.OPPONENT,
            batch=1,
            alternating=True,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            prediction=self.variant.prediction,
            delay=0,
            decay=0.0,
            key=new_key(seed),
        )

    # ---- search ------------------------------------------------------------------------------

    def search(
        self,
        at: At = None,
        *,
        nodes: int | None = None,
        seconds: float | None = None,
        iterations: int | None = None,
    ) -> SearchResult:
        """Run the search at one infoset until the first of the given limits is reached.

        Regrets and strategy sums are kept for later searches, at this infoset or another.

        Parameters
        ----------
        at : str or sequence of actions, optional
            The target: the label of an infoset or any of its histories. If the tree is expanded
            on demand, an infoset not visited before can only be named by a history. Without a
            target, the search is plain outcome sampling.
        nodes : int, optional
            Limit of the histories visited; the last iteration is completed.
        seconds : float, optional
            Time limit.
        iterations : int, optional
            Limit of the iterations, each with one walk per player.

        Returns
        -------
        SearchResult
            Statistics of the search; :meth:`policy` returns its result.

        Raises
        ------
        ValueError
            If there is no limit, a limit is not a positive number, or `at` is not a history at
            which a player acts.
        KeyError
            If there is no such infoset, or it has not been visited yet.
        RuntimeError
            If another thread is searching with this object.
        """
        end, nodes_end, seconds = self._limits(nodes, seconds, iterations)
        with deferred_interrupt() as interrupted, alone(self):
            if self.iterations == 0 and seconds < math.inf:  # compile before the clock starts
                warm = self.copy()
                warm._set_target(at)
                warm._run(1, 2**62)
            before, visited = self.iterations, self.nodes
            counted = self._workspace.counts.copy()
            began = time.perf_counter()
            self._set_target(at)
            chunk = self._chunk if seconds == math.inf else 1
            while self.iterations < end and self.nodes < nodes_end and not interrupted:
                now = time.perf_counter()
                if now - began >= seconds:
                    break
                self._run(min(end, self.iterations + chunk), nodes_end)
                if time.perf_counter() - now < 0.02:
                    chunk *= 2
        walks, targeted, reached = (int(n) for n in self._workspace.counts - counted)
        elapsed = time.perf_counter() - began
        iterations, visited = self.iterations - before, self.nodes - visited
        return SearchResult(iterations, visited, walks, targeted, reached, elapsed)

    def _limits(
        self, nodes: int | None, seconds: float | None, iterations: int | None
    ) -> tuple[int, int, float]:
        """Check the limits of a search; return the last iteration, node and second."""
        if nodes is None and seconds is None and iterations is None:
            raise ValueError(
                "a search needs a limit: nodes=..., iterations=... or seconds=..., e.g. "
                "nodes=10_000"
            )
        if seconds is not None:
            real_number("seconds", seconds, above=True)
        end, nodes_end = 2**62, 2**62
        if iterations is not None:
            end = self.iterations + whole_number("iterations", iterations, 1)
        if nodes is not None:
            nodes_end = self.nodes + whole_number("nodes", nodes, 1)
        return end, nodes_end, math.inf if seconds is None else seconds

    def _run(self, end: int, nodes_end: int) -> None:
        """Run iterations up to `end`, or until `nodes_end` histories have been visited."""
        if self.is_complete:
            state = self._tables, self._settings, self._target, self._workspace
            targeting.iterate_targeted(
                self._tree.arrays, *state, self.iterations + 1, end, nodes_end
            )
            return
        while self.iterations < end and self.nodes < nodes_end:
            t = self.iterations + 1
            updates.begin_iteration(self._tables.progress, self._settings, t)
            for i in range(2):
                self._walk(t, i)
            updates.end_iteration(self._tables.progress, t)

    # ---- walks that expand the tree ----------------------------------------------------------

    def _walk(self, t: int, i: int) -> None:
        """Run one walk; expand histories at their first visit."""
        tree, settings, delta = self._tree, self._settings, self._target.delta
        begin(self._workspace.state, settings.key, t, i, 0)
        targeted = targeting.sample_scenario(self._workspace.state, delta)
        targeting.begin_at_root(self._workspace.path)
        self._met_new_infoset = False
        k, expanded, played, value = 0, False, 0, math.nan
        while True:
            table, marks, workspace = self._tables.table, self._target.marks, self._workspace
            k = targeting.descend_to_target(
                tree.arrays, table, marks, self.epsilon, targeted, i, workspace, k
            )
            h = int(self._workspace.path[k].node)
            if tree.nodes[h].player == TERMINAL:
                value = float(tree.utility[h, i])
                break
            if tree.nodes[h].player == UNKNOWN:
                if self._met_new_infoset:
                    value, played = self._play_out(h, i)
                    break
                self._expand(h)
                expanded = True
            self._make_room(k + 2)
        path = self._workspace.path
        path[k].value = value
        targeting.ascend_from_target(
            tree.arrays, self._tables, settings, delta, i, self._workspace, k
        )
        marks, route, player, _ = self._target
        targeting.tally(marks, delta, targeted, path, self._workspace.counts, k)
        if expanded and player >= 0:
            marks.mark[self._dead_ends] = targeting.OUT
            self._dead_ends.clear()
            targeting.rule_out(tree.nodes, marks, route, player, path, k)
        self._tables.progress[0].nodes += k + 1 + played

    def _expand(self, h: int) -> None:
        """Expand history h, and grow the arrays that are too short for it."""
        tree, before = self._tree, self._tree.num_infosets
        tree.expand(h)
        self._met_new_infoset = self.playout and before < tree.num_infosets
        self._tables = with_room_for(self._tables, tree, before)
        marks, route, player, delta = self._target
        marks, route = enlarged(marks, len(tree.nodes)), enlarged(route, len(tree.infosets))
        self._target = targeting.Target(marks, route, player, delta)
        for new in range(before, tree.num_infosets):
            route[new] = self._goal(new)
        targeting.mark_children(tree.nodes, tree.infosets, marks, route, player, h, True)
        if marks[h].mark == targeting.TOWARD:
            self._look_ahead(h)

    def _look_ahead(self, h: int) -> None:
        """Mark OUT the children of h that do not lead to the target.

        Their nodes are computed, but not stored. If no child is left, all of them count as
        leading to the target until the current walk ends, after which h is marked OUT.
        """
        tree, (marks, _, player, _) = self._tree, self._target
        first = int(tree.nodes[h].first_child)
        children = range(first, first + int(tree.nodes[h].num_children))
        dead = []
        for c in children:
            if marks[c].mark == targeting.TOWARD and tree.nodes[c].player == UNKNOWN:
                node = tree.node(c, tree._history[c])
                if isinstance(node, Decision):
                    elsewhere = node.player == player and node.infoset not in self._path
                else:
                    elsewhere = isinstance(node, Terminal)
                if elsewhere:
                    dead.append(c)
        alive = {c for c in children if marks[c].mark != targeting.OUT}.difference(dead)
        if alive:
            marks.mark[dead] = targeting.OUT
            targeting.mark_from_children(tree.nodes, marks, h)
        else:
            self._dead_ends.append(h)

    def _make_room(self, entries: int) -> None:
        """Grow the workspace to this many entries, and to the most actions so far."""
        tree, workspace = self._tree, self._workspace
        actions = len(tree.actions_at[-1]) if tree.actions_at else 1
        self._workspace = workspace._replace(
            path=enlarged(workspace.path, entries),
            scratch=enlarged(workspace.scratch, actions, axis=1),
            sampled_regret=enlarged(workspace.sampled_regret, len(tree.owner)),
        )

    def _play_out(self, h: int, i: int) -> tuple[float, int]:
        """Play on to the end, storing nothing; return the payoff and the number of steps.

        All actions are sampled from the strategies themselves, so no weights are needed.
        """
        history: History = self._tree._history[h]
        game, state = self.game, self._workspace.state
        row: Mapping[Action, float]
        actions: list[Action] = []
        try:
            for steps in range(1_000_000):
                node = game.node(history)
                if isinstance(node, Terminal):
                    return float(node.utilities[i]), steps
                if isinstance(node, Chance):
                    self._tree.check_chance(h, node.probabilities)
                    row = node.probabilities
                elif node.infoset in self._tree.infoset_of_label:
                    I = self._tree.infosets[self._tree.infoset_of_label[node.infoset]]
                    sigma = self._tables.table.sigma[I.start : I.stop]
                    row = dict(zip(node.actions, sigma.tolist(), strict=True))
                else:
                    row = dict.fromkeys(node.actions, 1 / len(node.actions))
                actions.append(pick(row, uniform(state)))
                history = game.step(history, actions[-1])
        except Exception as error:
            name_history(error, game, (*self._tree.path(h), *actions))
            raise
        raise ValueError(f"{game!r} did not end within a million actions")

    # ---- targets -----------------------------------------------------------------------------

    def _set_target(self, at: At) -> None:
        """Set the target, and mark the histories that may lead to it."""
        path: dict[str, Action | None] = {}
        player, delta = -1, 0.0
        if isinstance(at, str):
            player, path = self._past_of(at)
        elif at is not None:
            player, path = self._past_along(at)
        if self.delta > 0 and path:
            delta = self.delta
        if path == self._path:
            return
        tree = self._tree
        marks, route = self._target.marks, self._target.route
        self._path, self._target = path, targeting.Target(marks, route, player, delta)
        n = tree.num_histories
        if delta:
            number = self._number
            route[:] = targeting.ELSEWHERE
            for label in path:
                if label in number:
                    route[number[label]] = self._goal(number[label])
            marks[0].mark = targeting.TOWARD
            targeting.mark_all(tree.nodes, tree.infosets, marks, route, player, n)
            self._look_ahead_of_all()
        if (
            not delta or marks[0].mark == targeting.OUT
        ):  # no target, or one that chance never deals
            self._target = targeting.Target(marks, route, -1, 0.0)
            marks.mark[:n] = targeting.IN

    def _look_ahead_of_all(self) -> None:
        """Mark OUT unexpanded histories that do not lead to the target."""
        if self.is_complete:
            return
        tree, (marks, *_), n = self._tree, self._target, self._tree.num_histories
        ways = (marks.mark[:n] == targeting.TOWARD) & (tree.nodes.player[:n] != UNKNOWN)
        for h in np.flatnonzero(ways)[:MAX_LOOKAHEAD]:
            self._look_ahead(int(h))
        marks.mark[self._dead_ends] = targeting.OUT
        self._dead_ends.clear()
        for h in range(n - 1, -1, -1):
            targeting.mark_from_children(tree.nodes, marks, h)

    def _goal(self, I: int) -> int:
        """Return an infoset's entry of `route`."""
        tree = self._tree
        if tree.labels[I] not in self._path:
            return targeting.ELSEWHERE
        a = self._path[tree.labels[I]]
        if a is None:
            return targeting.HERE
        return int(tree.infosets[I].start) + int(tree.actions_at[I].index(a))

    def _past_of(self, label: str) -> tuple[int, dict[str, Action | None]]:
        """Return the player of an infoset, and their earlier infosets and actions."""
        I = self._find(label)
        tree = self._tree
        steps: list[tuple[str, Action | None]] = [(label, None)]
        q = int(tree.infosets[I].parent)
        while tree.owner[q] >= 0:
            J = int(tree.owner[q])
            action = tree.actions_at[J][q - int(tree.infosets[J].start)]
            steps.append((tree.labels[J], action))
            q = int(tree.infosets[J].parent)
        return int(tree.infosets[I].player), dict(reversed(steps))

    def _past_along(self, h: Sequence[Action]) -> tuple[int, dict[str, Action | None]]:
        """Return the player at history h, and their earlier infosets and actions."""
        game = self.game
        now, decisions = game.root(), []
        for n, a in enumerate((*h, None)):
            try:
                node = game.node(now)
            except Exception as error:
                name_history(error, game, tuple(h[:n]))
                raise
            if n == len(h):
                break
            legal = () if isinstance(node, Terminal) else tuple(node.actions)
            if a not in legal:
                some = ", ".join(map(repr, legal[:8])) or "none, the game is over"
                raise ValueError(
                    f"{game!r} has no history {tuple(h)!r}: after {tuple(h[:n])!r} the legal "
                    f"actions are {some}"
                )
            if isinstance(node, Decision):
                decisions.append((node.player, node.infoset, a))
            now = game.step(now, a)
        if not isinstance(node, Decision):
            raise ValueError(
                f"nobody decides at history {tuple(h)!r} of {game!r}: it is {node!r}"
            )
        past: dict[str, Action | None] = {
            label: a for player, label, a in decisions if player == node.player
        }
        return node.player, {**past, node.infoset: None}

    def _find(self, label: str) -> int:
        """Return the number of an infoset."""
        tree, number = self._tree, self._number.get(label)
        if number is not None and number < tree.num_infosets:
            return number
        some = ", ".join(map(repr, tree.labels[:6]))
        if self.is_complete:
            raise KeyError(f"no infoset {label!r}; {self.game!r} has {some}")
        raise KeyError(
            f"infoset {label!r} has not been visited yet: name it by one of its histories, "
            f"search((...), nodes=...), or search longer; {self.game!r} has {some}, …"
        )

    @property
    def _number(self) -> Mapping[str, int]:
        """The numbers of the infosets known so far, by label."""
        return self._form.infoset_number if self._form else self._tree.infoset_of_label

    # ---- results -----------------------------------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """Number of infosets in the tree."""
        return int(self._tree.num_infosets)

    def policy(self, infoset: str) -> dict[Action, float]:
        """Return the average strategy at an infoset; uniform if its strategy sum is 0.

        Raises
        ------
        KeyError
            If there is no such infoset, or it has not been visited yet.
        """
        I = self._find(infoset)
        start = int(self._tree.infosets[I].start)
        actions = self._tree.actions_at[I]
        total = self._tables.table.total[start : start + len(actions)]
        whole = float(total.sum())
        row = total / whole if whole > 0 else np.full(len(actions), 1 / len(actions))
        return dict(zip(actions, row.tolist(), strict=True))

    def copy(self, seed: int | None = None) -> Self:
        """Return an independent copy of the player, optionally with a new seed."""
        other = copy.copy(self)
        if not self.is_complete:
            other._tree = self._tree.copy()
        other._tables = updates.Tables._make(table.copy() for table in self._tables)
        other._workspace = targeting.SearchWorkspace._make(
            array.copy() for array in self._workspace
        )
        marks, route, player, delta = self._target
        other._target = targeting.Target(marks.copy(), route.copy(), player, delta)
        other._path, other._dead_ends = dict(self._path), []
        if seed is not None:
            other._settings = self._settings._replace(key=new_key(seed))
        return other

    # ---- play --------------------------------------------------------------------------------

    def match(
        self,
        opponent: Opponent,
        games: int = 1,
        *,
        nodes: int | None = None,
        seconds: float | None = None,
        iterations: int | None = None,
        seat: int | None = None,
        seed: int | None = None,
    ) -> Match:
        """Play against an opponent, searching before every move.

        Each game is played by a copy that starts with the current state and is discarded
        afterwards, so the games are independent and this searcher does not change.

        Parameters
        ----------
        opponent : Strategy, mapping from infoset to mapping from action to float, or OOS
            A strategy is uniform at infosets that it lacks. Another searcher gets the same
            limits, and is copied for each game as well.
        games : int
            Number of games.
        nodes, seconds, iterations
            Limits of the search before each move, as for :meth:`search`.
        seat : int, optional
            The player that this searcher is; by default 0 and 1 in turn.
        seed : int, optional
            Seed of the cards, moves and searches.

        Returns
        -------
        Match
            A list of the games, with the searcher's ``payoffs``, ``mean`` and
            ``standard_error``.

        Raises
        ------
        ValueError
            If an argument is not accepted.
        """
        self._limits(nodes, seconds, iterations)
        whole_number("games", games, 1)
        if seat not in (None, 0, 1):
            raise ValueError(f"seat must be 0, 1 or None, to take turns; got {seat!r}")
        if isinstance(opponent, OOS):
            if repr(opponent.game) != repr(self.game):
                raise ValueError(
                    f"the opponent plays {opponent.game!r}, this searcher {self.game!r}"
                )
        elif not isinstance(opponent, Mapping):
            raise ValueError(
                "the opponent must be a Strategy, a dict of infosets or another OOS, got "
                f"{type(opponent).__name__}; a solution holds its strategy as "
                "solution.strategy"
            )
        budget = {"nodes": nodes, "seconds": seconds, "iterations": iterations}
        match = Match()
        for n, seeds in enumerate(np.random.SeedSequence(seed).spawn(games)):
            here = n % 2 if seat is None else seat
            match.append(self._game(opponent, here, seeds, budget))
        return match

    def _game(
        self, opponent: Opponent, seat: int, seeds: np.random.SeedSequence, budget: Any
    ) -> MatchGame:
        """Play one game."""
        game, mine, theirs, cards = self.game, *seeds.spawn(3)
        rng = np.random.default_rng(cards)
        players: list[Opponent] = [opponent, opponent]
        players[seat] = self
        for i, source in ((seat, mine), (1 - seat, theirs)):
            player = players[i]
            if isinstance(player, OOS):
                players[i] = fresh = player.copy()
                fresh._settings = fresh._settings._replace(key=new_key(source))
        now, moves = game.root(), []
        history: tuple[Action, ...] = ()
        while not isinstance(node := game.node(now), Terminal):
            if isinstance(node, Chance):
                action = pick(node.probabilities, rng.random())
            else:
                row = _policy_of(players[node.player], node, history, budget)
                action = pick(row, rng.random())
                moves.append(Move(node.player, node.infoset, row, action))
            history, now = (*history, action), game.step(now, action)
        return MatchGame(seat, tuple(float(u) for u in node.utilities), history, moves)

    def online_strategy(
        self,
        *,
        nodes: int | None = None,
        iterations: int | None = None,
        runs: int = 1,
        seed: int | None = None,
    ) -> Strategy:
        """Return the expected strategies of two players who search before every move.

        The search at each infoset continues those at the player's earlier infosets, as in a
        match. The result is a mean of realization plans over `runs` seeds: the strategy faced
        by an opponent who does not know the seed.

        Parameters
        ----------
        nodes, iterations : int, optional
            Limits of the search before each move.
        runs : int
            Number of seeds.
        seed : int, optional
            Seed from which those of all runs are derived.

        Raises
        ------
        ValueError
            If an argument is not accepted, or the tree is expanded on demand.

        Examples
        --------
        >>> import cfrlib as cfr
        >>> game = cfr.games.KuhnPoker()
        >>> online = cfr.OOS(game, delta=0.5).online_strategy(nodes=20_000, runs=4, seed=0)
        >>> cfr.exploitability(game, online) < 0.05
        True
        """
        self._limits(nodes, None, iterations)
        tree, form = self._tree, self._form
        if form is None:
            raise ValueError(
                f"the tree of {self.game!r} is expanded on demand, so not all infosets are "
                "known; play matches instead: match(opponent, games=..., nodes=...)"
            )
        below: dict[int, list[int]] = {}
        for I in range(tree.num_infosets):
            below.setdefault(int(tree.owner[tree.infosets[I].parent]), []).append(I)
        plans = np.zeros(form.num_sequences)
        for seeds in np.random.SeedSequence(seed).spawn(whole_number("runs", runs, 1)):
            sigma = form.uniform()
            first = self.copy()
            first._settings = first._settings._replace(key=new_key(seeds))
            open_ = [(first, I) for I in below[-1]]
            while open_:
                before, I = open_.pop()
                after = before.copy()
                after.search(tree.labels[I], nodes=nodes, iterations=iterations)
                row = after.policy(tree.labels[I])
                start = int(tree.infosets[I].start)
                sigma[start : start + len(row)] = list(row.values())
                open_ += [(after, J) for J in below.get(I, ())]
            plans += form.plans(sigma)
        sigma = np.empty(form.num_sequences)
        behavior(form.treeplexes, plans, sigma)
        return Strategy.from_vector(form, sigma)

    def __repr__(self) -> str:
        visited = "" if self._form else f", {self.num_infosets:,} infosets visited"
        return (
            f"OOS({self.game!r}, epsilon={self.epsilon:g}, delta={self.delta:g}): "
            f"{self.iterations:,} iterations, {self.nodes:,} nodes{visited}"
        )


def _policy_of(
    player: Opponent, node: Decision, history: tuple[Action, ...], budget: Any
) -> dict[Action, float]:
    """Return a player's probabilities at a decision, after a search if it is an OOS."""
    if isinstance(player, OOS):
        player.search(history, **budget)
        try:
            return player.policy(node.infoset)
        except KeyError:
            row: Mapping[Action, float] = {}
    else:
        row = player.get(node.infoset, {})
    if not row:
        return dict.fromkeys(node.actions, 1 / len(node.actions))
    try:
        given = probability_row(node.infoset, node.actions, row)
    except ValueError as error:
        raise ValueError(f"the opponent's strategy does not fit: {error}") from None
    return dict(zip(node.actions, given.tolist(), strict=True))
