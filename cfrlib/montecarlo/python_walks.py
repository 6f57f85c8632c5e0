"""Walks by rules in Python, on a game too large to compile.

A walk goes down breadth first, as :func:`cfrlib.montecarlo.traversal.descend` does, with the
same random numbers in the same order. Only the rules are called from Python; kernels of
complete trees evaluate the walk and update the tables.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from cfrlib.core.jit import inlined
from cfrlib.core.rng import State, begin, uniform
from cfrlib.core.tree import CHANCE, TERMINAL, WATCHED, Floats, Ints, name_history
from cfrlib.game import (
    Action,
    Chance,
    Decision,
    Game,
    GameError,
    History,
    Terminal,
    action_label,
)
from cfrlib.montecarlo.infosets import (
    INFOSETS,
    SEQUENCES,
    Batch,
    Infosets,
    Known,
    Part,
    Walkspace,
    has_room,
    known_of,
    lane_in,
    new_walkspace,
    put_lane,
    space_of,
    take_lane,
    with_entries,
    with_room,
)
from cfrlib.montecarlo.partial_tree import PartialTree, Records, TreeArrays, grown, records
from cfrlib.montecarlo.schemes import RHO, P, Sampling, include, room_to_draw
from cfrlib.montecarlo.traversal import enter
from cfrlib.montecarlo.updates import PROGRESS, Settings, Tables, ascend

ENOUGH = 1_000  # entries of walks that are evaluated together
DRAWN = 32  # random numbers drawn at a time
COLUMNS = 7  # numbers of a row of a history
REMEMBERED = 10_000  # infosets of which a history is kept, for error messages
Path: TypeAlias = tuple[Action, ...]
# An infoset in the table of a lane: its number and first sequence there, player, actions, the
# last sequence of its player before it, and its number in the run, or the one it may get there.
# Not a named tuple, because half of the histories of a walk are at infosets that are new to it.
Met: TypeAlias = tuple[int, int, int, Path, int, int]


@inlined
def draw(state: State, out: Floats) -> None:
    """Write the next random numbers."""
    for n in range(len(out)):
        out[n] = uniform(state)


@inlined
def lay_out(
    own: Known, space: Walkspace, expands: bool, i: int, rows: Floats, came: Ints, p: Floats
) -> None:
    """Write a walk of Python's in the form in which `descend` leaves one.

    Parameters
    ----------
    own : Known
        The tables of a lane.
    space : Walkspace
        What is written to.
    expands : bool
        Whether all actions of opponents are visited.
    i : int
        The traverser.
    rows : float array, shape (entries, 4)
        Who moves at each history of the walk, the infoset, the number of histories visited
        below, and the traverser's payoff; at the first chance event f_c / σ'_c.
    came : int array, shape (entries,)
        The sequence that leads to each history.
    p : float array, shape (entries,)
        The probability of the last step's sample.
    """
    walk, nodes, n, numbered = space.walk, space.nodes, 1, 1
    enter(walk[0], 0, 1.0, 1.0, 1.0)
    nodes[0].correction = 1.0
    for k in range(len(rows)):
        e = walk[k]
        h, below = nodes[e.node], int(rows[k, 2])
        h.player, h.infoset, h.first_child = int(rows[k, 0]), int(rows[k, 1]), numbered
        e.first, e.num_sampled = n, below
        start, size = 0, below
        if h.player == TERMINAL:
            space.utility[e.node, i] = rows[k, 3]
        elif h.player != CHANCE:
            start = own.infosets[h.infoset].start
            size = own.infosets[h.infoset].stop - start
        h.num_children = size
        for m in range(n, n + below):
            c, a = 1.0, 0
            if h.player == CHANCE:
                c = rows[k, 3]
                enter(walk[m], numbered, 1.0, e.weight * c, e.probability * p[m])
            elif h.player == i:
                a = came[m] - start
                enter(walk[m], numbered + a, p[m], e.weight / p[m], e.probability * p[m])
            elif expands:
                a = came[m] - start
                enter(walk[m], numbered + a, 1.0, e.weight * p[m], e.probability)
            else:
                a = came[m] - start
                enter(walk[m], numbered + a, p[m], e.weight, e.probability * p[m])
            nodes[numbered + a].correction = c
        n += below
        numbered += size


@inlined
def evaluate(
    own: Known,
    space: Walkspace,
    tables: Tables,
    settings: Settings,
    i: int,
    lane: int,
    rows: Floats,
    came: Ints,
    p: Floats,
    ends: Ints,
) -> None:
    """Go back up walks of lane `lane` that end before the entries `ends`."""
    mine, place = known_of(own, lane), space_of(space, lane)
    known = Tables(mine.table, tables.last_update, tables.progress, mine.baseline)
    tree = TreeArrays(place.nodes, place.utility, mine.infosets, mine.owner)
    expands, first = settings.scheme.expands_opponents, 0
    for end in ends:
        lay_out(mine, place, expands, i, rows[first:end], came[first:end], p[first:end])
        ascend(tree, known, settings.rule, i, lane_in(mine, place), end - first)
        first = end


class PythonLane:
    """The walks of one lane: what they visit, as lists, until the kernel evaluates them.

    Parameters
    ----------
    batch : PythonBatch
    n : int
        The number of the lane.
    """

    def __init__(self, batch: PythonBatch, n: int):
        self.batch, self.n = batch, n
        self.met: dict[str, Met] = {}  # the infosets of this batch, in order
        self.sigma: dict[int, list[float]] = {}  # the strategy, where an action was sampled
        self.sequences = batch.players
        self.state, self.buffer = batch.space.state[n], np.zeros(DRAWN)
        self.clear()

    def clear(self) -> None:
        """Forget the walks that were evaluated."""
        self.new: list[Met] = []  # infosets not in the arrays yet
        self.ends: list[int] = []
        self.rows: list[float] = []  # this and the following: see `lay_out`
        self.came: list[int] = []
        self.p: list[float] = []
        self.most = 0  # histories of a walk, with their siblings

    def sample(self, t: int, i: int) -> None:
        """Run all walks of the lane."""
        batch, lanes = self.batch, self.batch.lanes
        for number in range(self.n % lanes, batch.settings.batch, lanes):
            begin(self.state, batch.settings.key, t, i, number)
            self.walk(i)
            self.ends.append(len(self.came))
            if len(self.came) > ENOUGH:
                self.flush(i)
        self.flush(i)

    def draw(self) -> list[float]:
        """Return the next random numbers."""
        draw(self.state, self.buffer)
        numbers: list[float] = self.buffer.tolist()
        return numbers

    def walk(self, i: int) -> None:
        """Go down from the empty history."""
        batch, met = self.batch, self.met
        game, players, scheme = batch.game, batch.players, batch.settings.scheme
        node_of, step, most, wide = game.node, game.step, scheme.k, scheme.expands_opponents
        plain = type(game).step is Game.step  # a history is a tuple of actions
        histories, up = [game.root()], [0]  # and the entry of the history before each
        taken: list[Any] = [None]  # the last action
        came, p = [-1], [1.0]  # its sequence, if a player took it; its probability
        movers: list[int] = []
        uniforms, used = self.draw(), 0
        row, numbered = self.rows.extend, 1
        for k, h in enumerate(histories):  # which grows
            try:
                node: Any = node_of(h) if k else batch.root.node
                if isinstance(node, Terminal):
                    payoff = node.utilities
                    value = float(payoff[i])
                    if value - value != 0.0 or len(payoff) != players:
                        batch.examine(path_to(k, up, taken))
                    row((TERMINAL, 0, 0, value))
                    movers.append(TERMINAL)
                    continue
                decides = isinstance(node, Decision)
                if decides:
                    player: int = node.player
                    m = k  # to the last decision of the same player
                    while m and movers[up[m]] != player:
                        m = up[m]
                    parent = came[m] if m else player
                    known: Any = met.get(node.infoset)
                    if known is None:
                        known = self.meet(node, parent, k, up, taken)
                    number, start, _, actions, before, _ = known
                    if before != parent or actions is not node.actions:
                        self.compare(known, node, parent, k, up, taken)
            except GameError:
                raise
            except Exception as error:  # the rules are unsound, or raise an error of their own
                batch.examine(path_to(k, up, taken))
                name_history(error, game, path_to(k, up, taken))
                raise
            if decides:
                size = len(actions)
                count = min(most, size) if player == i else size if wide else 1
                if count == size and (player == i or wide):
                    came.extend(range(start, start + size))
                    p.extend([1.0] * size if player == i else self.strategy(known))
                    moves = actions
                else:
                    while len(uniforms) - used < count:
                        uniforms.extend(self.draw())
                    drawn, sigma = uniforms[used : used + count], self.strategy(known)
                    used += count
                    chosen, rho = (self.choose if player == i else sample_action)(sigma, drawn)
                    came.extend([start + a for a in chosen])
                    p.extend(rho)
                    moves = tuple([actions[a] for a in chosen])
                row((player, number, count, 0.0))
            else:
                chance = batch.outcomes(k, node, up, taken)
                if used == len(uniforms):
                    uniforms, used = self.draw(), 0
                a, player, count, size = chance.sample(uniforms[used]), CHANCE, 1, 1
                used += 1
                came.append(-1)
                p.append(chance.probability[a])
                moves = (chance.actions[a],)
                row((CHANCE, 0, 1, chance.correction[a]))
            movers.append(player)
            numbered += size
            up.extend([k] * count)
            taken.extend(moves)
            if plain:
                histories.extend([(*h, a) for a in moves])
            elif batch.watched < WATCHED:
                histories.extend(batch.children(h, path_to(k, up, taken), moves))
            else:
                histories.extend([step(h, a) for a in moves])
        self.came.extend(came)
        self.p.extend(p)
        self.most = max(self.most, numbered)

    def choose(
        self, sigma: list[float], uniforms: list[float]
    ) -> tuple[list[int], list[float]]:
        """Sample the traverser's actions, as `traversal.choose` does; return also their ρ."""
        scheme, size, left = self.batch.settings.scheme, len(sigma), 1.0
        even, greedy = scheme.epsilon / size, 1.0 - scheme.epsilon
        p = [even + greedy * x for x in sigma]
        rho = p.copy()
        if len(uniforms) > 1:
            scratch = self.batch.scratch()
            scratch[P, :size] = scratch[RHO, :size] = p
            include(scratch, size, len(uniforms))
            rho = scratch[RHO, :size].tolist()
        chosen = []
        for u in uniforms:
            u, a = u * left, 0
            while a < size - 1 and u >= p[a]:
                u -= p[a]
                a += 1
            while p[a] == 0.0:
                a -= 1
            left -= p[a]
            p[a] = 0.0
            chosen.append(a)
        return chosen, [rho[a] for a in chosen]

    def meet(self, node: Decision, parent: int, k: int, up: list[int], taken: list[Any]) -> Met:
        """Return an infoset that is new in this batch, checked."""
        player, actions = node.player, node.actions
        if type(actions) is not tuple:
            actions = tuple(actions)
        key = self.batch.identify(node.infoset, player, actions, k, up, taken)
        known = len(self.met), self.sequences, player, actions, parent, key
        self.met[node.infoset] = known
        self.sequences += len(actions)
        self.new.append(known)
        return known

    def compare(
        self, known: Met, node: Decision, parent: int, k: int, up: list[int], taken: list[Any]
    ) -> None:
        """Check an infoset that was met before in this batch."""
        if (node.player, tuple(node.actions), parent) != known[2:5]:
            self.batch.conflict(node.infoset, path_to(k, up, taken))

    def strategy(self, known: Met) -> list[float]:
        """Return the strategy of the iteration at an infoset."""
        number, _, _, actions, _, key = known
        sigma = self.sigma.get(number)
        if sigma is None:
            infosets, count = self.batch.infosets, len(actions)
            if key < self.batch.before:
                start = infosets.start_of[key]
                sigma = infosets.sigma[start : start + count].tolist()
            else:
                sigma = [1.0 / count] * count
            self.sigma[number] = sigma
        return sigma

    def flush(self, i: int) -> None:
        """Evaluate the walks since the last time."""
        if not self.ends:
            return
        batch, n = self.batch, self.n
        batch.make_room(len(self.met), self.sequences, len(self.came), self.most)
        if self.new:
            self.enter(batch.views[n])
        rows = np.array(self.rows).reshape(-1, 4)
        walks = rows, np.array(self.came, np.int32), np.array(self.p), np.array(self.ends)
        evaluate(batch.own, batch.space, batch.tables, batch.settings, i, n, *walks)
        self.clear()

    def enter(self, own: Known) -> None:
        """Enter new infosets in the arrays of the lane."""
        infosets = self.batch.infosets
        numbers, starts, players, actions, parents, keys = map(
            list, zip(*self.new, strict=True)
        )
        I, q = slice(numbers[0], len(self.met)), slice(starts[0], self.sequences)
        rows, key, start = own.infosets[I], np.array(keys), np.array(starts)
        count = np.array([len(each) for each in actions])
        rows["player"], rows["parent"], own.number[I] = players, parents, keys
        rows["start"], rows["stop"] = start, start + count
        own.owner[q] = np.repeat(numbers, count)
        sigma, baseline = np.repeat(1.0 / count, count), own.baseline[:, q]
        baseline[:] = 0.0
        known = key < self.batch.before
        if known.any():  # continue with the numbers of the run's table
            there = np.zeros_like(key)
            there[known] = infosets.start_of[key[known]] - start[known]
            mine = np.repeat(known, count)
            theirs = (np.repeat(there, count) + np.arange(starts[0], self.sequences))[mine]
            sigma[mine] = infosets.sigma[theirs]
            if len(baseline.T):
                baseline[:, mine] = infosets.baseline[:, theirs]
        own.table["sigma"][q] = sigma
        own.sums["is_touched"][I], own.sums["mass"][I] = False, 0.0
        own.sampled_regret[q], own.estimates[:, q] = 0.0, 0.0
        own.size[0], own.size[1] = len(self.met), self.sequences


