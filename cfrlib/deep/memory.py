"""Reservoirs of the samples that networks are trained on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined
from cfrlib.core.rng import LINE, State, begin, uniform
from cfrlib.core.tree import Ints
from cfrlib.deep.feature_rows import FeatureRows, Form, common_form

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
    columns, values : int array and float32 array, one row for each infoset
        The network's input at each infoset, see `features`. Empty if the tree is complete,
        because the inputs at its infosets never change. If the tree grows, infosets have no
        lasting numbers: a reservoir numbers the infosets of its samples by row.
    num_actions : int array, shape (infosets,)
        Number of actions at each infoset; empty if the tree is complete.
    inputs : int
        Number of features of an infoset; 0 if the tree is complete.
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
    columns: npt.NDArray[np.signedinteger[Any]]
    values: Singles
    num_actions: npt.NDArray[np.int32]
    inputs: int
    seen: npt.NDArray[np.int64]
    state: State

    @property
    def filled(self) -> int:
        """How many rows are filled."""
        return min(int(self.seen[0]), len(self.infoset))

    def first(self, rows: int) -> Memory:
        """Return the first rows of a reservoir as views."""
        return Memory._make([*(array[:rows] for array in self[:-3]), *self[-3:]])

    def trimmed(self) -> Memory:
        """Return a copy without empty rows."""
        rows = self.first(self.filled)
        return Memory._make(x.copy() if isinstance(x, np.ndarray) else x for x in rows)

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the filled rows as views by name, for files."""
        stored = self._fields[: 6 if self.inputs else 3]
        rows = self.first(self.filled)
        return {name: getattr(rows, name) for name in stored}

    @property
    def features(self) -> FeatureRows:
        """The network's input at each infoset, read like a float array (infosets, inputs)."""
        return FeatureRows(self.columns, self.values, self.inputs)

    def with_features(self, features: FeatureRows) -> Memory:
        """Return a memory that holds these features of its infosets."""
        columns, values, inputs = features.columns, features.values, features.inputs
        return self._replace(columns=columns, values=values, inputs=inputs)

    def emptied(self) -> Memory:
        """Return an empty memory of the same size."""
        new: list[Any] = [  # `zeros_like` would write each row, so that all take memory
            np.zeros(x.shape, x.dtype) if isinstance(x, np.ndarray) else x for x in self
        ]
        return Memory._make(new)

    def check(self, infosets: int) -> None:
        """Raise a ValueError unless kernels may use the filled rows as indices."""
        rows, actions = self.first(self.filled), self.target.shape[1]
        if not ((rows.infoset >= 0) & (rows.infoset < infosets)).all():
            raise ValueError(f"an infoset of a memory is not in 0 … {infosets - 1}")
        if not ((rows.num_actions >= 1) & (rows.num_actions <= actions)).all():
            raise ValueError(f"a number of actions of a memory is not in 1 … {actions}")


NONE = FeatureRows.empty(0, 0, Form(0, False))  # on a complete tree, memories hold no features


def new_buffer(rows: int, actions: int) -> Memory:
    """Return an empty memory large enough for all its samples, which stay in order."""
    return new_memory(rows, actions, np.uint64(0), 0)


def new_memory(
    rows: int, actions: int, key: np.uint64, number: int, like: FeatureRows = NONE
) -> Memory:
    """Return an empty memory; each memory of a run has a different `number`.

    If the tree grows, `like` is an example of the features of infosets.
    """
    state, infosets = np.zeros(LINE, np.uint64), rows if like.inputs else 0
    begin(state, key, 0, number, 0)
    features = FeatureRows.empty(infosets, like.inputs, like.form)
    return Memory(
        np.zeros(rows, np.int32),
        np.zeros(rows, np.float32),
        np.zeros((rows, actions), np.float32),
        features.columns,
        features.values,
        np.zeros(infosets, np.int32),
        like.inputs,
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


def in_common_form(memory: Memory, samples: Memory) -> tuple[Memory, Memory]:
    """Return a memory and the samples offered to it, with their features in the same form."""
    if memory.inputs:
        form, filled = common_form([memory.features, samples.features]), memory.filled
        memory = memory.with_features(memory.features.into(form, filled))
        samples = samples.with_features(samples.features.into(form))
    return memory, samples


@inlined
def offer(samples: Memory, memory: Memory) -> None:
    """Offer all samples of a buffer to a memory, in order; see `in_common_form`."""
    for n in range(len(samples.infoset)):
        row, I = next_row(memory.seen, len(memory.infoset), memory.state), samples.infoset[n]
        if row < len(memory.infoset):
            memory.infoset[row], memory.weight[row] = I, samples.weight[n]
            for a in range(memory.target.shape[1]):
                memory.target[row, a] = samples.target[n, a]
            if memory.inputs:
                memory.infoset[row], memory.num_actions[row] = row, samples.num_actions[I]
                for x in range(memory.columns.shape[1]):
                    memory.columns[row, x] = samples.columns[I, x]
                for x in range(memory.values.shape[1]):
                    memory.values[row, x] = samples.values[I, x]
