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
    Infosets,
    Known,
    Part,
    Walkspace,
    add_lane,
    enter_first,
    fill_slots,
    forget,
    known_of,
    merge_lanes,
    new_known,
    new_walkspace,
    space_of,
    take_lanes,
    with_entries,
    with_room,
)
from cfrlib.montecarlo.partial_tree import PartialTree, Records, TreeArrays, grown, records
from cfrlib.montecarlo.schemes import RHO, P, Sampling, include, room_to_draw
from cfrlib.montecarlo.updates import PROGRESS, Lane, Settings, Tables, ascend

ENOUGH = 1_000  # entries of walks that are evaluated together
DRAWN = 32  # random numbers drawn at a time
REMEMBERED = 10_000  # infosets of which a history is kept, for error messages
Path: TypeAlias = tuple[Action, ...]


class Met:
    """An infoset in the table of a lane.

    Attributes
    ----------
    number, start : int
        Its number there, and its first sequence.
    player : int
    actions : tuple
    sigma : list of float
        The strategy of the iteration.
    parent : int
        The last sequence of its player before it.
    """

    __slots__ = ("actions", "number", "parent", "player", "sigma", "start")

    def __init__(
        self,
        number: int,
        start: int,
        player: int,
        actions: tuple[Action, ...],
        sigma: list[float],
        parent: int,
    ):
        self.number, self.start, self.player = number, start, player
        self.actions, self.sigma, self.parent = actions, sigma, parent


@inlined
def draw(state: State, out: Floats) -> None:
    """Write the next random numbers."""
    for n in range(len(out)):
        out[n] = uniform(state)


