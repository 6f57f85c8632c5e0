"""How kernels are compiled: once per machine, and without a test for zero at each division.

Three decorators, for kernels that do less and less themselves:

``kernel``
    A function of its own, called from Python or from kernels. It may make arrays.
``inlined``
    A step of other kernels, compiled into the kernel that calls it. It makes no arrays, so
    Numba need not count references to the arrays it is given. A call would cost more than the
    step itself, and so would the counting.
``inner``
    The same, but it is compiled for kernels only: called from Python, it runs as plain Python.
    The way in from Python is a good part of what there is to compile of a short kernel that is
    given many arrays.

With ``NUMBA_DISABLE_JIT=1`` all three leave a function as it is.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core.registry import CPUDispatcher

_KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,  # nobody calls kernels from C
}
_INLINED = {**_KERNEL, "forceinline": True, "_nrt": False}

kernel = njit(**_KERNEL)
inlined: Any = njit(**_INLINED)


class Inner(CPUDispatcher):
    """A kernel without a way in from Python."""

    def __call__(self, *args: Any) -> Any:
        """Run as plain Python; without this method the interpreter would crash."""
        return self.py_func(*args)


def inner(function: Any) -> Any:
    """Compile a function for the kernels that call it."""
    compiled = njit(**{**_INLINED, "no_cpython_wrapper": True})(function)
    if isinstance(compiled, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
        compiled.__class__ = Inner
    return compiled
