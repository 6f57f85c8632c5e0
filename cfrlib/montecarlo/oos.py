"""Online outcome sampling: Monte Carlo CFR that computes while it plays.

In a match a player does not need a strategy for the whole game, only a policy at the infoset
where they are to act now. Trajectories that begin *there* would be biased: the probabilities of
the infoset's histories depend on strategies, and these on what happens elsewhere in the game.
So every trajectory begins at the empty history, but some are targeted at the current infoset
(:mod:`cfrlib.montecarlo.targeting`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.rng import LINE, begin, new_key, uniform
from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.core.tree import TERMINAL, Floats
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal, action_label
from cfrlib.montecarlo.partial_tree import UNKNOWN, grown, records
from cfrlib.montecarlo.schemes import ROWS, Scheme
from cfrlib.montecarlo.state import Compiled, OnDemand, Sampled
from cfrlib.montecarlo.targeting import (
    AIM,
    ELSEWHERE,
    ENTRY,
    HERE,
    IN,
    OUT,
    TOWARD,
    Desk,
    Target,
    ascend,
    descend,
    draw_scenario,
    iterate,
    mark_down,
    mark_up,
    rule_out,
    set_out,
    take_aim,
    tally,
)
from cfrlib.montecarlo.updates import (
    OPPONENT,
    Settings,
    close_iteration,
    grow_tables,
    new_tables,
    open_iteration,
)
from cfrlib.regret import Variant, find_variant
from cfrlib.run import deferred_interrupt
from cfrlib.simulate import pick
from cfrlib.strategy import Strategy

# ---- what a player sees ----------------------------------------------------------------------

At: TypeAlias = "str | Sequence[Action] | None"
MOST_LOOKED_AT = 1_000  # histories whose children are looked at when a search begins
Opponent: TypeAlias = "OOS | Mapping[str, Mapping[Action, float]]"


class Searched(NamedTuple):
    """What one search did.

    Attributes
    ----------
    iterations, nodes : int
        Of this search alone.
    walks, targeted, reached : int
        Walks in all; how many were targeted; how many came to the infoset.
    seconds : float
    """

    iterations: int
    nodes: int
    walks: int
    targeted: int
    reached: int
    seconds: float


class Move(NamedTuple):
    """One decision of a match: who, where, with which probabilities, and what was done."""

    player: int
    infoset: str
    probabilities: dict[Action, float]
    action: Action


class Played(NamedTuple):
    """One game of a match.

    Attributes
    ----------
    seat : int
        Which player the searcher was.
    payoffs : tuple of float
        Of both players.
    history : tuple of actions
        Chance's actions included.
    moves : list of Move
        Decisions of both players.
    """

    seat: int
    payoffs: tuple[float, ...]
    history: tuple[Action, ...]
    moves: list[Move]


class Match(list[Played]):
    """The games of a match, in order, and what the searcher won."""

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
        """Of the mean; NaN for a single game."""
        n = len(self)
        return float(self.payoffs.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan

    def __repr__(self) -> str:
        error = f" ± {self.standard_error:.3f}" if len(self) > 1 else ""
        games = f"{len(self):,} game{'s' if len(self) > 1 else ''}"
        return f"Match of {games}: mean payoff {self.mean:+.3f}{error}"


class OOS(Sampled):
    """Online outcome sampling: a player that computes when it is its turn.

    Parameters
    ----------
    game : Game
        Any game of two players. One too large to compile is expanded as the walks go.
    variant : str or Variant
        As for :class:`MCCFR`: ``"cfr"``, the default, is regret matching.
    epsilon : float
        Own actions are drawn with probability ``ε / |A(I)| + (1 − ε) σ(a)``. Above 0, at most
        1.
    delta : float
        The share of walks that are targeted, from 0, which is outcome sampling, to below 1:
        with 1 the rest of the game would never be learned, and the result be biased.
    seed : int, optional
        Two players with the same seed that run the same searches, limited by nodes or
        iterations, have the same policies.
    on_demand : bool, optional
        Whether to expand the tree as the walks go. By default only if the game does not
        compile.
    playout : bool, optional
        Whether a walk adds at most one new infoset to the tree: after it, the walk continues
        uniformly at random to the end and stores nothing. The default if the tree is expanded
        on demand. Without, every infoset met is added.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.

    Notes
    -----
    The algorithm, with information set targeting, and the playouts are those of Lisý, Lanctot
    & Bowling (2015). If the tree is expanded on demand, a history counts as leading to the
    target until it is known not to: because the searching player would decide there at an
    infoset that does not lie in their own past, because the game is over, or because the same
    holds for all its children. A walk looks at the children of each history on its path to the
    target, which does not count as visiting them. The sampling probabilities of a walk are
    computed from what was known when the walk began, so the estimates stay unbiased.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> player = cfr.OOS(cfr.games.KuhnPoker(), seed=0)
    >>> player.search("Q check-bet", iterations=1_000).reached
    1826
    >>> sorted(player.policy("Q check-bet"))
    ['call', 'fold']
    >>> player.copy().search("K", iterations=10).iterations, player.iterations  # its own way
    (10, 1000)
    >>> player.match(cfr.Strategy.uniform(player.game), games=3, iterations=100, seed=0)
    Match of 3 games: mean payoff +0.000 ± 1.000
    """

    _chunk: ClassVar[int]  # iterations at a time

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
        if not isinstance(epsilon, (int, float)) or not 0 < epsilon <= 1:
            raise ValueError(
                "epsilon must lie above 0, so that every action may be drawn, and be at most "
                f"1; got {epsilon!r}"
            )
        if not isinstance(delta, (int, float)) or not 0 <= delta < 1:
            raise ValueError(
                "delta must be at least 0 and below 1: with 1 no walk would visit the rest of "
                f"the game, on which the answer depends; got {delta!r}"
            )
        if isinstance(game, Game) and game.num_players != 2:
            raise ValueError(
                f"online outcome sampling is for two players, {game!r} has "
                f"{game.num_players}: what a walk adds to the average would depend on the "
                'strategies of third players; use cfrlib.MCCFR(..., sampling="outcome")'
            )
        self.variant = find_variant(variant)
        self.epsilon, self.delta = float(epsilon), float(delta)
        self.playout = self._find_playout(playout)
        self._tables = new_tables(self._known, baseline=False)
        actions = max([len(a) for a in self._known.actions_at], default=1)
        self._desk = Desk(
            records(self._longest_path, ENTRY), np.zeros((ROWS, actions)),
            np.zeros(LINE, np.uint64), np.zeros(len(self._known.owner)), np.zeros(3, np.int64),
        )  # fmt: skip
        aim = records(len(self._known.nodes), AIM)
        aim.mark = IN
        way = np.full(len(self._known.infosets), ELSEWHERE, np.int32)
        self._target = Target(aim, way, -1, 0.0)
        self._path: dict[str, Action | None] = {}  # own infosets on the way, None: the target
        self._doomed: list[int] = []  # histories to rule out when the walk under way is over
        self._settings = Settings(
            Scheme(1, self.epsilon, False), OPPONENT, 1, True, *self.variant.exponents,
            self.variant.predictive, 0, 0.0, new_key(seed),
        )  # fmt: skip

    def _find_playout(self, playout: bool | None) -> bool:
        """Return whether walks end in playouts, if that is possible."""
        raise NotImplementedError

    @property
    def _longest_path(self) -> int:
        """The number of histories on the longest path, as far as known."""
        raise NotImplementedError

    # ---- search ------------------------------------------------------------------------------

    def search(
        self,
        at: At = None,
        *,
        nodes: int | None = None,
        seconds: float | None = None,
        iterations: int | None = None,
    ) -> Searched:
        """Run the search at one infoset until the first of the given limits is reached.

        Regrets and strategy sums are kept for later searches, at this infoset or another.

        Parameters
        ----------
        at : str or sequence of actions, optional
            The infoset: its label, or any one of its histories, which is how to name an infoset
            not met before if the tree is expanded on demand. Without, there is no target: plain
            outcome sampling.
        nodes : int, optional
            Histories to visit; the last iteration is completed.
        seconds : float, optional
            Time limit.
        iterations : int, optional
            Iterations, of one walk for each player.

        Returns
        -------
        Searched
            Statistics of the search; :meth:`policy` returns its result.

        Raises
        ------
        ValueError
            If there is no limit, or one is not a positive number; or if `at` is no history at
            which a player decides.
        KeyError
            If there is no such infoset, or it was not met so far.
        """
        end, nodes_end, seconds = self._limits(nodes, seconds, iterations)
        with deferred_interrupt() as interrupted:
            if self.iterations == 0 and seconds < math.inf:  # compile before the clock starts
                warm = self.copy()
                warm._aim(at)
                warm._run(1, 2**62)
            before, visited, counted = self.iterations, self.nodes, self._desk.counts.copy()
            began = time.perf_counter()
            self._aim(at)
            chunk = self._chunk if seconds == math.inf else 1
            while self.iterations < end and self.nodes < nodes_end and not interrupted:
                asked = time.perf_counter()
                if asked - began >= seconds:
                    break
                self._run(min(end, self.iterations + chunk), nodes_end)
                if time.perf_counter() - asked < 0.02:
                    chunk *= 2
        walks, targeted, reached = (int(n) for n in self._desk.counts - counted)
        return Searched(
            self.iterations - before, self.nodes - visited, walks, targeted, reached,
            time.perf_counter() - began,
        )  # fmt: skip

    def _limits(
        self, nodes: int | None, seconds: float | None, iterations: int | None
    ) -> tuple[int, int, float]:
        """Check the limits of a search; return where it ends."""
        if nodes is None and seconds is None and iterations is None:
            raise ValueError(
                "a search needs a limit: nodes=..., iterations=... or seconds=..., e.g. "
                "nodes=10_000"
            )
        if seconds is not None and not 0 < seconds < math.inf:
            raise ValueError(f"seconds must be a number above 0, got {seconds!r}")
        end, nodes_end = 2**62, 2**62
        if iterations is not None:
            end = self.iterations + whole_number("iterations", iterations, 1)
        if nodes is not None:
            nodes_end = self.nodes + whole_number("nodes", nodes, 1)
        return end, nodes_end, math.inf if seconds is None else seconds

    def _run(self, end: int, nodes_end: int) -> None:
        """Run iterations up to `end`, or until so many nodes have been visited."""
        raise NotImplementedError

    # ---- targets -----------------------------------------------------------------------------

    def _aim(self, at: At) -> None:
        """Make an infoset the target."""
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
        known = self._known
        aim, way = self._target.aim, self._target.way
        self._path, self._target = path, Target(aim, way, player, delta)
        n = known.num_histories
        if delta:
            number = self._number
            way[:] = ELSEWHERE
            for label in path:
                if label in number:
                    way[number[label]] = self._goal(number[label])
            aim[0].mark = TOWARD
            take_aim(known.nodes, known.infosets, aim, way, player, n)
            self._look_ahead_of_all()
        if not delta or aim[0].mark == OUT:  # no target, or one that chance never deals
            self._target = Target(aim, way, -1, 0.0)
            aim.mark[:n] = IN

    def _look_ahead_of_all(self) -> None:
        """Rule out what is not expanded yet and does not lead to the target."""

    def _goal(self, I: int) -> int:
        """Return where an infoset stands on the way to the target."""
        known = self._known
        if known.labels[I] not in self._path:
            return ELSEWHERE
        a = self._path[known.labels[I]]
        if a is None:
            return HERE
        return int(known.infosets[I].start) + known.actions_at[I].index(a)

    def _past_of(self, label: str) -> tuple[int, dict[str, Action | None]]:
        """Return whose infoset it is, and what that player did before."""
        I = self._find(label)
        known = self._known
        steps: list[tuple[str, Action | None]] = [(label, None)]
        q = int(known.infosets[I].parent)
        while known.owner[q] >= 0:
            J = int(known.owner[q])
            action = known.actions_at[J][q - int(known.infosets[J].start)]
            steps.append((known.labels[J], action))
            q = int(known.infosets[J].parent)
        return int(known.infosets[I].player), dict(reversed(steps))

    def _past_along(self, h: Sequence[Action]) -> tuple[int, dict[str, Action | None]]:
        """Return who decides at history h, and what that player did before."""
        game = self.game
        now, decisions = game.root(), []
        for n, a in enumerate((*h, None)):
            node = game.node(now)
            if n == len(h):
                break
            legal = () if isinstance(node, Terminal) else tuple(node.actions)
            if a not in legal:
                known = ", ".join(map(repr, legal[:8])) or "none, the game is over"
                raise ValueError(
                    f"{game!r} has no history {tuple(h)!r}: after {tuple(h[:n])!r} the legal "
                    f"actions are {known}"
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
        raise NotImplementedError

    @property
    def _number(self) -> Mapping[str, int]:
        """The numbers of the infosets known by now."""
        raise NotImplementedError

    # ---- results -----------------------------------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """Infosets remembered."""
        return self._known.num_infosets

    def policy(self, infoset: str) -> dict[Action, float]:
        """Return the answer at an infoset: a probability for each action.

        It is the average strategy there, uniform if no walk of the opponent came by.

        Raises
        ------
        KeyError
            If there is no such infoset, or it was not met so far.
        """
        I = self._find(infoset)
        start = int(self._known.infosets[I].start)
        actions = self._known.actions_at[I]
        total = self._tables.table.total[start : start + len(actions)]
        whole = float(total.sum())
        row = total / whole if whole > 0 else np.full(len(actions), 1 / len(actions))
        return dict(zip(actions, row.tolist(), strict=True))

    def copy(self, seed: int | None = None) -> Self:
        """Return a copy that may be searched with by itself; with `seed`, differently."""
        other = super().copy()
        path, scratch, state, gain, counts = self._desk
        other._desk = Desk(
            path.copy(), scratch.copy(), state.copy(), gain.copy(), counts.copy()
        )
        aim, way, player, delta = self._target
        other._target = Target(aim.copy(), way.copy(), player, delta)
        other._path, other._doomed = dict(self._path), []
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

        Every game is played by a copy that begins with what is known now and forgets the game
        afterwards, so the games are independent and this searcher is not changed.

        Parameters
        ----------
        opponent : Strategy, mapping from infoset to mapping from action to float, or OOS
            Infosets it does not hold are played uniformly. Another searcher gets the same
            budget, and likewise forgets.
        games : int
            How many.
        nodes, seconds, iterations
            The budget of each move, as for :meth:`search`.
        seat : int, optional
            The player to be; left out: in turn 0 and 1.
        seed : int, optional
            Of cards, moves and searches.

        Returns
        -------
        Match
            A list of the games; ``payoffs``, ``mean`` and ``standard_error`` of this searcher.

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
        played = Match()
        for n, seeds in enumerate(np.random.SeedSequence(seed).spawn(games)):
            here = n % 2 if seat is None else seat
            played.append(self._game(opponent, here, seeds, budget))
        return played

    def _game(
        self, opponent: Opponent, seat: int, seeds: np.random.SeedSequence, budget: Any
    ) -> Played:
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
                row = _answer(players[node.player], node, history, budget)
                action = pick(row, rng.random())
                moves.append(Move(node.player, node.infoset, row, action))
            history, now = (*history, action), game.step(now, action)
        return Played(seat, tuple(float(u) for u in node.utilities), history, moves)

    def online_strategy(
        self,
        *,
        nodes: int | None = None,
        iterations: int | None = None,
        runs: int = 1,
        seed: int | None = None,
    ) -> Strategy:
        """Return what both players play, on average, who search before every move.

        At every infoset the search continues those at the player's earlier infosets on the way
        there, as in a match. The mean over `runs` seeds is a mean of plans, as an opponent
        sees it who does not know the seed.

        Parameters
        ----------
        nodes, iterations : int, optional
            The budget of each move.
        runs : int
            How many seeds.
        seed : int, optional
            Of the first.

        Raises
        ------
        ValueError
            If an argument is not accepted, or the game is not compiled.

        Examples
        --------
        >>> import cfrlib as cfr
        >>> game = cfr.games.KuhnPoker()
        >>> online = cfr.OOS(game, delta=0.5).online_strategy(nodes=20_000, runs=4, seed=0)
        >>> cfr.exploitability(game, online) < 0.05
        True
        """
        self._limits(nodes, None, iterations)
        known, form = self._known, sequence_form(self.game)
        below: dict[int, list[int]] = {}
        for I in range(known.num_infosets):
            below.setdefault(int(known.owner[known.infosets[I].parent]), []).append(I)
        plans = np.zeros(form.num_sequences)
        for seeds in np.random.SeedSequence(seed).spawn(whole_number("runs", runs, 1)):
            sigma = form.uniform()
            first = self.copy()
            first._settings = first._settings._replace(key=new_key(seeds))
            open_ = [(first, I) for I in below[-1]]
            while open_:
                before, I = open_.pop()
                after = before.copy()
                after.search(known.labels[I], nodes=nodes, iterations=iterations)
                row = after.policy(known.labels[I])
                start = int(known.infosets[I].start)
                sigma[start : start + len(row)] = list(row.values())
                open_ += [(after, J) for J in below.get(I, ())]
            plans += form.plans(sigma)
        sigma = np.empty(form.num_sequences)
        behavior(form.treeplexes, plans, sigma)
        return Strategy.from_vector(form, sigma)

    def __repr__(self) -> str:
        return (
            f"OOS({self.game!r}, epsilon={self.epsilon:g}, delta={self.delta:g}): "
            f"{self.iterations:,} iterations, {self.nodes:,} nodes"
        )


class CompiledOOS(Compiled, OOS):
    """Online outcome sampling on a compiled tree."""

    _chunk = 10_000  # iterations between two looks for an interrupt: some 20 ms

    def _find_playout(self, playout: bool | None) -> bool:
        if playout:
            raise ValueError(
                f"{self.game!r} is compiled, so its infosets are all remembered; leave playout "
                "out, or explore the game on the way with on_demand=True"
            )
        return False

    @property
    def _longest_path(self) -> int:
        return len(self._form.tree.level_start)

    def _run(self, end: int, nodes_end: int) -> None:
        iterate(
            self._known.arrays, self._tables, self._settings, self._target, self._desk,
            self.iterations + 1, end, nodes_end,
        )  # fmt: skip

    def _find(self, label: str) -> int:
        known, number = self._known, self._number.get(label)
        if number is None:
            some = ", ".join(map(repr, known.labels[:6]))
            raise KeyError(f"no infoset {label!r}; {self.game!r} has {some}")
        return number

    @property
    def _number(self) -> Mapping[str, int]:
        return self._form.infoset_number


class OnDemandOOS(OnDemand, OOS):
    """Online outcome sampling on a tree that is expanded as the walks go."""

    _chunk = 1

    def _find_playout(self, playout: bool | None) -> bool:
        return True if playout is None else bool(playout)

    @property
    def _longest_path(self) -> int:
        return 1

    def _run(self, end: int, nodes_end: int) -> None:
        while self.iterations < end and self.nodes < nodes_end:
            t = self.iterations + 1
            open_iteration(self._tables.ledger, self._settings, t)
            for i in range(2):
                self._explore(t, i)
            close_iteration(self._tables.ledger, t)

    def _explore(self, t: int, i: int) -> None:
        """Take one walk, expanding histories not met before."""
        known, settings, delta = self._known, self._settings, self._target.delta
        begin(self._desk.state, settings.key, t, i, 0)
        targeted = draw_scenario(self._desk.state, delta)
        set_out(self._desk.path)
        k, news, played, value = 0, False, 0, math.nan
        while True:
            table, aim, desk = self._tables.table, self._target.aim, self._desk
            k = descend(known.arrays, table, aim, self.epsilon, targeted, i, desk, k)
            h = int(self._desk.path[k].node)
            if known.nodes[h].player == TERMINAL:
                value = float(known.utility[h, i])
                break
            if known.nodes[h].player == UNKNOWN:
                if news and self._joined:  # one infoset has joined: the rest is a playout
                    value, played = self._play_out(h, i)
                    break
                self._enter(h)
                news = True
            self._make_room(k + 2)
        path = self._desk.path
        path[k].value = value
        ascend(known.arrays, self._tables, settings, delta, i, self._desk, k)
        aim, way, player, _ = self._target
        tally(aim, delta, targeted, path, self._desk.counts, k)
        if news and player >= 0:
            aim.mark[self._doomed] = OUT
            self._doomed.clear()
            rule_out(known.nodes, aim, way, player, path, k)
        self._joined = False
        self._tables.ledger[0].nodes += k + 1 + played

    _joined = False  # whether the walk under way has met a new infoset, after which to play out

    def _enter(self, h: int) -> None:
        """Expand history h, and grow the arrays that it makes too short."""
        known, before = self._known, self._known.num_infosets
        known.expand(h)
        self._joined = self.playout and before < known.num_infosets
        self._tables = grow_tables(self._tables, known, before)
        aim, way, player, delta = self._target
        aim, way = grown(aim, len(known.nodes)), grown(way, len(known.infosets))
        self._target = Target(aim, way, player, delta)
        for new in range(before, known.num_infosets):
            way[new] = self._goal(new)
        mark_down(known.nodes, known.infosets, aim, way, player, h, True)
        if aim[h].mark == TOWARD:
            self._look_ahead(h)

    def _look_ahead(self, h: int) -> None:
        """Rule out children of h that do not lead to the target.

        The rules are asked what they are, and the answers are not stored. If no child is left,
        all of them count as leading to the target until the current walk is over, and h is
        ruled out after it.
        """
        known, (aim, _, player, _) = self._known, self._target
        first = int(known.nodes[h].first_child)
        children = range(first, first + int(known.nodes[h].num_children))
        dead = []
        for c in children:
            if aim[c].mark == TOWARD and known.nodes[c].player == UNKNOWN:
                node = self.game.node(known._history[c])
                if isinstance(node, Decision):
                    elsewhere = node.player == player and node.infoset not in self._path
                else:
                    elsewhere = isinstance(node, Terminal)
                if elsewhere:
                    dead.append(c)
        alive = {c for c in children if aim[c].mark != OUT}.difference(dead)
        if alive:
            aim.mark[dead] = OUT
            mark_up(known.nodes, aim, h)
        else:
            self._doomed.append(h)

    def _make_room(self, entries: int) -> None:
        """Grow the scratch arrays to this many entries, and to the most actions known."""
        known, desk = self._known, self._desk
        actions = len(known.actions_at[-1]) if known.actions_at else 1
        self._desk = Desk(
            grown(desk.path, entries), grown(desk.scratch, actions, axis=1), desk.state,
            grown(desk.gain, len(known.owner)), desk.counts,
        )  # fmt: skip

    def _play_out(self, h: int, i: int) -> tuple[float, int]:
        """Go on to the end, remembering nothing; return the payoff and how many steps it took.

        Everybody's actions are drawn as they are played, so nothing need be weighted.
        """
        history: History = self._known._history[h]
        game, state = self.game, self._desk.state
        row: Mapping[Action, float]
        for steps in range(1_000_000):
            node = game.node(history)
            if isinstance(node, Terminal):
                return float(node.utilities[i]), steps
            if isinstance(node, Chance):
                self._known.check_chance(h, node.probabilities)
                row = node.probabilities
            elif node.infoset in self._known.infoset_of_label:
                I = self._known.infosets[self._known.infoset_of_label[node.infoset]]
                sigma = self._tables.table.sigma[I.start : I.stop]
                row = dict(zip(node.actions, sigma.tolist(), strict=True))
            else:
                row = dict.fromkeys(node.actions, 1 / len(node.actions))
            history = game.step(history, pick(row, uniform(state)))
        raise ValueError(f"{game!r} did not end within a million actions")

    def _look_ahead_of_all(self) -> None:
        known, (aim, *_), n = self._known, self._target, self._known.num_histories
        ways = (aim.mark[:n] == TOWARD) & (known.nodes.player[:n] != UNKNOWN)
        for h in np.flatnonzero(ways)[:MOST_LOOKED_AT]:
            self._look_ahead(int(h))
        aim.mark[self._doomed] = OUT
        self._doomed.clear()
        for h in range(n - 1, -1, -1):
            mark_up(known.nodes, aim, h)

    def _find(self, label: str) -> int:
        known, number = self._known, self._number.get(label)
        if number is None or number >= known.num_infosets:
            some = ", ".join([*map(repr, known.labels[:6]), "…"])
            raise KeyError(
                f"infoset {label!r} was not met so far: name it by one of its histories, "
                f"search((...), nodes=...), or search longer; {self.game!r} has {some}"
            )
        return number

    @property
    def _number(self) -> Mapping[str, int]:
        return self._known.infoset_of_label

    def online_strategy(self, **budget: Any) -> Strategy:
        """Raise a ValueError: the infosets are not all known."""
        raise ValueError(
            f"{self.game!r} is explored on the way, so its infosets are not all known; "
            "play matches instead: match(opponent, games=..., nodes=...)"
        )

    def __repr__(self) -> str:
        return f"{super().__repr__()}, {self.num_infosets:,} infosets met"


OOS.KINDS = (CompiledOOS, OnDemandOOS)


def _answer(
    player: Opponent, node: Decision, history: tuple[Action, ...], budget: Any
) -> dict[Action, float]:
    """Return how a player moves."""
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
    unknown = [a for a in row if a not in node.actions]
    given = [float(row.get(a, 0.0)) for a in node.actions]
    if unknown or min(given) < 0 or abs(sum(given) - 1) > 1e-9:
        wrong = f"{action_label(unknown[0])} is no action" if unknown else "no probabilities"
        raise ValueError(
            f"the opponent's row at infoset {node.infoset!r} does not fit: {wrong}: {row!r}"
        )
    return dict(zip(node.actions, given, strict=True))
