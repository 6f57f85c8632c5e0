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
        The number of each sample's infoset.
    weight : float32 array, shape (rows,)
        Weight in the loss: the sample's iteration, times its importance weight.
    target : float32 array, shape (rows, actions)
        What the network is trained to predict.
    features : float32 array, shape (infosets, inputs)
        The network's input at each infoset. Empty if the tree is complete, because the inputs
        at its infosets never change. If the tree grows, infosets have no lasting numbers: a
        reservoir numbers the infosets of its samples by row.
    num_actions : int array, shape (infosets,)
        Number of actions at each infoset; empty if the tree is complete.
    seen : int array, shape (1,)
        How many samples were offered. The first min(seen, rows) rows are filled.
    state : uint64 array, shape (LINE,)
        State of the random number generator.

    Examples
    --------
    >>> memory = new_memory(rows=100, actions=2, key=np.uint64(0), number=0)
    >>> samples = new_buffer(rows=250, actions=2)
    >>> samples.infoset[:], samples.weight[:] = 0, 1.0
    >>> offer(samples, memory)
    >>> int(memory.seen[0]), memory.filled
    (250, 100)
    """

    infoset: Ints
    weight: Singles
    target: Singles
    features: Singles
    num_actions: npt.NDArray[np.int32]
    seen: npt.NDArray[np.int64]
    state: State

    @property
    def filled(self) -> int:
        """How many rows are filled."""
        return min(int(self.seen[0]), len(self.infoset))

    def first(self, rows: int) -> Memory:
        """Return the first rows of a reservoir as views."""
        return Memory._make([*(array[:rows] for array in self[:-2]), self.seen, self.state])

    def trimmed(self) -> Memory:
        """Return a copy without empty rows."""
        return Memory._make(array.copy() for array in self.first(self.filled))

    def columns(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the filled rows as views by name, for files."""
        stored = len(self) - 2 if len(self.features) else 3
        rows = self.first(self.filled)
        return dict(zip(self._fields[:stored], rows[:stored], strict=True))

    def check(self, infosets: int) -> None:
        """Raise a ValueError unless kernels may use the filled rows as indices."""
        rows, actions = self.first(self.filled), self.target.shape[1]
        if not ((rows.infoset >= 0) & (rows.infoset < infosets)).all():
            raise ValueError(f"an infoset of a memory is not in 0 … {infosets - 1}")
        if not ((rows.num_actions >= 1) & (rows.num_actions <= actions)).all():
            raise ValueError(f"a number of actions of a memory is not in 1 … {actions}")


def new_buffer(rows: int, actions: int) -> Memory:
    """Return an empty memory large enough for all its samples, which stay in order."""
    return new_memory(rows, actions, np.uint64(0), 0)


def new_memory(rows: int, actions: int, key: np.uint64, number: int, inputs: int = 0) -> Memory:
    """Return an empty memory; each memory of a run has a different `number`.

    `inputs` is the number of features of an infoset, or 0 if the tree is complete.
    """
    state, infosets = np.zeros(LINE, np.uint64), rows if inputs else 0
    begin(state, key, 0, number, 0)
    return Memory(
        np.zeros(rows, np.int32),
        np.zeros(rows, np.float32),
        np.zeros((rows, actions), np.float32),
        np.zeros((infosets, inputs), np.float32),
        np.zeros(infosets, np.int32),
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
def offer(samples: Memory, memory: Memory) -> None:
    """Offer all samples of a buffer to a memory, in order."""
    for n in range(len(samples.infoset)):
        row, I = next_row(memory.seen, len(memory.infoset), memory.state), samples.infoset[n]
        if row < len(memory.infoset):
            memory.infoset[row], memory.weight[row] = I, samples.weight[n]
            for a in range(memory.target.shape[1]):
                memory.target[row, a] = samples.target[n, a]
            if len(memory.features):
                memory.infoset[row], memory.num_actions[row] = row, samples.num_actions[I]
                for x in range(memory.features.shape[1]):
                    memory.features[row, x] = samples.features[I, x]
