"""Online outcome sampling: Monte Carlo CFR that computes while it plays.

In a match a player does not need a strategy for the whole game, only an answer at the infoset
where he is to act now. Samples that begin *there* would be biased: how likely the histories of
the infoset are depends on strategies, and these on what everybody expects elsewhere. So every
sample begins at the empty history, but with probability δ it is *targeted*: it takes only
steps that can still lead to the current infoset. Otherwise it is an ordinary sample of outcome
sampling. With s₁ and s₂ the probabilities that a targeted and an ordinary sample come to h,

    q(h)  = δ s₁(h) + (1 − δ) s₂(h)          the sample comes to h
    û(h)  = p(c) v̂(c),  v̂(c) = û(c) q(h) / q(c)          for the child c it goes on to
    r̃(a)  = (v̂(a) − û(h)) · π_-i(h) / q(h),  v̂(a) = 0 for the other actions

where p is f_c or σ. Whatever δ < 1 is, r̃ is the regret on average (Lisý, Lanctot & Bowling,
2015). The only randomness is in functions whose names begin with `draw`.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.batches import (
    OPPONENT,
    Known,
    Settings,
    Tables,
    add_regrets,
    close_iteration,
    make_uniform,
    new_tables,
    normalize,
    open_iteration,
)
from cfrlib.explored import UNKNOWN, Explored, Records, grown, tree_if_it_fits
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal, action_label
from cfrlib.regret import Variant, find_variant
from cfrlib.run import deferred_interrupt, whole_number
from cfrlib.sampling import (
    LINE,
    RHO,
    ROWS,
    P,
    Scheme,
    State,
    V,
    begin,
    draw_chance,
    draw_rest,
    uniform,
)
from cfrlib.sequence import behavior, sequence_form
from cfrlib.sequence import lean as kernel
from cfrlib.strategy import PartialStrategy, Regrets, Strategy
from cfrlib.tree import CHANCE, TERMINAL, Floats, Ints

# ---- where the target is ---------------------------------------------------------------------

OUT, TOWARD, IN = range(3)  # marks: cannot lead to the target; may; is there, or past it
ELSEWHERE, HERE = -1, -2  # of an own infoset: not on the way to the target; the target

AIM = np.dtype(
    [
        ("mark", "i4"),
        ("cumulative", "f8"),  # chance, added up over the siblings that are not OUT up to this
    ],
    align=True,
)


@kernel
def mark_down(
    nodes: Records, infosets: Records, aim: Records, way: Ints, player: int, k: int, wait: bool
) -> None:
    """Mark the children of history k, as far as its own mark and `player`'s past tell.

    With `wait`, a decision that is not on the way stays a way: for the walk that just met it.
    """
    h, mark = nodes[k], aim[k].mark
    goal, start = ELSEWHERE, 0
    if mark == TOWARD and h.player == player:
        goal, start = way[h.infoset], infosets[h.infoset].start
        if goal == HERE:
            mark = IN
        elif goal == ELSEWHERE and not wait:
            mark = OUT
        aim[k].mark = mark
    for a in range(h.num_children):
        c = h.first_child + a
        aim[c].mark = OUT if goal >= 0 and goal != start + a else mark
        aim[c].cumulative = nodes[c].cumulative


@kernel
def mark_up(nodes: Records, aim: Records, k: int) -> None:
    """Rule out history k if all its children are; add up what chance has left."""
    h, total = nodes[k], 0.0
    if aim[k].mark == TOWARD and h.player != UNKNOWN:
        possible = False
        for c in range(h.first_child, h.first_child + h.num_children):
            if h.player == CHANCE and nodes[c].probability == 0.0:
                aim[c].mark = OUT
            if aim[c].mark != OUT:
                possible = True
                total += nodes[c].probability
            aim[c].cumulative = total
        if not possible:
            aim[k].mark = OUT


@kernel
def take_aim(
    nodes: Records, infosets: Records, aim: Records, way: Ints, player: int, count: int
) -> None:
    """Mark all known histories; each comes before its children."""
    for k in range(count):
        mark_down(nodes, infosets, aim, way, player, k, False)
    for k in range(count - 1, -1, -1):
        mark_up(nodes, aim, k)


@kernel
def rule_out(
    nodes: Records, aim: Records, way: Ints, player: int, path: Records, k: int
) -> None:
    """Draw the conclusions, from entry k of a path upward, of what the walk has met."""
    for j in range(k, -1, -1):
        n = path[j].node
        own = aim[n].mark == TOWARD and nodes[n].player == player
        if own and way[nodes[n].infoset] == ELSEWHERE:
            aim[n].mark = OUT
        mark_up(nodes, aim, n)


# ---- one walk --------------------------------------------------------------------------------

# A walk is a path: a row of records, from the empty history down.
ENTRY = np.dtype(
    [
        ("node", "i4"),  # the history
        ("s1", "f8"),  # probability that a targeted walk comes here …
        ("s2", "f8"),  # … and an ordinary one
        ("others", "f8"),  # π_-i, chance included
        ("p", "f8"),  # of the last step, under f_c or σ
        ("value", "f8"),  # û, the estimate of player i's expected payoff from here on
    ],
    align=True,
)
WALKS, TARGETED, REACHED = range(3)  # what is counted


class Target(NamedTuple):
    """What a search aims at, as the kernels read it.

    Attributes
    ----------
    aim : record array of AIM, shape (histories,)
    way : int array, shape (infosets,)
        Of the searching player's infosets: HERE, the sequence that leads on, or ELSEWHERE.
    player : int
        The searching player; -1 if there is no target.
    delta : float
        Share of the walks that are targeted; 0 if there is no target.
    """

    aim: Records
    way: Ints
    player: int
    delta: float


class Desk(NamedTuple):
    """Where a walk is worked out: its path, room for one decision, random numbers, counts."""

    path: Records
    scratch: Floats
    state: State
    gain: Floats
    counts: npt.NDArray[np.int64]


@kernel
def draw_scenario(state: State, lane: int, delta: float) -> bool:
    """Return whether a walk is targeted. Nothing is drawn if none ever is."""
    return delta > 0.0 and uniform(state, lane) < delta


@kernel
def draw_aimed(state: State, lane: int, aim: Records, start: int, stop: int) -> int:
    """Return one of the children start … stop - 1 of a chance event that are not OUT."""
    u = uniform(state, lane) * aim[stop - 1].cumulative
    while stop - start > 1:
        middle = (start + stop) // 2
        if u < aim[middle - 1].cumulative:
            stop = middle
        else:
            start = middle
    while aim[start].mark == OUT:  # the product has been rounded up
        start -= 1
    return start


@kernel
def set_out(path: Records) -> None:
    """Begin a walk at the empty history."""
    e = path[0]
    e.node, e.s1, e.s2, e.others, e.p = 0, 1.0, 1.0, 1.0, 1.0


@kernel
def descend(
    nodes: Records, infosets: Records, table: Records, aim: Records, epsilon: float,
    targeted: bool, i: int, path: Records, scratch: Floats, state: State, k: int,
) -> int:  # fmt: skip
    """Go down from entry k; return the last entry.

    It is the end of the game, or a history whose rules have not been asked yet, or the path is
    full.
    """
    while (
        nodes[path[k].node].player != TERMINAL
        and nodes[path[k].node].player != UNKNOWN
        and k + 1 < len(path)
    ):
        step(nodes, infosets, table, aim, epsilon, targeted, i, path, scratch, state, k)
        k += 1
    return k


@kernel
def step(
    nodes: Records, infosets: Records, table: Records, aim: Records, epsilon: float,
    targeted: bool, i: int, path: Records, scratch: Floats, state: State, k: int,
) -> None:  # fmt: skip
    """Take one step down, from entry k to the next."""
    e, f = path[k], path[k + 1]
    h, restricted = nodes[e.node], aim[e.node].mark == TOWARD
    first, n = h.first_child, h.num_children
    if h.player == CHANCE:
        left = aim[first + n - 1].cumulative if restricted else 1.0
        if targeted and restricted:
            c = draw_aimed(state, 0, aim, first, first + n)
        else:
            c = draw_chance(state, 0, nodes, first, first + n)
        f.p = nodes[c].probability
        p1, p2 = f.p / left, f.p
    else:
        start = infosets[h.infoset].start
        left = weigh(table, aim, epsilon, h.player == i, restricted, start, first, n, scratch)
        for a in range(n):
            scratch[0, P, a] = scratch[0, V, a] if targeted else scratch[0, RHO, a]
        a = draw_rest(state, 0, scratch, n, left if targeted else 1.0)
        c = first + a
        f.p = table[start + a].sigma
        p1, p2 = scratch[0, V, a] / left, scratch[0, RHO, a]
    f.node = c
    f.s1 = e.s1 * p1 if aim[c].mark != OUT else 0.0
    f.s2 = e.s2 * p2
    f.others = e.others if h.player == i else e.others * f.p


@kernel
def weigh(
    table: Records, aim: Records, epsilon: float, own: bool, restricted: bool, start: int,
    first: int, n: int, scratch: Floats,
) -> float:  # fmt: skip
    """Write how an ordinary walk draws an action to row RHO, a targeted one to row V.

    The latter: the former, restricted to what may lead to the target; all of that equally, if
    nobody plays there. Return the sum of row V.
    """
    total = 0.0
    for a in range(n):
        s = table[start + a].sigma
        scratch[0, RHO, a] = epsilon / n + (1.0 - epsilon) * s if own else s
        ruled_out = restricted and aim[first + a].mark == OUT
        scratch[0, V, a] = 0.0 if ruled_out else scratch[0, RHO, a]
        total += scratch[0, V, a]
    if total == 0.0:
        for a in range(n):
            if aim[first + a].mark != OUT:
                scratch[0, V, a] = 1.0
                total += 1.0
    return total


@kernel
def ascend(
    nodes: Records, infosets: Records, table: Records, memory: Records, ledger: Records,
    settings: Settings, delta: float, i: int, path: Records, gain: Floats, k: int,
) -> None:  # fmt: skip
    """Go up from entry k, whose value is known; learn at every infoset on the way."""
    for j in range(k - 1, -1, -1):
        e, f = path[j], path[j + 1]
        h, q = nodes[e.node], delta * e.s1 + (1.0 - delta) * e.s2
        v = f.value * q / (delta * f.s1 + (1.0 - delta) * f.s2)
        e.value = f.p * v
        if h.player == i:
            start = infosets[h.infoset].start
            for a in range(h.num_children):
                found = v if f.node == h.first_child + a else 0.0
                gain[0, start + a] = (found - e.value) * e.others / q
            add_regrets(infosets, table, memory, ledger, settings, gain, h.infoset)
        elif h.player >= 0:
            start = infosets[h.infoset].start
            for a in range(start, start + h.num_children):
                table[a].total += ledger[0].weight * e.others / q * table[a].sigma


@kernel
def tally(
    aim: Records, delta: float, targeted: bool, path: Records, count: Any, k: int
) -> None:
    """Count a walk that ends at entry k."""
    count[WALKS] += 1
    count[TARGETED] += targeted
    count[REACHED] += delta > 0.0 and aim[path[k].node].mark == IN


@kernel
def iterate(
    known: Known, tables: Tables, settings: Settings, target: Target, desk: Desk, first: int,
    most: int, nodes_most: int,
) -> None:  # fmt: skip
    """Run iterations first … most, or until so many nodes have been visited."""
    nodes, utility, infosets, _ = known
    table, memory, ledger, _ = tables
    aim, _, _, delta = target
    path, scratch, state, gain, counts = desk
    epsilon = settings.scheme.epsilon
    t = first
    while t <= most and ledger[0].nodes < nodes_most:
        open_iteration(ledger, settings, t)
        for i in range(utility.shape[1]):
            begin(state, 0, settings.key, t, i, 0)
            targeted = draw_scenario(state, 0, delta)
            set_out(path)
            k = descend(
                nodes, infosets, table, aim, epsilon, targeted, i, path, scratch, state, 0
            )
            path[k].value = utility[path[k].node, i]
            ascend(nodes, infosets, table, memory, ledger, settings, delta, i, path, gain, k)
            tally(aim, delta, targeted, path, counts, k)
            ledger[0].nodes += k + 1
        close_iteration(ledger, t)
        t += 1


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


class OOS:
    """Online outcome sampling: a player that computes when it is its turn.

    Parameters
    ----------
    game : Game
        Any game of two players. One too large to compile is explored as the walks go.
    variant : str or Variant
        As for :class:`MCCFR`: ``"cfr"``, the default, is regret matching.
    epsilon : float
        Own actions are drawn with probability ε / |A(I)| + (1 − ε) σ(a). Above 0, at most 1.
    delta : float
        The share of walks that are targeted, from 0, which is outcome sampling, to below 1:
        with 1 the rest of the game would never be learned, and the result be biased.
    seed : int, optional
        Two players with the same seed that are asked the same, with budgets of nodes or
        iterations, give the same answers.
    lazy : bool, optional
        Whether to explore the game on the way even if it compiles.
    playout : bool, optional
        Whether to remember at most one new infoset per walk: having met one, a walk goes on
        uniformly to the end and forgets what it sees there. By default where the game is
        explored on the way. Without, everything met is remembered.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.

    Notes
    -----
    The algorithm, with information set targeting, and the playouts are those of Lisý, Lanctot
    & Bowling (2015). On a game that is explored on the way, every history counts as a possible
    way to the target until it is known not to be one: because the searching player would
    decide there at an infoset that is not on his own past, because the game is over, or
    because that holds for all its children. A walk that meets a history on the way asks what
    its children are, which does not count as visiting them. Walks are judged by what was known
    when they began, so nothing is biased by this either.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> player = cfr.OOS(cfr.games.KuhnPoker(), seed=0)
    >>> player.search("Q check-bet", iterations=1_000).reached
    1826
    >>> sorted(player.move("Q check-bet"))
    ['call', 'fold']
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
        lazy: bool | None = None,
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
        tree = None if lazy else tree_if_it_fits(game, required=lazy is not None)
        self.game, self.variant = game, find_variant(variant)
        self.epsilon, self.delta = float(epsilon), float(delta)
        self._known = Explored(game) if tree is None else Explored.of(tree)
        self.playout = tree is None if playout is None else bool(playout)
        if self.playout and tree is not None:
            raise ValueError(
                f"{self.game!r} is compiled, so its infosets are all remembered; leave playout "
                "out, or explore the game on the way with lazy=True"
            )
        self._tables = new_tables(self._known, baseline=False)
        actions = max([len(a) for a in self._known.actions_at], default=1)
        entries = 1 if tree is None else len(tree.level_start)  # the longest path
        self._desk = Desk(
            _records(entries, ENTRY), np.zeros((1, ROWS, actions)),
            np.zeros((1, LINE), np.uint64), np.zeros((1, len(self._known.owner))),
            np.zeros(3, np.int64),
        )  # fmt: skip
        aim = _records(len(self._known.nodes), AIM)
        aim.mark = IN
        way = np.full(len(self._known.infosets), ELSEWHERE, np.int32)
        self._target = Target(aim, way, -1, 0.0)
        self._path: dict[str, Action | None] = {}  # own infosets on the way, None: the target
        self._doomed: list[int] = []  # histories to rule out when the walk under way is over
        self._settings = Settings(
            Scheme(1, self.epsilon, False), OPPONENT, 1, True, float(self.variant.alpha),
            float(self.variant.beta), float(self.variant.gamma), self.variant.predictive, 0,
            0.0, _key(np.random.SeedSequence(seed)),
        )  # fmt: skip

    # ---- search ------------------------------------------------------------------------------

    def search(
        self,
        at: At = None,
        *,
        nodes: int | None = None,
        seconds: float | None = None,
        iterations: int | None = None,
    ) -> Searched:
        """Think about one infoset, until the first of the given limits.

        What is learned is kept for later searches, at this infoset or another.

        Parameters
        ----------
        at : str or sequence of actions, optional
            The infoset: its label, or any one of its histories, which is how to name an infoset
            not met before if the game is explored on the way. Left out: no target, plain
            outcome sampling.
        nodes : int, optional
            Histories to visit; the last iteration is completed.
        seconds : float, optional
            Time to take.
        iterations : int, optional
            Iterations, of one walk for each player.

        Returns
        -------
        Searched
            What was done; :meth:`move` gives the answer.

        Raises
        ------
        ValueError
            If there is no limit, or one is not a positive number; or if `at` is no history at
            which a player decides.
        KeyError
            If there is no such infoset, or it was not met so far.
        """
        end, nodes_end, seconds = self._limits(nodes, seconds, iterations)
        if self.iterations == 0 and seconds < math.inf:  # compile before the clock starts
            warm = self.copy()
            warm._aim(at)
            warm._run(1, 2**62)
        before, visited, counted = self.iterations, self.nodes, self._desk.counts.copy()
        began = time.perf_counter()
        self._aim(at)
        chunk = 10_000 if self._known.whole and seconds == math.inf else 1  # some 20 ms
        with deferred_interrupt() as interrupted:
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
        if self._known.whole:
            known = Known(*(getattr(self._known, name) for name in Known._fields))
            iterate(
                known, self._tables, self._settings, self._target, self._desk,
                self.iterations + 1, end, nodes_end,
            )  # fmt: skip
        else:
            while self.iterations < end and self.nodes < nodes_end:
                t = self.iterations + 1
                open_iteration(self._tables.ledger, self._settings, t)
                for i in range(2):
                    self._explore(t, i)
                close_iteration(self._tables.ledger, t)

    def _explore(self, t: int, i: int) -> None:
        """Take one walk, asking the rules about histories not met before."""
        known, settings, delta = self._known, self._settings, self._target.delta
        begin(self._desk.state, 0, settings.key, t, i, 0)
        targeted = draw_scenario(self._desk.state, 0, delta)
        set_out(self._desk.path)
        k, news, played, value = 0, False, 0, math.nan
        while True:
            k = descend(
                known.nodes, known.infosets, self._tables.table, self._target.aim,
                self.epsilon, targeted, i, self._desk.path, self._desk.scratch,
                self._desk.state, k,
            )  # fmt: skip
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
        table, memory, ledger, _ = self._tables
        ascend(
            known.nodes, known.infosets, table, memory, ledger, settings, delta, i, path,
            self._desk.gain, k,
        )  # fmt: skip
        aim, way, player, _ = self._target
        tally(aim, delta, targeted, path, self._desk.counts, k)
        if news and player >= 0:
            aim.mark[self._doomed] = OUT
            self._doomed.clear()
            rule_out(known.nodes, aim, way, player, path, k)
        self._joined = False
        ledger[0].nodes += k + 1 + played

    _joined = False  # whether the walk under way has met a new infoset, after which to play out

    def _enter(self, h: int) -> None:
        """Ask what history h is, and make room for what it brings."""
        known, before = self._known, self._known.num_infosets
        known.expand(h)
        I, infosets, sequences = known.num_infosets, len(known.infosets), len(known.owner)
        self._joined = self.playout and before < I
        self._tables = Tables(
            grown(self._tables.table, sequences), grown(self._tables.memory, infosets),
            self._tables.ledger, self._tables.baseline,
        )  # fmt: skip
        make_uniform(known.infosets, self._tables.table, before, I)
        aim, way, player, delta = self._target
        aim, way = grown(aim, len(known.nodes)), grown(way, infosets)
        self._target = Target(aim, way, player, delta)
        for new in range(before, I):
            way[new] = self._goal(new)
        mark_down(known.nodes, known.infosets, aim, way, player, h, True)
        if aim[h].mark == TOWARD:
            self._look_ahead(h)

    def _look_ahead(self, h: int) -> None:
        """Rule out children of h that are no way to the target themselves.

        What they are is asked, but not remembered. If that leaves none, all stay ways for the
        walk under way, and h is one no longer when it is over.
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
        """Let a path have so many entries, and a decision as many actions as there are."""
        known, desk = self._known, self._desk
        actions = len(known.actions_at[-1]) if known.actions_at else 1
        self._desk = Desk(
            grown(desk.path, entries), grown(desk.scratch, actions, axis=2), desk.state,
            grown(desk.gain, len(known.owner), axis=1), desk.counts,
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
            history = game.step(history, _pick(row, uniform(state, 0)))
        raise ValueError(f"{game!r} did not end within a million actions")

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
            number = self._form.infoset_number if known.whole else known.infoset_of_label
            way[:] = ELSEWHERE
            for label in path:
                if label in number:
                    way[number[label]] = self._goal(number[label])
            aim[0].mark = TOWARD
            take_aim(known.nodes, known.infosets, aim, way, player, n)
            if not known.whole:
                ways = (aim.mark[:n] == TOWARD) & (known.nodes.player[:n] != UNKNOWN)
                for h in np.flatnonzero(ways)[:MOST_LOOKED_AT]:
                    self._look_ahead(int(h))
                aim.mark[self._doomed] = OUT
                self._doomed.clear()
                for h in range(n - 1, -1, -1):
                    mark_up(known.nodes, aim, h)
        if not delta or aim[0].mark == OUT:  # no target, or one that chance never deals
            self._target = Target(aim, way, -1, 0.0)
            aim.mark[:n] = IN

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
        known = self._known
        if known.whole:
            number = self._form.infoset_number.get(label)
        else:
            number = known.infoset_of_label.get(label)
        if number is None or number >= known.num_infosets:
            some = ", ".join(map(repr, known.labels[:6])) + ("" if known.whole else ", …")
            if known.whole:
                raise KeyError(f"no infoset {label!r}; {self.game!r} has {some}")
            raise KeyError(
                f"infoset {label!r} was not met so far: name it by one of its histories, "
                f"search((...), nodes=...), or search longer; {self.game!r} has {some}"
            )
        return int(number)

    @property
    def _form(self) -> Any:
        return sequence_form(self.game)

    # ---- results -----------------------------------------------------------------------------

    @property
    def iterations(self) -> int:
        """Iterations of all searches."""
        return int(self._tables.ledger[0].done)

    @property
    def nodes(self) -> int:
        """Histories visited in all searches."""
        return int(self._tables.ledger[0].nodes)

    @property
    def num_infosets(self) -> int:
        """Infosets remembered."""
        return self._known.num_infosets

    @property
    def average(self) -> Strategy | PartialStrategy:
        """The average strategy up to now: a `Strategy`, or a `PartialStrategy`.

        What to play. Where nothing is known it is uniform.
        """
        known, sigma = self._known, np.ones(self._known.num_sequences)
        total = np.ascontiguousarray(self._tables.table.total)
        normalize(known.infosets, total, sigma, known.num_infosets)
        return self._strategy(sigma)

    @property
    def current(self) -> Strategy | PartialStrategy:
        """The strategy that the next iteration will use."""
        known = self._known
        sigma = self._tables.table.sigma[: known.num_sequences].copy()
        sigma[known.owner[: known.num_sequences] < 0] = 1.0
        return self._strategy(sigma)

    @property
    def regrets(self) -> Regrets:
        """Cumulative sampled regrets R(I, a), in units of the game."""
        labels = self._form if self._known.whole else self._known.snapshot()
        return Regrets(labels, self._tables.table.regret[: self._known.num_sequences])

    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        if self._known.whole:
            return Strategy.from_vector(self._form, sigma)
        return PartialStrategy(self._known.snapshot(), sigma)

    def move(self, infoset: str) -> dict[Action, float]:
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
        other = copy.copy(self)
        other._tables = Tables(*(array.copy() for array in self._tables))
        path, scratch, state, gain, counts = self._desk
        other._desk = Desk(
            path.copy(), scratch.copy(), state.copy(), gain.copy(), counts.copy()
        )
        aim, way, player, delta = self._target
        other._target = Target(aim.copy(), way.copy(), player, delta)
        other._path, other._doomed = dict(self._path), []
        if not self._known.whole:
            other._known = copy.copy(self._known)
            for name, thing in vars(self._known).items():
                if isinstance(thing, (np.ndarray, list, dict)):
                    setattr(other._known, name, thing.copy())
        if seed is not None:
            other._settings = self._settings._replace(key=_key(np.random.SeedSequence(seed)))
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
                fresh._settings = fresh._settings._replace(key=_key(source))
        now, moves = game.root(), []
        history: tuple[Action, ...] = ()
        while not isinstance(node := game.node(now), Terminal):
            if isinstance(node, Chance):
                action = _pick(node.probabilities, rng.random())
            else:
                row = _answer(players[node.player], node, history, budget)
                action = _pick(row, rng.random())
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
        if not self._known.whole:
            raise ValueError(
                f"{self.game!r} is explored on the way, so its infosets are not all known; "
                "play matches instead: match(opponent, games=..., nodes=...)"
            )
        form, known = self._form, self._known
        below: dict[int, list[int]] = {}
        for I in range(known.num_infosets):
            below.setdefault(int(known.owner[known.infosets[I].parent]), []).append(I)
        plans = np.zeros(form.num_sequences)
        for seeds in np.random.SeedSequence(seed).spawn(whole_number("runs", runs, 1)):
            sigma = form.uniform()
            first = self.copy()
            first._settings = first._settings._replace(key=_key(seeds))
            open_ = [(first, I) for I in below[-1]]
            while open_:
                before, I = open_.pop()
                after = before.copy()
                after.search(known.labels[I], nodes=nodes, iterations=iterations)
                row = after.move(known.labels[I])
                start = int(known.infosets[I].start)
                sigma[start : start + len(row)] = list(row.values())
                open_ += [(after, J) for J in below.get(I, ())]
            plans += form.plans(sigma)
        sigma = np.empty(form.num_sequences)
        behavior(form.treeplexes, plans, sigma)
        return Strategy.from_vector(form, sigma)

    def __repr__(self) -> str:
        known = "" if self._known.whole else f", {self.num_infosets:,} infosets met"
        return (
            f"OOS({self.game!r}, epsilon={self.epsilon:g}, delta={self.delta:g}): "
            f"{self.iterations:,} iterations, {self.nodes:,} nodes{known}"
        )


def _answer(
    player: Opponent, node: Decision, history: tuple[Action, ...], budget: Any
) -> dict[Action, float]:
    """Return how a player moves."""
    if isinstance(player, OOS):
        player.search(history, **budget)
        try:
            return player.move(node.infoset)
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


def _pick(row: Mapping[Action, float], u: float) -> Action:
    """Return the action where the probabilities, added up, exceed u."""
    last = None
    for a, p in row.items():
        if p > 0:
            last = a
            u -= p
            if u < 0:
                break
    return last


def _key(seeds: np.random.SeedSequence) -> np.uint64:
    return np.uint64(seeds.generate_state(1, np.uint64)[0])


def _records(shape: int, dtype: np.dtype[np.void]) -> Records:
    return np.zeros(shape, dtype).view(np.recarray)
