"""Compilation decorators: kernels are cached on disk and divide without a zero check.

``kernel``
    A standalone function, called from Python or from other kernels. It may allocate arrays.
``inlined``
    A step that is compiled into each kernel that calls it, because a call would cost more than
    the step. It must not allocate arrays, so Numba omits reference counting, which would also
    cost more than the step.
``inner``
    Like ``inlined``, but compiled for kernels only; called from Python, it runs as plain
    Python. For a short kernel with many array arguments, the wrapper that unpacks them from
    Python takes a large part of the compile time.

With ``NUMBA_DISABLE_JIT=1`` all three return the function unchanged.
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
    """A compiled function without a Python wrapper."""

    def __call__(self, *args: Any) -> Any:
        """Run as plain Python: a compiled call without a wrapper crashes the interpreter."""
        return self.py_func(*args)


def inner(function: Any) -> Any:
    """Compile a function into the kernels that call it, without a Python wrapper."""
    compiled = njit(**{**_INLINED, "no_cpython_wrapper": True})(function)
    if isinstance(compiled, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
        compiled.__class__ = Inner
    return compiled
