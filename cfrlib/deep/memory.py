"""Reservoirs of the samples that networks are trained on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined
from cfrlib.core.rng import LINE, State, begin, uniform
from cfrlib.core.tree import Ints

Singles = npt.NDArray[np.float32]


class Memory(NamedTuple):
    """A reservoir: every sample ever offered is equally likely to be kept (Vitter, 1985).

    Attributes
    ----------
    infoset : int array, shape (rows,)
    weight : float32 array, shape (rows,)
        Weight in the loss: the sample's iteration, times its importance weight.
    target : float32 array, shape (rows, actions)
        What the network is trained to predict.
    seen : int array, shape (1,)
        How many samples were offered. The first min(seen, rows) rows are filled.
    state : uint64 array, shape (LINE,)
        State of the random number generator.

    Examples
    --------
    >>> memory = new_memory(rows=100, actions=2, key=np.uint64(0), number=0)
    >>> samples = new_buffer(rows=250, actions=2)
    >>> samples.infoset[:], samples.weight[:] = 0, 1.0
    >>> offer(samples, 250, memory)
    >>> int(memory.seen[0]), memory.filled
    (250, 100)
    """

    infoset: Ints
    weight: Singles
    target: Singles
    seen: npt.NDArray[np.int64]
    state: State

    @property
    def filled(self) -> int:
        """How many rows are filled."""
        return min(int(self.seen[0]), len(self.infoset))


def new_buffer(rows: int, actions: int) -> Memory:
    """Return an empty memory large enough for all its samples, which stay in order."""
    return Memory(
        np.empty(rows, np.int32),
        np.empty(rows, np.float32),
        np.zeros((rows, actions), np.float32),
        np.zeros(1, np.int64),
        np.zeros(LINE, np.uint64),
    )


def new_memory(rows: int, actions: int, key: np.uint64, number: int) -> Memory:
    """Return an empty memory; each memory of a run has a different `number`."""
    state = np.zeros(LINE, np.uint64)
    begin(state, key, 0, number, 0)
    return Memory(
        np.zeros(rows, np.int32),
        np.zeros(rows, np.float32),
        np.zeros((rows, actions), np.float32),
        np.zeros(1, np.int64),
        state,
    )


@inlined
def next_row(seen: npt.NDArray[np.int64], rows: int, state: State) -> int:
    """Return the row that the next sample overwrites; `rows` or more if it is discarded.

    The n-th sample is kept with probability rows / n, and then replaces a random row.
    """
    n = seen[0]
    seen[0] += 1
    return n if n < rows else int(uniform(state) * (n + 1))


@inlined
def offer(samples: Memory, number: int, memory: Memory) -> None:
    """Offer the first `number` samples of a buffer to a memory."""
    infoset, weight, target, seen, state = memory
    for n in range(number):
        row = next_row(seen, len(infoset), state)
        if row < len(infoset):
            infoset[row], weight[row] = samples.infoset[n], samples.weight[n]
            for a in range(target.shape[1]):
                target[row, a] = samples.target[n, a]


class RowFeatures(NamedTuple):
    """Infoset features stored per row of a memory, for games whose infosets are not numbered.

    Attributes
    ----------
    features : float32 array, shape (rows, inputs)
        The network's input at the infoset of each row.
    num_actions : int array, shape (rows,)
        Number of actions at that infoset.
    """

    features: Singles
    num_actions: npt.NDArray[np.int32]

    def store(
        self, memory: Memory, features: Singles, num_actions: npt.NDArray[np.int64]
    ) -> None:
        """Copy the features of the memory's new rows, and set their infoset to -1.

        The infosets of new rows are indices into `features` and `num_actions`.
        """
        new = np.flatnonzero(memory.infoset[: memory.filled] >= 0)
        infoset = memory.infoset[new]
        self.features[new], self.num_actions[new] = features[infoset], num_actions[infoset]
        memory.infoset[new] = -1
