"""Random streams for kernels: one for each traversal, round or lane.

A stream is seeded by a key and its indices (iteration, player, number), so results do not
depend on the thread or process that uses it, or on the order in which streams are used.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import uint64

from cfrlib.core.jit import inlined, kernel

State: TypeAlias = npt.NDArray[np.uint64]  # element 0; the rest pads it to a cache line
LINE = 8  # elements of a state: 64 bytes, so that threads do not share a cache line
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1, MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def mix(z: np.uint64) -> np.uint64:
    """Return a hash of 64 bits; the map is a bijection."""
    z = (z ^ (z >> uint64(30))) * MIX1
    z = (z ^ (z >> uint64(27))) * MIX2
    return z ^ (z >> uint64(31))


@inlined
def begin(state: State, key: np.uint64, t: int, i: int, number: int) -> None:
    """Seed the stream of one traversal: iteration t, traverser i, number in the batch."""
    z = mix(key + GOLDEN * uint64(t))
    z = mix(z + GOLDEN * uint64(i + 1))
    state[0] = mix(z + GOLDEN * uint64(number + 1))


@inlined
def uniform(state: State) -> float:
    """Return the next random number in [0, 1): SplitMix64 (Steele, Lea & Flood, 2014)."""
    state[0] += GOLDEN
    return float(mix(state[0]) >> uint64(11)) * 2.0**-53


def new_key(seed: int | np.random.SeedSequence | None) -> np.uint64:
    """Return the key from which all streams of a run are seeded."""
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(seed)
    return np.uint64(seed.generate_state(1, np.uint64)[0])


def uniforms(
    key: np.uint64, t: npt.NDArray[np.int64], number: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the first random number in [0, 1) of each stream (t, number).

    `t` and `number` have the same shape, (n,), and so has the result.

    Examples
    --------
    >>> u = uniforms(np.uint64(1), np.array([0, 0, 5]), np.array([3, 4, 3]))
    >>> bool(((u >= 0) & (u < 1)).all()), len(set(u.tolist()))
    (True, 3)
    """
    out, state = np.empty(len(number)), np.zeros(LINE, np.uint64)
    _uniforms(key, t, number, state, out)
    return out


@kernel
def _uniforms(
    key: np.uint64,
    t: npt.NDArray[np.int64],
    number: npt.NDArray[np.int64],
    state: State,
    out: npt.NDArray[np.float64],
) -> None:
    for n in range(len(number)):
        begin(state, key, t[n], 0, number[n])
        out[n] = uniform(state)