def sample_action(sigma: list[float], uniforms: list[float]) -> tuple[tuple[int], tuple[float]]:
    """Sample an opponent's action, as `traversal.sample_action` does; return also its σ."""
    u, a, last = uniforms[0], 0, len(sigma) - 1
    while a < last and u >= sigma[a]:
        u -= sigma[a]
        a += 1
    while sigma[a] == 0.0:  # skipped by rounding
        a -= 1
    return (a,), (sigma[a],)


class Outcomes:
    """The outcomes of a chance event; at the empty history perhaps with a proposal."""

    def __init__(self, node: Chance, correction: Sequence[float] | None = None):
        self.node, self.actions = node, node.actions
        self.probability = list(node.probabilities.values())
        self.correction = correction or [1.0] * len(self.actions)
        self.cumulative = list(accumulate(self.probability))

    def sample(self, u: float) -> int:
        """Return the number of an outcome, as `sample_chance` does."""
        c = min(bisect_right(self.cumulative, u), len(self.actions) - 1)
        while self.probability[c] == 0.0:  # skipped by rounding
            c -= 1
        return c


def plain(arrays: Any) -> Any:
    """Return the same arrays without attribute access, which is slow in the interpreter."""
    return type(arrays)._make(array.view(np.ndarray) for array in arrays)