@inlined
def evaluate(
    own: Known, space: Walkspace, tables: Tables, rule: int, i: int, lane: int, ends: Ints
) -> None:
    """Go back up walks of lane `lane` that end before the entries `ends`."""
    mine, place = known_of(own, lane), space_of(space, lane)
    known = Tables(mine.table, tables.last_update, tables.progress, mine.baseline)
    tree = TreeArrays(place.nodes, place.utility, mine.infosets, mine.owner)
    first = 0
    for end in ends:
        walks = Lane(
            place.walk[first:end],
            place.scratch,
            place.state,
            mine.sampled_regret,
            mine.sums,
            mine.estimates,
            mine.counts,
        )
        ascend(tree, known, rule, i, walks, end - first)
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
        self.sequences = batch.players
        self.state, self.buffer = batch.space.state[n], np.zeros(DRAWN)
        self.clear()

    def clear(self) -> None:
        """Forget the walks that were evaluated."""
        self.new: list[Met] = []  # infosets not in the arrays yet
        self.numbered = 0  # histories
        self.ends: list[int] = []
        self.node: list[int] = []  # this and the following: one element per entry
        self.rho: list[float] = []
        self.weight: list[float] = []
        self.probability: list[float] = []
        self.correction: list[float] = []
        # player, infoset, first child, number of actions, first entry below, how many, payoff
        self.rows: list[tuple[float, ...]] = []

    def sample(self, t: int, i: int) -> None:
        """Run all walks of the lane."""
        batch, lanes = self.batch, len(self.batch.lanes)
        for number in range(self.n, batch.settings.batch, lanes):
            begin(self.state, batch.settings.key, t, i, number)
            self.walk(i)
            self.ends.append(len(self.node))
            if len(self.node) > ENOUGH:
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
        node_of, step, most = game.node, game.step, scheme.k
        plain = type(game).step is Game.step  # a history is a tuple of actions
        histories, up = [game.root()], [0]  # and the entry of the history before each
        taken: list[Any] = [None]  # the last action
        came = [-1]  # its sequence, if a player took it
        movers: list[int] = []
        uniforms, used = self.draw(), 0
        numbered = self.numbered
        nodes, rho, rows = self.node, self.rho, self.rows
        weights, probabilities, corrections = self.weight, self.probability, self.correction
        at, n = len(nodes), 1
        nodes.append(numbered)
        numbered += 1
        for one in (rho, weights, probabilities, corrections):
            one.append(1.0)
        for k, h in enumerate(histories):  # which grows
            try:
                node: Any = batch.root.node if k == 0 else node_of(h)
                decides = isinstance(node, Decision)
                if isinstance(node, Terminal):
                    payoff = node.utilities
                    value = float(payoff[i])
                    if value - value != 0.0 or len(payoff) != players:
                        batch.examine(path_to(k, up, taken))
                    rows.append((TERMINAL, 0, numbered, 0, n, 0, value))
                    movers.append(TERMINAL)
                    at += 1
                    continue
                if decides:
                    known: Any = met.get(node.infoset)
                    if known is None or known.actions is not node.actions:
                        known = self.meet(known, node, k, up, taken, came, movers)
            except GameError:
                raise
            except Exception as error:  # the rules are unsound, or raise an error of their own
                batch.examine(path_to(k, up, taken))
                name_history(error, game, path_to(k, up, taken))
                raise
            weight, probability = weights[at], probabilities[at]
            if decides:
                player, start, sigma = known.player, known.start, known.sigma
                m = k  # to the last decision of the same player
                while m and movers[up[m]] != player:
                    m = up[m]
                if known.parent != (came[m] if m else player):
                    batch.conflict(node.infoset, path_to(k, up, taken))
                actions, size = known.actions, len(sigma)
                count = 1
                if player == i:
                    count = min(most, size)
                elif scheme.expands_opponents:
                    count = size
                if count == size:
                    nodes.extend(range(numbered, numbered + size))
                    came.extend(range(start, start + size))
                    rho.extend([1.0] * size)
                    probabilities.extend([probability] * size)
                    moves = actions
                    if player == i:
                        weights.extend([weight] * size)
                    elif scheme.expands_opponents:
                        weights.extend([weight * p for p in sigma])
                    else:  # a single action
                        if used == len(uniforms):
                            uniforms, used = self.draw(), 0
                        used += 1
                        weights.append(weight)
                elif player == i:
                    while len(uniforms) - used < count:
                        uniforms.extend(self.draw())
                    chosen = self.choose(sigma, count, uniforms[used : used + count], at)
                    used += count
                    nodes.extend([numbered + a for a in chosen])
                    came.extend([start + a for a in chosen])
                    moves = tuple([actions[a] for a in chosen])
                else:
                    if used == len(uniforms):
                        uniforms, used = self.draw(), 0
                    u, a, last = uniforms[used], 0, size - 1
                    used += 1
                    while a < last and u >= sigma[a]:
                        u -= sigma[a]
                        a += 1
                    while sigma[a] == 0.0:  # skipped by rounding
                        a -= 1
                    nodes.append(numbered + a)
                    came.append(start + a)
                    rho.append(sigma[a])
                    weights.append(weight)
                    probabilities.append(probability * sigma[a])
                    moves = (actions[a],)
                corrections.extend([1.0] * count)
                rows.append((player, known.number, numbered, size, n, count, 0.0))
            else:
                chance = batch.outcomes(k, node, up, taken)
                if used == len(uniforms):
                    uniforms, used = self.draw(), 0
                a, player, count, size = chance.sample(uniforms[used]), CHANCE, 1, 1
                used += 1
                nodes.append(numbered)
                came.append(-1)
                rho.append(1.0)
                weights.append(weight * chance.correction[a])
                probabilities.append(probability * chance.probability[a])
                corrections.append(chance.correction[a])
                moves = (chance.actions[a],)
                rows.append((CHANCE, 0, numbered, 1, n, 1, 0.0))
            movers.append(player)
            at += 1
            numbered += size
            n += count
            up.extend([k] * count)
            taken.extend(moves)
            if plain:
                histories.extend([(*h, a) for a in moves])
            elif batch.watched < WATCHED:
                histories.extend(batch.children(h, path_to(k, up, taken), moves))
            else:
                histories.extend([step(h, a) for a in moves])
        self.numbered = numbered

    def choose(
        self, sigma: list[float], count: int, uniforms: list[float], at: int
    ) -> list[int]:
        """Sample `count` of the traverser's actions, as `traversal.choose` does."""
        scheme, size, left = self.batch.settings.scheme, len(sigma), 1.0
        even, greedy = scheme.epsilon / size, 1.0 - scheme.epsilon
        p = [even + greedy * x for x in sigma]
        rho = p.copy()
        if count > 1:
            scratch = self.batch.scratch()
            scratch[P, :size] = scratch[RHO, :size] = p
            include(scratch, size, count)
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
            self.rho.append(rho[a])
            self.weight.append(self.weight[at] / rho[a])
            self.probability.append(self.probability[at] * rho[a])
        return chosen

    def meet(
        self,
        known: Met | None,
        node: Decision,
        k: int,
        up: list[int],
        taken: list[Any],
        came: list[int],
        movers: list[int],
    ) -> Met:
        """Return the infoset of a decision, checked, and new in this batch if not `known`."""
        actions, batch = tuple(node.actions), self.batch
        if known is not None:
            if known.player != node.player or known.actions != actions:
                batch.conflict(node.infoset, path_to(k, up, taken))
            return known
        sigma = batch.strategy(node, actions, k, up, taken)
        m = k
        while m and movers[up[m]] != node.player:
            m = up[m]
        parent = came[m] if m else node.player
        if node.actions is not actions and isinstance(node.actions, tuple):
            actions = node.actions
        known = Met(len(self.met), self.sequences, node.player, actions, sigma, parent)
        self.met[node.infoset] = known
        self.sequences += len(actions)
        self.new.append(known)
        return known

    def flush(self, i: int) -> None:
        """Evaluate the walks since the last time."""
        if not self.node:
            return
        batch, n = self.batch, self.n
        batch.make_room(len(self.met), self.sequences, len(self.node), self.numbered)
        own, space = batch.views[n]
        if self.new:
            self.enter(own)
        columns = np.array(self.rows).T
        player, infoset, child, actions, first, count, payoff = columns
        walk, nodes, node, size = space.walk, space.nodes, np.array(self.node), len(self.node)
        walk["node"][:size], walk["first"][:size] = node, first
        walk["num_sampled"][:size], walk["rho"][:size] = count, self.rho
        walk["weight"][:size], walk["probability"][:size] = self.weight, self.probability
        nodes["player"][node], nodes["infoset"][node] = player, infoset
        nodes["first_child"][node], nodes["num_children"][node] = child, actions
        nodes["correction"][node] = self.correction
        space.utility[node, i] = payoff
        ends = np.array(self.ends, np.int32)
        evaluate(batch.own, batch.space, batch.tables, batch.settings.rule, i, n, ends)
        self.clear()

    def enter(self, own: Known) -> None:
        """Enter new infosets in the arrays of the lane."""
        first, start = self.new[0].number, self.new[0].start
        I, q = slice(first, len(self.met)), slice(start, self.sequences)
        infosets = own.infosets[I]
        starts = [met.start for met in self.new]
        infosets["player"] = [met.player for met in self.new]
        infosets["start"], infosets["stop"] = starts, [*starts[1:], self.sequences]
        infosets["parent"] = [met.parent for met in self.new]
        count = [len(met.sigma) for met in self.new]
        own.owner[q] = np.repeat(np.arange(first, len(self.met)), count)
        own.table["sigma"][q] = [p for met in self.new for p in met.sigma]
        labels = list(self.met)[I] if first else list(self.met)
        own.keys[I] = [self.batch.identify(label) for label in labels]
        if own.baseline.shape[1]:
            self.batch.fill_baseline(own.baseline, own.keys[I], self.new)
        own.size[0], own.size[1] = len(self.met), self.sequences


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


