"""Walks in lanes: shared out to processes, or through a game explored on the way.

The walks of a batch are dealt to lanes, each a run of walks one after the other. A lane writes
down what its walks say, in order, and the rows are offered to the memories lane by lane: so
the numbers do not depend on who walked, or how many did at a time.

In a game that does not compile, all walks of a lane go on together until each has come to
histories not met before. These are entered, the networks are asked once about all infosets
discovered, and the walks go on. When the lane is over that part of the game is forgotten, as
by the next time everybody plays otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.rng import LINE
from cfrlib.core.tree import Floats, compile
from cfrlib.deep.memory import Memory, Singles, waiting_room
from cfrlib.deep.policy import Encoder, Network, there_are, uniform
from cfrlib.deep.walks import Desk, Group, Round, Rows, collect, come_back, go_on, set_out
from cfrlib.game import Game, Terminal
from cfrlib.montecarlo.partial_tree import PartialTree, Records, TreeArrays, grown, records
from cfrlib.montecarlo.schemes import ROWS, Sampling, Scheme, most_entries, room_to_draw
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE

MOST = 250  # walks in a lane
KEPT = 4  # games that a worker remembers
PROBES, LONGEST = 1_000, 1_000_000  # games played at random to learn what a game is like
UNTOLD = np.zeros((0, 2))  # no baseline learns here


class Lane(NamedTuple):
    """Some walks to take.

    Attributes
    ----------
    game : Game
    sampling : Sampling
    key : int
        Of the random numbers.
    t, i : int
        The iteration and the traverser.
    first, stop : int
        The numbers of the walks are first … stop - 1.
    scale : float
        What rewards are multiplied by.
    actions : int
        The most at any infoset.
    """

    game: Game
    sampling: Sampling
    key: np.uint64
    t: int
    i: int
    first: int
    stop: int
    scale: float
    actions: int

    @property
    def turn(self) -> Round:
        """What the kernels read of it."""
        return Round(Scheme.of(self.sampling), self.key, self.t, self.i, self.scale)


class Played(NamedTuple):
    """How everybody plays in a game that is explored on the way.

    Attributes
    ----------
    encode : function
    networks : list of Network, or None
        The present one of each player; without, the uniform strategy.
    watched : bool
        Whether rows for the memory of strategies are asked for.
    """

    encode: Encoder
    networks: Sequence[Network | None]
    watched: bool


class Said(NamedTuple):
    """What the walks of a lane say.

    Attributes
    ----------
    advantages, strategies : Memory
        Rows to offer, all filled, in order.
    features : float32 array, shape (infosets, inputs)
        What networks see of the infosets of the rows; (0, 0) if the game compiles.
    actions : int array, shape (infosets,)
        How many actions there are.
    visited : int
        Histories.
    """

    advantages: Memory
    strategies: Memory
    features: Singles
    actions: npt.NDArray[np.int64]
    visited: int


def split(walks: int) -> list[tuple[int, int]]:
    """Return which walks each lane takes, first and stop.

    Examples
    --------
    >>> split(1_000)
    [(0, 250), (250, 500), (500, 750), (750, 1000)]
    """
    lanes = -(-walks // MOST)
    ends = [n * walks // lanes for n in range(lanes + 1)]
    return list(pairwise(ends))


# ---- a game that compiles --------------------------------------------------------------------

_kept: dict[str, tuple[TreeArrays, Records, Desk]] = {}


def take(lane: Lane, token: str, sigma: Floats) -> Said:
    """Take the walks of a lane; `token` names the run, whose game the worker keeps."""
    if token not in _kept:
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
        tree = compile(lane.game)
        explored = PartialTree.of(tree)
        width = room_to_draw(lane.sampling, lane.actions, lane.game)
        _kept[token] = (
            explored.arrays,
            records(len(sigma), SEQUENCE),
            Desk(
                records(most_entries(tree, lane.sampling), ENTRY), np.zeros((ROWS, width)),
                np.zeros(LINE, np.uint64), np.zeros((0, 2)),
            ),
        )  # fmt: skip
    known, table, desk = _kept[token]
    table.sigma[:] = sigma
    room = len(desk.walk) * (lane.stop - lane.first)
    rows = Rows(waiting_room(room, lane.actions), waiting_room(room, lane.actions))
    baseline = np.zeros((lane.game.num_players, 0))
    visited: int = collect(known, table, baseline, lane.turn, desk, rows, lane.first, lane.stop)
    advantages, strategies = map(_trimmed, rows)
    nothing = np.zeros((0, 0), np.float32), np.zeros(0, np.int64)
    return Said(advantages, strategies, *nothing, visited)


def _trimmed(rows: Memory) -> Memory:
    """Return a copy of the rows that are filled."""
    n = rows.filled
    infoset, weight, target, seen, state = rows
    return Memory(infoset[:n].copy(), weight[:n].copy(), target[:n].copy(), seen, state)


# ---- a game that does not --------------------------------------------------------------------


def simulate(task: tuple[Lane, Played]) -> Said:
    """Take the walks of a lane, asking the rules and the networks on the way.

    Raises
    ------
    GameError
        If the rules are unsound.
    ValueError
        If an infoset has more actions than the networks know.
    """
    walks = _Walks(*task)
    walks.go()
    return walks.look_back()


class _Walks:
    """The walks of a lane, under way."""

    def __init__(self, lane: Lane, played: Played):
        number = lane.stop - lane.first
        self.lane, self.played = lane, played
        self.known = PartialTree(lane.game)
        self.table = records(len(self.known.owner), SEQUENCE)
        self.walks = records((number, 64), ENTRY)
        self.states = np.zeros((number, LINE), np.uint64)
        self.done, self.entered = np.zeros(number, np.int64), np.ones(number, np.int64)
        width = room_to_draw(lane.sampling, lane.actions, lane.game)
        self.scratch = np.zeros((ROWS, width))
        self.features: list[Singles] = []
        self.count: list[int] = []

    def go(self) -> None:
        """Walk to the end."""
        turn = self.lane.turn
        set_out(self._group, turn, self.lane.first)
        wanted = np.empty(self.walks.size, np.int64)
        while True:
            n = go_on(self.known.arrays, self.table, turn, self._group, wanted)
            if n:
                self._ask(np.unique(wanted[:n]).tolist())
            elif (self.done < self.entered).any():  # the room for entries is used up
                self.walks = grown(self.walks, self.walks.shape[1] + 1, axis=1)
                wanted = np.empty(self.walks.size, np.int64)
            else:
                break

    @property
    def _group(self) -> Group:
        return Group(self.walks, self.scratch, self.states, UNTOLD, self.done, self.entered)

    def _ask(self, histories: list[int]) -> None:
        """Ask the rules what these histories are, and the networks about what is new."""
        known, before = self.known, self.known.num_infosets
        for k in histories:
            known.expand(k)
        new = slice(before, known.num_infosets)
        if known.num_infosets == before:
            return
        self.table = grown(self.table, len(known.owner))
        count = [len(actions) for actions in known.actions_at[new]]
        legal = there_are(count, self.lane.actions, self.lane.game)
        features = self.played.encode(known.labels[new])
        sigma, player = uniform(legal), known.infosets.player[new]
        for i in np.unique(player):
            network = self.played.networks[i]
            if network is not None:
                rows = player == i
                sigma[rows] = network.play(features[rows], legal[rows])
        sequences = known.infosets.start[new][:, None] + np.arange(self.lane.actions)
        self.table.sigma[sequences[legal]] = sigma[legal]
        self.features.append(features)
        self.count += count

    def look_back(self) -> Said:
        """Return what the walks say."""
        lane, room = self.lane, int(self.entered.sum())
        advantages = waiting_room(room, lane.actions)
        strategies = waiting_room(room if self.played.watched else 0, lane.actions)
        baseline, rows = np.zeros((lane.game.num_players, 0)), Rows(advantages, strategies)
        tree = self.known.arrays
        come_back(tree, self.table, baseline, lane.turn, self._group, rows)
        features = np.concatenate(self.features) if self.features else np.zeros((0, 0))
        return Said(
            _trimmed(advantages), _trimmed(strategies), features.astype(np.float32),
            np.array(self.count, np.int64), room,
        )  # fmt: skip


def probe(game: Game) -> tuple[int, float, str]:
    """Play some games at random; return the most actions, the largest payoff, an infoset.

    Raises
    ------
    ValueError
        If nobody ever decides, or a game does not end.
    """
    rng, actions, payoff, label = random.Random(0), 0, 0.0, None
    for _ in range(PROBES):
        h, steps = game.root(), 0
        while not isinstance(node := game.node(h), Terminal):
            legal = tuple(node.actions)
            if hasattr(node, "infoset"):
                actions, label = max(actions, len(legal)), node.infoset
            h, steps = game.step(h, rng.choice(legal)), steps + 1
            if steps > LONGEST:
                raise ValueError(f"{game!r} did not end within a million actions")
        payoff = max(payoff, *(abs(float(u)) for u in node.utilities))
    if label is None:
        raise ValueError(f"nobody decides in {game!r}: there is nothing to learn")
    return actions, payoff or 1.0, label