def path_to(k: int, up: list[int], taken: list[Any]) -> Path:
    """Return the actions before entry k of a walk."""
    actions = []
    while k > 0:
        actions.append(taken[k])
        k = up[k]
    return tuple(reversed(actions))


class PythonBatch(Batch):
    """The lanes of a run by rules in Python; `proposal` is as for :class:`cfrlib.MCCFR`."""

    def __init__(
        self,
        infosets: Infosets,
        proposal: Mapping[Action, float] | None,
        sampling: Sampling,
        settings: Settings,
    ):
        super().__init__(infosets, sampling, settings)
        self.game, self.players, self.proposal = (
            infosets.game,
            infosets.extent.players,
            proposal,
        )
        lanes = len(self.own.size)
        self.space = new_walkspace(self.extent, lanes, 1, 0)
        self.walks = [PythonLane(self, n) for n in range(lanes)]
        self.before = infosets.num_infosets  # met by the run before this batch
        self.new: dict[str, tuple[int, int, Path]] = {}  # not met before
        self.met_at: dict[str, Path] = {}
        self.recalled: dict[int, Path] = {}  # actions that a file held as labels only
        self.watched = self.widest = 0
        self.views: list[Any] = []  # the tables of each lane, for the interpreter
        self.root: Any = None

    # ---- rules -------------------------------------------------------------------------------

    def look_at_root(self) -> None:
        """Read and check the empty history once: it begins every walk."""
        tree = PartialTree(self.game, self.proposal)
        tree.expand(0)
        node, new = self.game.node(self.game.root()), slice(1, tree.num_histories)
        self.root = Outcomes(Chance({None: 1.0}))
        self.root.node = node
        if isinstance(node, Chance):
            proposed, correction = tree.nodes.probability[new], tree.nodes.correction[new]
            named = dict(zip(node.actions, proposed.tolist(), strict=True))
            self.root = Outcomes(Chance(named), correction.tolist())

    def examine(self, *paths: Path) -> None:
        """Check the rules along some histories, and raise what `PartialTree` finds there."""
        tree = PartialTree(self.game, self.proposal)
        for path in paths:
            k = 0
            for a in (*path, None):
                if tree.is_unknown(k):
                    tree.expand(k)
                first = int(tree.nodes.first_child[k])
                children = range(first, first + int(tree.nodes.num_children[k]))
                k = next((c for c in children if tree.action[c] == a), 0)

    def conflict(self, label: str, path: Path) -> None:
        """Raise the error for an infoset that differs from what it was at another history."""
        self.examine(self.met_at.get(label, path), path)
        raise GameError(
            f"{self.game!r}, history {path!r}: infoset {label!r} has another player here than "
            "at an earlier history, other actions, or its player came to it by other actions; "
            "put what differs into the label, and the player's own past actions"
        )

    def children(self, h: History, path: Path, actions: Sequence[Action]) -> Iterator[History]:
        """Return the histories after some actions, as `RuleChecker.children_of` does."""
        self.watched += 1
        checker = PartialTree(self.game)
        checker.parent.extend(range(len(path)))
        checker.action.extend(path)
        return checker.children_of(len(path), h, tuple(actions))

    def outcomes(self, k: int, node: Any, up: list[int], taken: list[Any]) -> Outcomes:
        """Return the outcomes of a chance event, checked."""
        if k == 0:
            root: Outcomes = self.root
            return root
        with suppress(Exception):  # it may be no chance event at all
            chance = Outcomes(node)
            if abs(chance.cumulative[-1] - 1) <= 1e-9 and min(chance.probability) >= 0:
                return chance
        self.examine(path_to(k, up, taken))
        return Outcomes(node)

    # ---- infosets ----------------------------------------------------------------------------

    def identify(
        self, label: str, player: int, actions: Path, k: int, up: list[int], taken: list[Any]
    ) -> int:
        """Check an infoset; return its number in the run, or the one that it may get there."""
        infosets = self.infosets
        if len(actions) > self.widest:
            self.widen(len(actions))
        number = infosets.number.get(label)
        if number is not None:
            if number in infosets.named_only:
                self.recall(number, label, player, actions, path_to(k, up, taken))
            elif infosets.actions_at[number] != actions or infosets.player_of[number] != player:
                self.conflict(label, path_to(k, up, taken))
            return number
        new = self.new.get(label)
        if new is None:
            shared = infosets.shared.get(actions)
            if not isinstance(label, str) or player not in range(self.players):
                self.examine(path_to(k, up, taken))
            if shared is None:
                if not len(set(actions)) == len(actions) > 0:
                    self.examine(path_to(k, up, taken))
                shared = infosets.shared[actions] = actions
            new = self.new[label] = self.before + len(self.new), player, shared
            if len(self.met_at) < REMEMBERED:
                self.met_at[label] = path_to(k, up, taken)
        elif new[1:] != (player, actions):
            self.conflict(label, path_to(k, up, taken))
        return new[0]

    def widen(self, actions: int) -> None:
        """Make room to sample from that many actions."""
        self.widest = actions
        width = room_to_draw(self.sampling, actions, self.game)
        self.space = self.space._replace(scratch=grown(self.space.scratch, width, axis=2))

    def recall(self, number: int, label: str, player: int, actions: Path, path: Path) -> None:
        """Set the actions of an infoset that was restored from a file."""
        infosets = self.infosets
        theirs = int(infosets.player_of[number])
        names = tuple(action_label(a) for a in actions)
        if (player, names) != (theirs, infosets.actions_at[number]):
            raise GameError(
                f"{self.game!r}, history {path!r}: infoset {label!r} of player "
                f"{player} offers {names!r}, but when the run was saved it was player "
                f"{theirs}'s and offered {infosets.actions_at[number]!r}; load the run with "
                "the game it was saved from"
            )
        self.recalled[number] = infosets.shared.setdefault(actions, actions)
        self.settle({number: self.recalled[number]})

    def settle(self, recalled: dict[int, Path]) -> None:
        """Enter the actions of infosets whose actions were only known by their labels."""
        for number, actions in recalled.items():
            self.infosets.actions_at[number] = actions
            self.infosets.named_only.discard(number)

    # ---- batches -----------------------------------------------------------------------------

    @property
    def tables(self) -> Tables:
        """The tables of the run; `evaluate` uses only their types."""
        return self.infosets.tables(NO_PROGRESS)

    def make_room(self, infosets: int, sequences: int, entries: int, nodes: int) -> None:
        """Grow the arrays of the lanes where they are too short."""
        own, space = self.own, self.space
        if not has_room(own, infosets, sequences):
            own = with_room(own, self.extent, infosets, sequences)
        if entries > space.walk.shape[1] or nodes > space.nodes.shape[1]:
            space = with_entries(space, entries, nodes)
        if own is not self.own or space is not self.space or not self.views:
            self.own, self.space = own, space
            self.views = [plain(known_of(own, n)) for n in range(len(self.walks))]

    def scratch(self) -> Floats:
        """Return an array to compute inclusion probabilities in."""
        scratch: Floats = self.space.scratch[0]
        return scratch

    def sample(
        self,
        t: int,
        i: int,
        threads: int = 1,
        pool: Executor | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        """Run player i's walks in the lanes first, first + step, …: a process's share.

        Threads would wait for one another, so there is one.
        """
        if self.root is None:
            self.look_at_root()
        if not self.new:  # a replica has followed the run
            self.before = self.infosets.num_infosets
        for n in self.lanes_of(i, *share):
            self.walks[n].sample(t, i)

    def warm_up(self, progress: Records) -> None:
        """Compile the kernels; change nothing."""
        lane = self.walks[0]
        begin(lane.state, self.settings.key, 0, 0, 0)
        lane.draw()
        walks = np.zeros((0, 4)), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64)
        evaluate(self.own, self.space, self.tables, self.settings, 0, 0, *walks)

    def take(self, i: int, first: int, step: int) -> Part:
        """Return and forget the sums of player i's lanes first, first + step, …."""
        new = [
            (label, player, actions, self.met_at.get(label))
            for label, (_, player, actions) in self.new.items()
        ]
        lanes = [(n, take_lane(self.own, n)) for n in self.lanes_of(i, first, step)]
        part = Part(lanes, new, self.recalled)
        self.forget()
        return part

    def add(self, part: Part) -> None:
        """Take over sums from another process, where new infosets have other numbers."""
        before, numbers = self.before, []
        for label, player, actions, path in part.new:
            if path is not None and len(self.met_at) < REMEMBERED:
                self.met_at.setdefault(label, path)
            actions = self.infosets.shared.setdefault(actions, actions)
            new = self.new.setdefault(label, (before + len(self.new), player, actions))
            if new[1:] != (player, actions):
                self.conflict(label, path or ())
            numbers.append(new[0])
        for n, lane in part.lanes:
            is_new = lane.number >= before
            lane.number[is_new] = np.array(numbers, np.int32)[lane.number[is_new] - before]
            infosets, sequences = lane.size[: SEQUENCES + 1].tolist()
            self.make_room(infosets, sequences, 0, 0)
            put_lane(self.own, n, lane)
        self.settle(part.recalled)

    def merge(self) -> None:
        """Enter the infosets that all lanes met in the tables of the run."""
        infosets, before, labels = self.infosets, self.before, list(self.new)
        self.room_for_all()
        sizes = self.own.size[:, INFOSETS]
        mine = [row[:n] for row, n in zip(self.own.number, sizes.tolist(), strict=True)]
        new = np.concatenate([numbers[numbers >= before] - before for numbers in mine])
        met, first = np.unique(new, return_index=True)
        order, final = met[np.argsort(first)], np.zeros(len(labels), np.int32)
        final[order] = before + np.arange(len(order))  # in the order of the lanes
        for numbers in mine:
            numbers[numbers >= before] = final[numbers[numbers >= before] - before]
        for label in (labels[k] for k in order.tolist()):
            infosets.number[label] = len(infosets.labels)
            infosets.labels.append(label)
            infosets.actions_at.append(self.new[label][2])
        wrong = self.enter()
        if wrong:
            n, L = wrong
            self.conflict(infosets.labels[int(self.own.number[n, L])], ())
        self.forget()

    def discard(self) -> None:
        """Discard all walks since the last update."""
        super().discard()
        self.forget()

    def forget(self) -> None:
        """Begin a batch: lanes know no infosets."""
        for lane in self.walks:
            lane.met, lane.sigma, lane.sequences = {}, {}, self.players
            lane.clear()
        self.new, self.recalled, self.before = {}, {}, self.infosets.num_infosets


NO_PROGRESS: Records = records(1, PROGRESS)