class PythonBatch:
    """The lanes of a run by rules in Python.

    Parameters
    ----------
    infosets : Infosets
        Those of the run.
    proposal
        As for :class:`cfrlib.MCCFR`.
    sampling : Sampling
    settings : Settings
    lanes : int
    """

    def __init__(
        self,
        infosets: Infosets,
        proposal: Mapping[Action, float] | None,
        sampling: Sampling,
        settings: Settings,
        lanes: int,
    ):
        self.infosets, self.settings, self.sampling = infosets, settings, sampling
        self.game, self.players, self.proposal = (
            infosets.game,
            infosets.extent.players,
            proposal,
        )
        self.extent = infosets.extent._replace(hashed=True)
        self.own = new_known(self.extent, lanes)
        self.space = new_walkspace(self.extent, lanes, 1, 0)
        self.lanes = [PythonLane(self, n) for n in range(lanes)]
        self.new: dict[str, tuple[int, int, Path]] = {}  # not met by the run before this batch
        self.met_at: dict[str, Path] = {}
        self.recalled: dict[int, Path] = {}  # actions that a file held as labels only
        self.watched = self.widest = 0
        self.views: list[Any] = []  # tables and workspace of each lane, for the interpreter
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

    def strategy(
        self, node: Decision, actions: Path, k: int, up: list[int], taken: list[Any]
    ) -> list[float]:
        """Return the present strategy at an infoset that a lane meets; check the infoset."""
        label, infosets = node.infoset, self.infosets
        if len(actions) > self.widest:
            self.widen(len(actions))
        number = infosets.number.get(label)
        if number is not None:
            if number in infosets.named_only:
                self.recall(number, node, actions, path_to(k, up, taken))
            elif (
                infosets.player_of[number] != node.player
                or infosets.actions_at[number] != actions
            ):
                self.conflict(label, path_to(k, up, taken))
            start = infosets.start_of[number]
            sigma: list[float] = infosets.sigma[start : start + len(actions)].tolist()
            return sigma
        new = self.new.get(label)
        if new is None:
            if not (
                isinstance(label, str)
                and node.player in range(self.players)
                and len(set(actions)) == len(actions) > 0
            ):
                self.examine(path_to(k, up, taken))
            actions = infosets.shared.setdefault(actions, actions)
            self.new[label] = infosets.num_infosets + len(self.new), node.player, actions
            if len(self.met_at) < REMEMBERED:
                self.met_at[label] = path_to(k, up, taken)
        elif new[1:] != (node.player, actions):
            self.conflict(label, path_to(k, up, taken))
        return [1.0 / len(actions)] * len(actions)

    def widen(self, actions: int) -> None:
        """Make room to sample from that many actions."""
        self.widest = actions
        width = room_to_draw(self.sampling, actions, self.game)
        self.space = self.space._replace(scratch=grown(self.space.scratch, width, axis=2))

    def recall(self, number: int, node: Decision, actions: Path, path: Path) -> None:
        """Set the actions of an infoset that was restored from a file."""
        infosets = self.infosets
        player = int(infosets.infosets.view(np.ndarray)["player"][number])
        names = tuple(action_label(a) for a in actions)
        if (node.player, names) != (player, infosets.actions_at[number]):
            raise GameError(
                f"{self.game!r}, history {path!r}: infoset {node.infoset!r} of player "
                f"{node.player} offers {names!r}, but when the run was saved it was player "
                f"{player}'s and offered {infosets.actions_at[number]!r}; load the run with "
                "the game it was saved from"
            )
        self.recalled[number] = infosets.shared.setdefault(actions, actions)
        self.settle({number: self.recalled[number]})

    def settle(self, recalled: dict[int, Path]) -> None:
        """Enter the actions of infosets whose actions were only known by their labels."""
        for number, actions in recalled.items():
            self.infosets.actions_at[number] = actions
            self.infosets.named_only.discard(number)

    def identify(self, label: str) -> int:
        """Return the number of an infoset in the run, or the one that it may get there."""
        number = self.infosets.number.get(label)
        return self.new[label][0] if number is None else number

    def fill_baseline(self, baseline: Floats, numbers: Any, new: list[Met]) -> None:
        """Copy the baselines of a lane's new infosets."""
        known = self.infosets.known
        for number, met in zip(numbers.tolist(), new, strict=True):
            stop = met.start + len(met.sigma)
            if number < self.infosets.num_infosets:
                start = int(known.infosets[0].start[number])
                row = known.baseline[0, :, start : start + len(met.sigma)]
                baseline[:, met.start : stop] = row
            else:
                baseline[:, met.start : stop] = 0.0

    # ---- batches -----------------------------------------------------------------------------

    @property
    def tables(self) -> Tables:
        """The tables of the run; `evaluate` uses only their types."""
        return self.infosets.tables(NO_PROGRESS)

    def make_room(self, infosets: int, sequences: int, entries: int, nodes: int) -> None:
        """Grow the arrays of the lanes where they are too short."""
        own, space = self.own, self.space
        if infosets > own.infosets.shape[1] or sequences > own.owner.shape[1]:
            own = with_room(own, self.extent, infosets, sequences)
        if entries > space.walk.shape[1] or nodes > space.nodes.shape[1]:
            space = with_entries(space, entries, nodes)
        if own is not self.own or space is not self.space or not self.views:
            self.own, self.space = own, space
            lanes = range(len(self.lanes))
            self.views = [(plain(known_of(own, n)), plain(space_of(space, n))) for n in lanes]
            self.numbers = np.zeros(own.keys.shape[1], np.int32)

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
        first, step = share
        for lane in self.lanes[first::step]:
            lane.sample(t, i)

    def warm_up(self, progress: Records) -> None:
        """Compile the kernels; change nothing."""
        lane = self.lanes[0]
        begin(lane.state, self.settings.key, 0, 0, 0)
        lane.draw()
        nothing = np.zeros(0, np.int32)
        evaluate(self.own, self.space, self.tables, self.settings.rule, 0, 0, nothing)

    def room_for_all(self) -> None:
        """Make room to merge the lanes, and enter their keys in their hash tables."""
        infosets, sequences = self.own.size[:, : SEQUENCES + 1].sum(axis=0).tolist()
        self.make_room(infosets, sequences, 0, 0)
        for n, count in enumerate(self.own.size[:, INFOSETS].tolist()):
            fill_slots(self.own.keys[n], self.own.slots[n], count)

    def take(self, first: int, step: int) -> Part:
        """Return and forget the sums of the lanes first, first + step, …."""
        self.room_for_all()
        if self.settings.alternating:  # otherwise each lane goes on with the next player
            merge_lanes(self.own, self.numbers, first, step)
        lanes = take_lanes(self.own, first, step)
        new = [
            (label, player, actions, self.met_at.get(label))
            for label, (_, player, actions) in self.new.items()
        ]
        part = Part(lanes, new, self.recalled)
        self.forget()
        return part

    def add(self, part: Part) -> None:
        """Add sums from another process, where new infosets have other numbers."""
        before, numbers = self.infosets.num_infosets, []
        for label, player, actions, path in part.new:
            if path is not None and len(self.met_at) < REMEMBERED:
                self.met_at.setdefault(label, path)
            actions = self.infosets.shared.setdefault(actions, actions)
            new = self.new.setdefault(label, (before + len(self.new), player, actions))
            if new[1:] != (player, actions):
                self.conflict(label, path or ())
            numbers.append(new[0])
        for n, lane in part.lanes:
            is_new = lane.keys >= before
            lane.keys[is_new] = np.array(numbers, np.int64)[lane.keys[is_new] - before]
            infosets, sequences = (self.own.size[n] + lane.size)[: SEQUENCES + 1].tolist()
            self.make_room(infosets, sequences, 0, 0)
            wrong = add_lane(self.own, n, lane, self.numbers)
            if wrong >= 0:
                labels = self.infosets.labels + list(self.new)
                self.conflict(labels[self.own.keys[n, wrong]], ())
        self.settle(part.recalled)

    def merge(self) -> None:
        """Enter the sums of all lanes in the tables of the run."""
        infosets = self.infosets
        self.room_for_all()
        own = self.own
        merge_lanes(own, self.numbers, 0, 1)
        count = int(own.size[0, 0])
        infosets.make_room(count, int(own.size[0, 1]))
        numbers = own.keys[0, :count].astype(np.int32)
        new, before = numbers >= infosets.num_infosets, infosets.num_infosets
        if new.any():
            labels = list(self.new)
            for j, number in enumerate(numbers[new].tolist()):
                label = labels[number - before]
                infosets.number[label] = before + j
                infosets.labels.append(label)
                infosets.actions_at.append(self.new[label][2])
            numbers[new] = np.arange(before, before + np.count_nonzero(new))
        wrong = enter_first(own, infosets.known, numbers)
        if wrong >= 0:
            self.conflict(infosets.labels[numbers[wrong]], ())
        self.forget()

    def discard(self) -> None:
        """Discard all walks since the last merge."""
        for n in range(len(self.lanes)):
            own = known_of(self.own, n)
            fill_slots(own.keys, own.slots, int(own.size[0]))
            forget(own)
        self.forget()

    def forget(self) -> None:
        """Begin a batch: lanes know no infosets."""
        for lane in self.lanes:
            lane.met, lane.sequences = {}, self.players
            lane.clear()
        self.new, self.recalled = {}, {}


NO_PROGRESS: Records = records(1, PROGRESS)
