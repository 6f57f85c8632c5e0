"""What networks learn from: a fair sample of everything the walks have said."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined
from cfrlib.core.rng import LINE, State, begin, uniform
from cfrlib.core.tree import Ints

Singles = npt.NDArray[np.float32]


class Memory(NamedTuple):
    """A reservoir: of all rows ever offered, each is in it equally likely (Vitter, 1985).

    Attributes
    ----------
    infoset : int array, shape (rows,)
    weight : float32 array, shape (rows,)
        What the row counts: its iteration, times what sampling asks for.
    target : float32 array, shape (rows, actions)
        What the network shall answer there.
    seen : int array, shape (1,)
        How many rows were offered. The first min(seen, rows) rows are filled.
    state : uint64 array, shape (LINE,)
        Of the random numbers.

    Examples
    --------
    >>> memory = new_memory(rows=100, actions=2, key=np.uint64(0), number=0)
    >>> rows = waiting_room(rows=250, actions=2)
    >>> rows.infoset[:], rows.weight[:] = 0, 1.0
    >>> offer(rows, 250, memory)
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


def waiting_room(rows: int, actions: int) -> Memory:
    """Return a memory for so many rows that keeps them in order: it draws no random numbers."""
    return Memory(
        np.empty(rows, np.int32), np.empty(rows, np.float32),
        np.zeros((rows, actions), np.float32), np.zeros(1, np.int64), np.zeros(LINE, np.uint64),
    )  # fmt: skip


def new_memory(rows: int, actions: int, key: np.uint64, number: int) -> Memory:
    """Return an empty memory; `number` tells those of one run apart."""
    state = np.zeros(LINE, np.uint64)
    begin(state, key, 0, number, 0)
    return Memory(
        np.zeros(rows, np.int32), np.zeros(rows, np.float32),
        np.zeros((rows, actions), np.float32), np.zeros(1, np.int64), state,
    )  # fmt: skip


@inlined
def place(seen: npt.NDArray[np.int64], rows: int, state: State) -> int:
    """Return the row that the next one offered goes to; `rows` or more: it is not kept.

    Number n of those offered is kept with probability rows / n, in place of any.
    """
    n = seen[0]
    seen[0] += 1
    return n if n < rows else int(uniform(state) * (n + 1))


@inlined
def offer(rows: Memory, number: int, memory: Memory) -> None:
    """Offer the first rows of one memory to another."""
    infoset, weight, target, seen, state = memory
    for n in range(number):
        row = place(seen, len(infoset), state)
        if row < len(infoset):
            infoset[row], weight[row] = rows.infoset[n], rows.weight[n]
            for a in range(target.shape[1]):
                target[row, a] = rows.target[n, a]


class Sheets(NamedTuple):
    """What the rows of a memory were about, if infosets have no numbers that last.

    Attributes
    ----------
    features : float32 array, shape (rows, inputs)
        What networks see of the infoset of each row.
    actions : int array, shape (rows,)
        How many actions it has.
    """

    features: Singles
    actions: npt.NDArray[np.int32]

    def keep(self, memory: Memory, features: Singles, actions: npt.NDArray[np.int64]) -> None:
        """Copy what the new rows of the memory are about; -1 stands for their infosets then."""
        new = np.flatnonzero(memory.infoset[: memory.filled] >= 0)
        infoset = memory.infoset[new]
        self.features[new], self.actions[new] = features[infoset], actions[infoset]
        memory.infoset[new] = -1
